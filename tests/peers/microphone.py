"""A microphone for programs that run one: a file of 16 kHz s16le mono in real time, then silence for ever."""

from __future__ import annotations

import sys
import time
from pathlib import Path

BLOCK = 2048

if __name__ == "__main__":
    sound = Path(sys.argv[1]).read_bytes()
    at = 0
    while True:
        block = sound[at : at + BLOCK]
        sys.stdout.buffer.write(block + bytes(BLOCK - len(block)))
        sys.stdout.flush()
        at += BLOCK
        time.sleep(BLOCK / 32_000)
