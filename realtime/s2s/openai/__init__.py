"""OpenAI Realtime over a WebSocket, and whatever speaks the same protocol."""
