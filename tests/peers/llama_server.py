"""Runs llama.cpp's own HTTP server around SmolLM2, prints its address, and ends when its standard input does."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(sys.argv[1]).glob("*.gguf")))
    params.model_alias = {"smollm2"}
    params.n_ctx = 1024
    params.warmup = False
    params.cpuparams.n_threads = 1
    params.verbosity = 0
    params.cache_ram_mib = 0
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
