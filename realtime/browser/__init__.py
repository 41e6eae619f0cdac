"""The browser room: sound, words and cards of one caller over a WebSocket."""
