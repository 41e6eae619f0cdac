"""How the command ends: exit codes, and one clear line for whatever went wrong."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

OK = 0
FAULT = 1
BAD_INPUT = 2
INTERRUPTED = 130

_ENDINGS = (signal.SIGTERM, signal.SIGHUP)
_SIGNALLED = 128
"""A shell's exit code for an ending by a signal is its number added to this."""


def guarded(run: Callable[[], int | None], *, debug: bool = False) -> int:
    """Call ``run`` and turn every ending into an exit code.

    0 or the returned number; 2 for unusable input or configuration; 130 after Ctrl-C and 143 after
    a request to terminate, quietly; 1 for everything else,
    also quietly when the reader of a pipe has gone. A fault is one line on standard error, with its traceback before it
    when ``debug`` is set.
    """
    with _terminable() as asked:
        code = _ended(run, debug)
    return _SIGNALLED + asked[0] if asked and code == INTERRUPTED else code


@contextmanager
def _terminable() -> Generator[list[int]]:
    """Let a request to terminate do what Ctrl-C does, so that everything is left in order; yields what was asked."""
    asked: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        interrupt = signal.getsignal(signal.SIGINT)
        if not callable(interrupt):  # Ctrl-C is ignored, as in the background of a script
            raise KeyboardInterrupt
        interrupt(signal.SIGINT, frame)

    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {number: signal.getsignal(number) for number in _ENDINGS}
    mine = [number for number, handler in before.items() if handler is signal.SIG_DFL]
    for number in mine:
        signal.signal(number, end)
    try:
        yield asked
    finally:
        for number in mine:
            signal.signal(number, signal.SIG_DFL)


def _ended(run: Callable[[], int | None], debug: bool) -> int:
    from agents.base.errors import ConfigError, GloveError, InputError

    try:
        code = run() or OK
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison] - so it is when it was closed
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _abandon_stdout()
        return FAULT
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else FAULT
    except (InputError, ConfigError) as fault:
        return _report(fault, str(fault), BAD_INPUT, debug)
    except GloveError as fault:
        return _report(fault, str(fault), FAULT, debug)
    except Exception as fault:  # noqa: BLE001 - the outermost frame: whatever is left becomes one line
        hint = "" if debug else " (--debug shows where)"
        return _report(fault, f"unexpected {type(fault).__name__}: {fault}{hint}", FAULT, debug)


def say_error(message: str) -> None:
    """Print one line on standard error, prefixed by the command's name."""
    line = " ".join(message.split())
    print(f"glove: {line}", file=sys.stderr)  # noqa: T201 - this is the command line's voice


def _report(fault: BaseException, message: str, code: int, debug: bool) -> int:
    if debug:
        traceback.print_exception(fault)
    say_error(message)
    return code


def _abandon_stdout() -> None:
    """Let nothing be flushed into a closed pipe when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
