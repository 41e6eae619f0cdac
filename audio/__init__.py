"""Sound in, sound out: rooms, voice activity, speech gate, turns, speech to text, text to speech, the cascade."""

import os

# onnxruntime reports its use to its maker, unless it is told not to before anybody (recognisers, voices) imports it.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
