"""The page, its rooms and the control API over HTTP."""
