"""Deepgram: the realtime recogniser."""
