"""Places with audio in and out: the contract, the player, and rooms made of files, pipes and nothing."""
