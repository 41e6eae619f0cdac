"""Faces of Anam."""
