"""Model adapters: Anthropic, intent matching in front of any model, the honest stand-in, a small local model."""
