"""The long-running process: its rooms, its features, its life and its end."""
