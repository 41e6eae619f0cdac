"""The commands of ``glove``, one module each, and what they share."""
