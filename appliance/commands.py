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
    CommandEntry("run", "Listen and speak, on this machine and in a page, until stopped.", "appliance.run_command"),
    CommandEntry("notify", "Have the running appliance say something.", "appliance.notify_command"),
    CommandEntry("ptt", "Press or release the talk button of the running appliance.", "appliance.ptt_command"),
    CommandEntry("status", "Show what the running appliance does, and the page's address.", "appliance.status_command"),
    CommandEntry("pair", "Let a phone in the house talk to the running appliance.", "appliance.pair_command"),
    CommandEntry("rooms", "Show the rooms of the running appliance.", "appliance.rooms_command"),
    CommandEntry("room", "Make, list and enter rooms of a LiveKit server.", "appliance.room_command"),
    CommandEntry("certificate", "Show or renew the certificate that phones see.", "appliance.certificate_command"),
    CommandEntry("talk", "Hold a conversation with a recording or a live pipe.", "appliance.talk"),
    CommandEntry(
        "serve-realtime", "Serve clients of OpenAI's Realtime protocol with this machine.", "appliance.serve_command"
    ),
    CommandEntry("say", "Speak a text, aloud or into a WAV file.", "appliance.say"),
    CommandEntry("listen", "Write down what is said in WAV files.", "appliance.listen"),
    CommandEntry("plot", "Draw a recorded conversation.", "appliance.plot_command"),
    CommandEntry("conversations", "List kept conversations, or print one.", "appliance.conversations_command"),
    CommandEntry("devices", "List microphones and speakers.", "appliance.devices_command"),
    CommandEntry("doctor", "Check what the appliance needs on this machine.", "appliance.doctor_command"),
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
        "Exit codes: 0 done, 2 unusable input or configuration, 1 any other fault,",
        "3 from doctor when something works with restrictions.",
    ]
    return "\n".join(lines)
