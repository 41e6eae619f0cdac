"""The mind: agent core, models, stores and tools. Knows nothing of sound."""
