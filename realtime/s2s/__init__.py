"""Speech-to-speech: realtime models that hear and speak by themselves, behind one contract."""
