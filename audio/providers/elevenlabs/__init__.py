"""ElevenLabs: Scribe's realtime recogniser and the voices that take text while it is written."""
