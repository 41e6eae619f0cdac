"""A daemon in a process of its own, for tests that kill it: one silent room, lines typed on standard input.

Run as ``python -m tests.appliance.lonely_daemon FOLDER [first token in ms]``. Every event of the room goes to standard
output as JSON, after a line ``ready``. With a first token time the model is simulated and that slow.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from appliance.daemon.daemon import Daemon, stop_on_signals
from appliance.daemon.instance import Instance
from appliance.measured import logs
from audio.events import VoiceEvent
from tests.appliance.house import Room, simulated


async def live(folder: Path, first_token_ms: int | None) -> None:
    loop = asyncio.get_running_loop()

    async def room(daemon: Daemon) -> None:
        session = await daemon.parts.session(Room(), name="device")
        await daemon.start_session("device", session)
        print("ready", flush=True)
        session.voice.events.on(VoiceEvent, lambda event: print(json.dumps(event.to_json(), default=str), flush=True))

        def typed() -> None:
            line = sys.stdin.readline()
            if not line:  # whoever started it is gone
                daemon.stop()
                loop.remove_reader(sys.stdin.fileno())
            session.voice.say_to_agent(line)

        loop.add_reader(sys.stdin.fileno(), typed)
        try:
            await asyncio.Event().wait()
        finally:
            loop.remove_reader(sys.stdin.fileno())
            await session.close()

    slow = {"model": {"provider": "simulated"}, "simulated": {"llm_first_token_ms": first_token_ms}}
    config = simulated(folder / "glove.db", **(slow if first_token_ms is not None else {}))
    daemon = Daemon(config, Instance(folder / "run"), {"room": room})
    stop_on_signals(daemon)
    await daemon.run()


if __name__ == "__main__":
    logs.configure("warning", "text")
    asyncio.run(live(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None))
