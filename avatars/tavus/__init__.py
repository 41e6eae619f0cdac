"""Faces of Tavus."""
