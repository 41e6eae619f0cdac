"""Faces that can be attached to a voice."""
