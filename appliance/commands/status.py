"""``glove status``: what the running appliance does."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer


def app() -> typer.Typer:
    """The command."""
    command = typer.Typer(add_completion=False)
    command.command()(status)
    return command


def status(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> int:
    """Show which rooms are open, how they are, and the page's address. Exits with 1 when the appliance does not run."""
    from appliance.daemon.control import ask

    answer: dict[str, Any] = ask({"do": "status"})["status"]
    if as_json:
        print(json.dumps(answer, ensure_ascii=False, indent=2))  # noqa: T201
        return 0
    lines = [f"running as process {answer['pid']} for {answer['uptime_s']:.0f} s"]
    if not answer["loaded"]:
        lines.append("loading models")
    for room in answer["rooms"]:
        health = room["health"]
        state = health["state"] + (f" ({health['reason']})" if health["reason"] else "")
        doing = state if health["state"] == "down" else f"{room['mode']}, {state}"
        lines.append(f"{room['name']}: {doing}, {room['conversation'] or 'no conversation'}")
        if room["store"] != "ok":
            lines.append(f"{room['name']}: {room['store']}")
    lines += latency_lines(answer["latency"])
    if answer.get("page"):
        lines.append(f"page: {answer['page']}")
    if answer.get("lan"):
        lines.append(f"local network: {' '.join(answer['lan'])}")
    lines.append(f"timers: {answer['timers']} running, {answer['ringing']} ringing")
    if answer["messages_waiting"]:
        lines.append(f"messages waiting to be spoken: {answer['messages_waiting']}")
    print("\n".join(lines))  # noqa: T201
    return 0


def latency_lines(latency: dict[str, Any]) -> list[str]:
    """Where the time of the last turns went, in milliseconds."""
    if not latency["turns"]:
        return []
    lines = [f"turns: {latency['turns']}"]
    for name, figures in latency["stages"].items():
        label = name.replace("_", " ")
        lines.append(f"  {label:<18} p50 {figures['p50_ms']:>7.0f} ms  p95 {figures['p95_ms']:>7.0f} ms")
    return lines
