"""LiveKit as a room service: the agent joins rooms of a server, always or when it is called."""
