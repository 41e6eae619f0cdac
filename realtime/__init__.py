"""Speech-to-speech sessions and the rooms that carry them."""
