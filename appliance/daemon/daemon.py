"""``glove run``: the rooms of this machine, supervised, until somebody stops it."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from agents.base.backoff import Backoff
from agents.base.clock import now
from agents.base.credentials import Secret
from agents.base.errors import GloveError, InputError
from agents.base.scope import Scope
from appliance.daemon.alerts import Alerts
from appliance.daemon.control import ControlServer, Handler
from appliance.daemon.rooms import LONGEST_NOTICE, Rooms
from appliance.daemon.stalls import StallWatch
from appliance.daemon.systemd import ServiceNotifier
from appliance.measured.event_log import append_to
from appliance.measured.metrics import Metrics
from appliance.measured.metrics_log import MetricsLog
from appliance.session.build import Parts, Session, load_parts
from audio.events import Metric, VoiceEvent

if TYPE_CHECKING:
    from appliance.config.schema import GloveConfig
    from appliance.daemon.instance import Instance

log = structlog.get_logger(__name__)

STOP_LIMIT_S = 2.8
"""The process is gone this long after it was asked to stop, whatever still hangs."""

CLOSE_LIMIT_S = 2.2
HOUSEKEEPING_S = 5.0
FROZEN_S = 3.0
"""A room whose clock stands still for this long, though it says that it works, keeps the watchdog hungry."""

Feature = Callable[["Daemon"], Awaitable[None]]
"""Something that the daemon runs beside others until it fails or is cancelled; it is started again after failures."""


class Daemon:
    """Runs features side by side over one set of parts.

    Args:
        config: what is in force.
        instance: the lock, held by the caller.
        features: by name.
        say: prints a line for people.
        parts: makes the parts.
        stalls: watches the loop; nobody does when None.

    Raises:
        ConfigError: the file of ``log.events`` or ``metrics.file`` cannot be written.

    Attributes:
        parts: the models; None until they are loaded.
        rooms: the sessions that live.
        metrics: what is measured in them.
        facts: what ``glove status`` tells beside the rooms; features add theirs.
        handlers: what is answered at the control socket; features add theirs.
        secrets: made once per process, by the feature that needs them.
    """

    def __init__(
        self,
        config: GloveConfig,
        instance: Instance,
        features: Mapping[str, Feature],
        *,
        say: Callable[[str], None] = lambda _: None,
        parts: Callable[[GloveConfig], Awaitable[Parts]] = load_parts,
        stalls: StallWatch | None = None,
    ) -> None:
        self.config = config
        self._events = append_to(Path(config.log.events)) if config.log.events else None
        self._metrics_log = _metrics_log(config)
        self.metrics = Metrics()
        self.rooms = Rooms(self._happened)
        self._say = say
        self._told: dict[str, str] = {}
        self.facts: dict[str, Any] = {}
        self.secrets: dict[str, Secret] = {}
        self.notifier = ServiceNotifier()
        self._parts: Parts | None = None
        self._load = parts
        self._features = features
        self.handlers = self._handlers()
        self._control = ControlServer(instance.socket, self.handlers)
        self._stopping = asyncio.Event()
        self._scope = Scope("daemon")
        self._stalls = stalls or StallWatch()
        self._started = now()
        self._clocks: dict[int, tuple[float, float]] = {}
        self._greeted = False

    @property
    def parts(self) -> Parts:
        """The models, once they are loaded. Raises ``RuntimeError`` before."""
        if self._parts is None:
            raise RuntimeError("the parts are not loaded yet")
        return self._parts

    @property
    def stopping(self) -> bool:
        """Whether it was asked to stop."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """End ``run`` in order; idempotent."""
        self._stopping.set()

    async def run(self) -> None:
        """Run until ``stop``.

        Raises:
            GloveError: weights are missing, or the control socket cannot be made.
        """
        try:
            await self._control.open()
            self.notifier.status("loading models")
            if await self._loaded():
                await self._live()
        finally:
            self.notifier.stopping()
            await self._close()

    async def start_session(self, name: str, session: Session) -> None:
        """Start ``session`` as the room ``name`` and make it known. Raises ``GloveError`` if it cannot start."""
        try:
            await session.start()
        except BaseException:
            await session.close()
            raise
        self.rooms.enter(name, session)

    def tell(self, topic: str, line: str) -> None:
        """Print a line for people, unless it is what was last said on ``topic``."""
        if self._told.get(topic) != line:
            self._told[topic] = line
            self._say(line)

    def claim_greeting(self) -> bool:
        """Whether the caller shall greet: the configuration wants it, and nobody has greeted in this process yet."""
        claimed, self._greeted = self.config.conversation.greeting and not self._greeted, True
        return claimed

    def _happened(self, room: str, event: VoiceEvent) -> None:
        if self._events is not None:
            self._events.write_of(room, event)
        if isinstance(event, Metric):
            self.metrics.note(event)
            if self._metrics_log is not None:
                self._metrics_log.write_of(room, event)

    async def _loaded(self) -> bool:
        """Load the parts; False when the daemon was stopped meanwhile."""
        loading = asyncio.ensure_future(self._load(self.config))
        stopped = self._scope.spawn(self._stopping.wait(), "stop")
        await asyncio.wait({loading, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not loading.done():
            loading.cancel()
            await asyncio.wait({loading})
            return False
        self._parts = loading.result()
        return True

    async def _live(self) -> None:
        alerts = Alerts(self.rooms, self.parts.mind.timers, self.parts.language)
        try:
            self.rooms.start()
            alerts.start()
            for name, feature in self._features.items():
                self._scope.supervise(lambda feature=feature: feature(self), name, Backoff(1.0, 30.0, recover_s=30.0))
            self._scope.supervise(self._keep_house, "housekeeping", Backoff())
            if self.notifier.watchdog_s is not None:
                self._scope.supervise(self._feed, "watchdog", Backoff())
            self.notifier.ready(self.summary())
            await self._stopping.wait()
        finally:
            await alerts.close()
            await self.rooms.close()

    async def _close(self) -> None:
        self._stalls.close()
        await self._scope.close(CLOSE_LIMIT_S)
        if self._parts is not None:
            await self._parts.close()
        await self._control.close()
        if self._events is not None:
            self._events.close()
        if self._metrics_log is not None:
            self._metrics_log.close()

    async def _keep_house(self) -> None:
        told = ""
        # While features start, imports hold up the loop and nobody is listening yet.
        await asyncio.sleep(HOUSEKEEPING_S)
        self._stalls.start()
        while True:
            for entry in self.rooms.living:
                try:
                    await entry.session.agent.rest()
                except GloveError as fault:
                    log.warning("a conversation could not be tidied up", code=fault.code, error=fault.message)
            if (summary := self.summary()) != told:
                told = summary
                self.notifier.status(summary)
            await asyncio.sleep(HOUSEKEEPING_S)

    async def _feed(self) -> None:
        """Feed the service manager's watchdog: that this runs shows that the loop answers."""
        pause_s = (self.notifier.watchdog_s or 0.0) / 3
        while True:
            if self.frames_move():
                self.notifier.alive()
            else:
                log.error("no sound moves; the watchdog is not fed")
            await asyncio.sleep(min(pause_s, 5.0))

    def frames_move(self) -> bool:
        """Whether every room that says it works has sound moving through it."""
        known, self._clocks = self._clocks, {}
        moving = True
        for entry in self.rooms.living:
            room = entry.session.room
            time_s, since = known.get(id(room), (-1.0, now()))
            if room.time_s != time_s or room.health.state != "ok":
                since = now()
            self._clocks[id(room)] = (room.time_s, since)
            moving = moving and now() - since < FROZEN_S
        return moving

    def summary(self) -> str:
        """One line for people: which rooms there are and how they are."""
        rooms = [f"{entry.name}: {_health(entry.session)}" for entry in self.rooms.living]
        return "; ".join(rooms) or "no room is open"

    def status(self) -> dict[str, Any]:
        """What ``glove status`` shows."""
        timers = self._parts.mind.timers if self._parts is not None else None
        return {
            "pid": os.getpid(),
            "uptime_s": round(now() - self._started, 1),
            "loaded": self._parts is not None,
            "rooms": [
                {
                    "name": entry.name,
                    "mode": entry.session.voice.current_mode,
                    "conversation": entry.session.agent.conversation_id,
                    "health": asdict(entry.session.room.health),
                    "store": str(entry.session.agent.store_fault or "ok"),
                }
                for entry in self.rooms.living
            ],
            "timers": len(timers.running()) if timers is not None else 0,
            "ringing": len(timers.ringing()) if timers is not None else 0,
            "messages_waiting": self.rooms.waiting,
            "loop_stalls": self._stalls.stalls,
            "longest_stall_ms": round(1000 * self._stalls.longest_s),
            "latency": self.metrics.summary(),
            **self.facts,
        }

    def _handlers(self) -> dict[str, Handler]:
        return {"status": self._on_status, "notify": self._on_notify, "ptt": self._on_ptt}

    async def _on_status(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"status": self.status()}

    async def _on_notify(self, request: Mapping[str, Any]) -> dict[str, Any]:
        text = request.get("text")
        if not isinstance(text, str) or not any(map(str.isalnum, text)):
            raise InputError("ERR_NOTICE", "There is nothing to say.")
        if len(text) > LONGEST_NOTICE:
            raise InputError("ERR_NOTICE", f"A message has at most {LONGEST_NOTICE} characters.")
        return {"room": self.rooms.notify(text, urgent=request.get("urgent") is True)}

    async def _on_ptt(self, request: Mapping[str, Any]) -> dict[str, Any]:
        from appliance.daemon.push_to_talk import press

        return {"ptt": press(self.rooms, request.get("action"))}


def _metrics_log(config: GloveConfig) -> MetricsLog | None:
    metrics = config.metrics
    return MetricsLog(Path(metrics.file), 1024 * metrics.file_kb, metrics.keep) if metrics.file else None


def _health(session: Session) -> str:
    health = session.room.health
    return health.state if health.state == "ok" else f"{health.state} ({health.reason})"


def stop_on_signals(daemon: Daemon) -> None:
    """Stop in order on the first SIGTERM or SIGINT, at once on the second; a stop that hangs is cut short."""
    loop = asyncio.get_running_loop()

    def asked(number: signal.Signals) -> None:
        if daemon.stopping:
            os._exit(128 + number)
        log.info("stopping", signal=number.name)
        deadline = threading.Timer(STOP_LIMIT_S, os._exit, (0,))
        deadline.daemon = True
        deadline.start()
        daemon.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked, number)
