"""Being called: wake phrases, the state of attention, and what the microphone is heard for in each state."""
