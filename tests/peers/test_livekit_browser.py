"""A spoken conversation in a LiveKit room from Chromium, with LiveKit's own client for browsers."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from appliance.config.schema import GloveConfig
from appliance.livekit.access import SECRET as SECRET_NAME
from appliance.livekit.feature import LIVEKIT, run_livekit
from audio.events import UserTurn
from audio.tts.hibari import HibariVoice
from realtime.livekit.tokens import LiveKitAccess, mint_participant_token
from tests.appliance.house import house
from tests.peers.browser import chromium, microphone
from tests.peers.livekit_peer import until

pytestmark = [pytest.mark.realtime, pytest.mark.timeout(300)]

CLIENT = "livekit-client@2.23.0"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")

PAGE = """<!doctype html><meta charset=utf-8><title>caller</title><script src="client.js"></script><script>
window.told = {captions: [], data: [], peak: 0};
async function call(url, token) {
  const room = new LivekitClient.Room();
  room.on("trackSubscribed", (track) => {
    const context = new AudioContext(), meter = context.createAnalyser(), wave = new Float32Array(meter.fftSize);
    document.body.append(track.attach());
    context.createMediaStreamSource(new MediaStream([track.mediaStreamTrack])).connect(meter);
    setInterval(() => {
      meter.getFloatTimeDomainData(wave);
      told.peak = Math.max(told.peak, ...wave.map(Math.abs));
    }, 20);
  });
  room.on("dataReceived", (data) => told.data.push(JSON.parse(new TextDecoder().decode(data))));
  room.registerTextStreamHandler("lk.transcription", async (reader, who) => told.captions.push(
    {text: await reader.readAll(), who: who.identity, final: reader.info.attributes["lk.transcription_final"]}));
  await room.connect(url, token);
  await room.localParticipant.setMicrophoneEnabled(true);
}
</script><body></body>"""


def client_for_browsers() -> str:
    """LiveKit's client as one script; skips where npm does not get it."""
    npm = shutil.which("npm")
    folder = CACHE / "glove-peers" / CLIENT.replace("@", "-")
    script = folder / "node_modules" / "livekit-client" / "dist" / "livekit-client.umd.js"
    if not script.is_file():
        if npm is None:
            pytest.skip("npm is not installed")
        folder.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), CLIENT]
        if subprocess.run(command, capture_output=True, timeout=150).returncode:
            pytest.skip(f"{CLIENT} cannot be had")
    return script.read_text(encoding="utf-8")


@contextmanager
def served(script: str) -> Iterator[str]:
    """The page, at an address of this machine: browsers let no other page talk to a server here."""

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, body = ("text/javascript", script) if self.path == "/client.js" else ("text/html", PAGE)
            self.send_response(200)
            self.send_header("content-type", kind)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


async def test_a_question_asked_in_the_browser_is_understood_and_answered_aloud(
    livekit: LiveKitAccess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = client_for_browsers()
    monkeypatch.setenv(SECRET_NAME.upper(), livekit.secret.reveal())
    name = f"browser-{secrets.token_hex(4)}"
    voice = HibariVoice()
    await voice.open()
    question = (await voice.render("What is two plus three?")).pcm
    await voice.destroy()
    quiet = np.zeros(2 * voice.sample_rate_hz, np.int16)
    recording = microphone(tmp_path / "mic.wav", np.concatenate([quiet, question, quiet]), voice.sample_rate_hz)
    config = GloveConfig(
        model={"provider": "none"},  # type: ignore[arg-type]
        store={"path": "memory"},  # type: ignore[arg-type]
        livekit={"url": livekit.url, "key": livekit.key, "room": name},  # type: ignore[arg-type]
    )
    token = mint_participant_token(livekit, room=name, identity="caller").reveal()
    async with house(tmp_path, config, {LIVEKIT: run_livekit}) as running:
        await until(lambda: running.daemon.rooms.living, 90.0)
        heard: list[UserTurn] = []
        running.daemon.rooms.events.on(UserTurn, heard.append)
        with served(script) as address, chromium(tmp_path / "profile", recording) as browser:
            async with browser.page() as page:
                await page.goto(address)
                await page.evaluate("([url, token]) => call(url, token)", [livekit.socket_url, token])
                told: dict[str, Any] = {}
                async with asyncio.timeout(90):
                    while not any(
                        line["who"] == "glove" and line["final"] == "true" for line in told.get("captions", [])
                    ):
                        told = await page.evaluate("told")
                        await asyncio.sleep(0.2)
    assert [turn.text.casefold().strip("?. ") for turn in heard][:1] in (
        ["what is two plus three"],
        ["what is 2 plus 3"],
    )
    shown = [line for line in told["captions"] if line["final"] == "true"]
    assert [line["who"] for line in shown[:2]] == ["caller", "glove"]
    assert "plus" in shown[0]["text"] and ("5" in shown[1]["text"] or "five" in shown[1]["text"].lower())
    assert told["peak"] > 0.05
    assert any(message["t"] == "ready" for message in told["data"])
