"""What users of an agent call by name: hooks and skills (``/name``), skills and subagents that the model calls."""
