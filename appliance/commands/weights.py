"""``glove weights``: the model files on this machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agents.base.errors import GloveError
from appliance.commands.options import ConfigOption, settings

if TYPE_CHECKING:
    from agents.base.weights import WeightsStore

Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Entries; without any, those in use.")]
All = Annotated[bool, typer.Option("--all", help="Every entry of the manifest.")]


_PIPE_COLUMNS = 160
"""Width of tables that are not shown on a terminal."""


def app() -> typer.Typer:
    """The command and its subcommands."""
    group = typer.Typer(help="List, fetch and verify the model weights.", add_completion=False)
    group.command("list")(list_entries)
    group.command("pull")(pull)
    group.command("verify")(verify)
    return group


def list_entries(ctx: typer.Context, config: ConfigOption = None) -> int:
    """List every entry: whether it is here, its size, its licence and what it is for."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from appliance.session.stock import needed_weights, weights_store

    loaded = settings(ctx, config)
    store, needed = weights_store(loaded.config), set(needed_weights(loaded.config))
    table = Table("", "id", "state", "size", "licence", "for", box=box.SIMPLE_HEAD)
    for entry in store.entries():
        state = store.status(entry.id).state
        mark = "*" if entry.id in needed else ""
        table.add_row(mark, entry.id, state, f"{entry.bytes / 1e6:.1f} MB", entry.licence.spdx, entry.purpose)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _PIPE_COLUMNS)
    console.print(table)
    console.print(f"* used by the configuration in force. Kept in {store.root}", soft_wrap=True)
    return 0


def pull(ctx: typer.Context, ids: Ids = None, everything: All = False, config: ConfigOption = None) -> int:
    """Fetch entries that are not here yet, and check every byte of what comes."""
    loaded_store, chosen = _chosen(ctx, ids, everything, config)
    missing = [entry_id for entry_id in chosen if loaded_store.status(entry_id).state != "present"]
    for entry_id in missing:
        with _progress_bar(entry_id) as progress:
            loaded_store.pull([entry_id], progress)
    here = len(chosen) - len(missing)
    print(f"{len(missing)} fetched, {here} already here, in {loaded_store.root}")  # noqa: T201
    return 0


def verify(ctx: typer.Context, ids: Ids = None, everything: All = False, config: ConfigOption = None) -> int:
    """Read every byte of the entries again and compare; exits with 1 if something is wrong."""
    store, chosen = _chosen(ctx, ids, everything, config)
    wrong = 0
    for entry_id in chosen:
        problems = store.verify(entry_id)
        wrong += bool(problems)
        print(f"{entry_id}: {'; '.join(problems) or 'as it should be'}")  # noqa: T201
    if wrong:
        raise GloveError("ERR_WEIGHTS_HASH", f"{wrong} of {len(chosen)} entries are not usable.", "glove weights pull")
    return 0


def _chosen(
    ctx: typer.Context, ids: list[str] | None, everything: bool, config: Path | None
) -> tuple[WeightsStore, list[str]]:
    from appliance.session.stock import needed_weights, weights_store

    loaded = settings(ctx, config)
    store = weights_store(loaded.config)
    if everything:
        return store, [entry.id for entry in store.entries()]
    return store, [store.entry(entry_id).id for entry_id in ids] if ids else needed_weights(loaded.config)


@contextmanager
def _progress_bar(entry_id: str) -> Generator[Callable[[int, int, str], None]]:
    """A bar on a terminal, on standard error; silence elsewhere apart from one line at the start."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        console.print(f"fetching {entry_id}")
        yield lambda done, total, label: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(entry_id, total=None)
        yield lambda done, total, label: bar.update(task, description=label, completed=done, total=total or None)
