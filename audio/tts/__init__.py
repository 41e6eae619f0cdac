"""Text to speech: the contract, hibari, espeak-ng, scripted voices."""
