"""The table of commands: names and one-line summaries. Knows no library, so that help answers at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CommandEntry:
    """One command. ``module`` is imported, and its ``register(app)`` called, only when the command is used."""

    name: str
    summary: str
    module: str


COMMANDS = (
    CommandEntry("talk", "Hold a conversation with a recording or a live pipe.", "appliance.talk"),
    CommandEntry("say", "Speak a text, aloud or into a WAV file.", "appliance.say"),
    CommandEntry("listen", "Write down what is said in WAV files.", "appliance.listen"),
    CommandEntry("weights", "List, fetch and verify the model weights.", "appliance.weights_command"),
    CommandEntry("config", "Show or check the configuration in force.", "appliance.config_command"),
    CommandEntry("version", "Print the version.", "appliance.version"),
)

OPTIONS = (
    ("--config FILE", "Configuration file instead of the one that would be found."),
    ("--log-level LEVEL", "debug, info, warning or error, on standard error."),
    ("--debug", "Print the traceback of a fault."),
    ("--version", "Print the version."),
    ("--help", "Print this page; glove COMMAND --help explains a command."),
)


def find(name: str) -> CommandEntry | None:
    """The command of that name."""
    return next((entry for entry in COMMANDS if entry.name == name), None)


def help_page() -> str:
    """What ``glove --help`` prints."""
    rows = [(entry.name, entry.summary) for entry in COMMANDS]
    width = max(len(left) for left, _ in (*rows, *OPTIONS))
    lines = [
        "Usage: glove [OPTIONS] COMMAND [ARGUMENTS]",
        "",
        "A voice appliance: hears, takes turns, thinks and answers aloud, on this machine.",
        "",
        "Commands:",
        *(f"  {left:<{width}}  {right}" for left, right in rows),
        "",
        "Options:",
        *(f"  {left:<{width}}  {right}" for left, right in OPTIONS),
        "",
        "Exit codes: 0 done, 2 unusable input or configuration, 1 any other fault.",
    ]
    return "\n".join(lines)
