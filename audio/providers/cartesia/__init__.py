"""Cartesia: the realtime recogniser that is told when to finish."""
