"""The table of commands: names and one-line summaries. Knows no library, so that help answers at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CommandEntry:
    """One command. ``module`` is imported, and its ``app()`` called, only when the command is used."""

    name: str
    summary: str
    module: str


COMMANDS = (
    CommandEntry("run", "Listen and speak, on this machine and in a page, until stopped.", "appliance.commands.run"),
    CommandEntry("notify", "Have the running appliance say something.", "appliance.commands.notify"),
    CommandEntry("ptt", "Press or release the talk button of the running appliance.", "appliance.commands.ptt"),
    CommandEntry(
        "status", "Show what the running appliance does, and the page's address.", "appliance.commands.status"
    ),
    CommandEntry("pair", "Let a phone in the house talk to the running appliance.", "appliance.commands.pair"),
    CommandEntry("rooms", "Show the rooms of the running appliance.", "appliance.commands.rooms"),
    CommandEntry("room", "Make, list and enter rooms of a LiveKit server.", "appliance.commands.room"),
    CommandEntry("certificate", "Show or renew the certificate that phones see.", "appliance.commands.certificate"),
    CommandEntry("talk", "Hold a conversation with a recording or a live pipe.", "appliance.commands.talk"),
    CommandEntry(
        "serve-realtime", "Serve clients of OpenAI's Realtime protocol with this machine.", "appliance.commands.serve"
    ),
    CommandEntry("say", "Speak a text, aloud or into a WAV file.", "appliance.commands.say"),
    CommandEntry("listen", "Write down what is said in WAV files.", "appliance.commands.listen"),
    CommandEntry("plot", "Draw a recorded conversation.", "appliance.commands.plot"),
    CommandEntry("conversations", "List kept conversations, or print one.", "appliance.commands.conversations"),
    CommandEntry("devices", "List microphones and speakers.", "appliance.commands.devices"),
    CommandEntry("doctor", "Check what the appliance needs on this machine.", "appliance.commands.doctor"),
    CommandEntry("weights", "List, fetch and verify the model weights.", "appliance.commands.weights"),
    CommandEntry("config", "Show or check the configuration in force.", "appliance.commands.config"),
    CommandEntry("version", "Print the version.", "appliance.commands.version"),
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
        "Exit codes: 0 done, 2 unusable input or configuration, 1 any other fault,",
        "3 from doctor when something works with restrictions.",
    ]
    return "\n".join(lines)
