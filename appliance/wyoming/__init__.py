"""What this machine hears and speaks with, lent to others over the Wyoming protocol."""
