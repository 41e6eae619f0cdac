"""Voice activity detection: the contract, Silero, and an adaptive energy detector."""
