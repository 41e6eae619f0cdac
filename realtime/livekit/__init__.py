"""LiveKit rooms: the agent is a participant, and each room is a place with audio in and out."""
