"""The plugins of Tavus and Anam for LiveKit as clients of a stand-in. It runs in an environment of its own.

Usage: avatar_plugins.py TAVUS_URL TAVUS_KEY ANAM_URL ANAM_KEY. Prints what they got, as one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import sys

import aiohttp
from livekit.agents import APIStatusError
from livekit.plugins.anam.api import AnamAPI
from livekit.plugins.anam.types import PersonaConfig
from livekit.plugins.tavus.api import TavusAPI


async def main(tavus_url: str, tavus_key: str, anam_url: str, anam_key: str) -> None:
    async with aiohttp.ClientSession() as session:
        tavus = TavusAPI(tavus_key, f"{tavus_url}/v2", session=session)
        pal = await tavus.create_pal("their-pal", default_face_id="face-9")
        properties = {"livekit_ws_url": "wss://rooms.test", "livekit_room_token": "token"}
        conversation = await tavus.create_conversation(face_id="face-9", pal_id=pal, properties=properties)
        try:
            await TavusAPI("wrong", f"{tavus_url}/v2", session=session).create_pal("x", default_face_id="y")
            refused = 0
        except APIStatusError as fault:
            refused = fault.status_code
        async with AnamAPI(anam_key, anam_url, session=session) as anam:
            persona = PersonaConfig(name="their-persona", avatarId="avatar-9", avatarModel="cara-3")
            started = await anam.start_session(persona, "wss://rooms.test", "token")
    print(json.dumps({"pal": pal, "conversation": conversation, "refused": refused, "session": started["sessionId"]}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
