"""Run in an environment of its own: LiveKit's client of OpenAI Realtime, talking to the address that is named.

Speaks the raw 24 kHz samples of standard input, and prints what it understood as one JSON object.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from typing import Any

from livekit import rtc
from livekit.agents import llm
from livekit.agents.utils import http_context
from livekit.plugins.openai.realtime import RealtimeModel

RATE_HZ = 24_000
FRAME_BYTES = RATE_HZ // 50 * 2


@llm.function_tool
async def weather() -> str:
    """Tells the weather."""
    return "rain"


async def main(address: str, key: str, pcm: bytes) -> dict[str, Any]:
    model = RealtimeModel(base_url=address, api_key=key, model="glove")
    session = model.session()
    told: dict[str, Any] = {"errors": []}
    answered: asyncio.Future[llm.GenerationCreatedEvent] = asyncio.get_running_loop().create_future()

    def understood(event: Any) -> None:
        if event.is_final:
            told["transcript"] = event.transcript

    session.on("input_audio_transcription_completed", understood)
    session.on("error", lambda event: told["errors"].append(str(event.error)))
    session.on("generation_created", lambda event: answered.done() or answered.set_result(event))
    try:
        await session.update_instructions("Be brief.")
        await session.update_tools([weather])
        for at in range(0, len(pcm), FRAME_BYTES):
            piece = pcm[at : at + FRAME_BYTES]
            session.push_audio(rtc.AudioFrame(piece, RATE_HZ, 1, len(piece) // 2))
            await asyncio.sleep(0.005)
        async for message in (await answered).message_stream:
            sound = [bytes(frame.data) async for frame in message.audio_stream]
            told["answer"] = "".join([text async for text in message.text_stream])
            told["sound"] = base64.b64encode(b"".join(sound)).decode()
    finally:
        await session.aclose()
        await model.aclose()
    return told


async def run() -> None:
    async with http_context.open():
        print(json.dumps(await asyncio.wait_for(main(*sys.argv[1:3], sys.stdin.buffer.read()), 90)))


asyncio.run(run())
