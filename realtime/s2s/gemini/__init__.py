"""Gemini Live over a WebSocket."""
