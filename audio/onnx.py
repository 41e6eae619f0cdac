"""Networks on onnxruntime, as this appliance runs them: on the processor, in threads that cost nothing idle."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def open_session(model: Path | bytes, *, threads: int = 1, shapes_vary: bool = False, exact_sums: bool = False) -> Any:
    """An ``onnxruntime.InferenceSession``; several threads may call it.

    Args:
        model: the file, or its content.
        threads: of one call.
        shapes_vary: whether calls differ in the size of what they are given. An arena would then only collect blocks
            that never fit again, and keep the memory of the longest call for ever.
        exact_sums: for eight-bit weights. x86 processors without VNNI otherwise add their products in sixteen bits,
            which overflow: the network then answers, but something else. Exact sums take a fifth longer there.

    Raises:
        Exception: whatever onnxruntime says about a model that it cannot use.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that spin between calls would eat the core that the rest of the pipeline needs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    if exact_sums:
        options.add_session_config_entry("session.x64quantprecision", "1")
    options.log_severity_level = 3
    options.enable_cpu_mem_arena = options.enable_mem_pattern = not shapes_vary
    source = model if isinstance(model, bytes) else str(model)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
