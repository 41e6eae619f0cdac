"""The ``glove`` command: answers the simple questions itself and loads everything else only when it is needed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

from appliance import floors, streams
from appliance.commands import exits
from appliance.commands import table as commands


def main() -> NoReturn:
    """Run the command line of this process and exit."""
    streams.plug()
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run ``glove`` with ``arguments`` and return the exit code; see ``appliance.commands.exits``."""
    foreign = floors.foreign_floor()
    if foreign is not None:
        exits.say_error(foreign)
        return exits.BAD_INPUT
    debug, rest = _take_debug(arguments)
    return exits.guarded(lambda: _dispatch(rest), debug=debug)


def _take_debug(arguments: Sequence[str]) -> tuple[bool, list[str]]:
    """Accept ``--debug`` anywhere before ``--``: faults of the command line itself want a traceback too."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = [argument for argument in arguments[:end] if argument != "--debug"]
    return len(options) < end, [*options, *arguments[end:]]


def _dispatch(arguments: list[str]) -> int | None:
    if not arguments or arguments[0] in ("--help", "-h", "help"):
        print(commands.help_page(), file=sys.stdout if arguments else sys.stderr)
        return exits.OK if arguments else exits.BAD_INPUT
    if arguments[0] == "--version":
        from appliance.commands.version import print_version

        return print_version()
    from appliance.commands.cli import invoke

    return invoke(arguments)
