"""Sound in, sound out: rooms, voice activity, speech gate, turns, speech to text, text to speech, the cascade."""
