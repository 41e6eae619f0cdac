"""The life of the daemon's process: one per user, its features, its loop, its end."""

from __future__ import annotations

import asyncio
import os
import sys

from agents.base.errors import GloveError
from appliance.commands import exits
from appliance.commands.version import installed_version
from appliance.config.schema import GloveConfig
from appliance.daemon.daemon import Daemon, Feature, stop_on_signals
from appliance.daemon.instance import Instance, lock_store, runtime_folder
from appliance.daemon.stalls import StallWatch
from appliance.session.mind import store_path


def serve(config: GloveConfig) -> int:
    """Run the daemon until it is stopped. Returns the exit code.

    Raises:
        GloveError: ``ERR_ALREADY_RUNNING``, ``ERR_STORE_IN_USE``, or what is needed for anything at all is missing.
    """
    instance, stalls = Instance(runtime_folder()), StallWatch()
    store, path = None, store_path(config)
    try:
        store = lock_store(path) if path is not None else None
        with asyncio.Runner(loop_factory=stalls.make_loop) as runner:
            runner.run(_serve(config, instance, stalls))
    finally:
        if store is not None:
            store.release()
        instance.release()
    # A recogniser that is still busy in its thread has nobody left to answer: nothing waits for it.
    sys.stdout.flush()
    sys.stderr.flush()
    return exits.OK


async def _serve(config: GloveConfig, instance: Instance, stalls: StallWatch) -> None:
    daemon = Daemon(config, instance, features(config), say=say, stalls=stalls)
    stop_on_signals(daemon)
    say(f"glove {installed_version()}, process {os.getpid()}: loading")
    await daemon.run()
    say("stopped")


def features(config: GloveConfig) -> dict[str, Feature]:
    """What ``config`` wants run.

    Raises:
        GloveError: ``ERR_NO_ROOM``: everything is switched off.
    """
    from appliance.daemon.device import run_device
    from appliance.web.page_room import run_page

    chosen: dict[str, Feature] = {"offers": _tell_offers}
    if config.device.enabled:
        chosen["device"] = run_device
    if config.page.enabled:
        chosen["page"] = run_page
    if config.wyoming.listen:
        from appliance.wyoming.feature import run_wyoming

        chosen["wyoming"] = run_wyoming
    if config.livekit.url:
        from appliance.livekit.feature import run_livekit

        chosen["livekit"] = run_livekit
    if len(chosen) == 1:
        raise GloveError(
            "ERR_NO_ROOM",
            "There is no place to talk: device.enabled and page.enabled are both false.",
            "Enable one of them in glove.toml.",
        )
    return chosen


async def _tell_offers(daemon: Daemon) -> None:
    """Say once which model servers could be used."""
    from appliance.session.offers import offers

    for line in await offers(daemon.config):
        daemon.tell(f"offer {line}", line)


def say(line: str) -> None:
    """Print a line for people, at once."""
    print(line, flush=True)  # noqa: T201 - this is the command's output
