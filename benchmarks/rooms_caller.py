"""A caller of the rooms' benchmark in a process of its own, so that its cost is not counted: it sends silence.

python -m benchmarks.rooms_caller < ANSWER > OFFER
"""

from __future__ import annotations

import asyncio
import json
import sys

from tests.peers.rtc_peer import RtcCaller


async def main() -> None:
    """Call, and stay until the input ends."""
    caller = RtcCaller()
    print(json.dumps(await caller.offer()), flush=True)
    await caller.accept(json.loads(await asyncio.to_thread(sys.stdin.readline)))
    await asyncio.to_thread(sys.stdin.read)
    await caller.leave()


if __name__ == "__main__":
    asyncio.run(main())
