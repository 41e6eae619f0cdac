"""Conversation stores: in memory and SQLite."""
