"""The typed configuration, and where each value comes from."""
