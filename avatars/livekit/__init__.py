"""Faces that join a LiveKit room as participants of their own."""
