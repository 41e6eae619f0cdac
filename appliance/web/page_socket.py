"""The page's WebSocket as the browser room wants it."""

from __future__ import annotations

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState


class PageSocket:
    """A starlette WebSocket as ``realtime.browser.caller.Socket``."""

    def __init__(self, websocket: WebSocket) -> None:
        self._websocket = websocket

    async def receive(self) -> str | bytes | None:
        message = await self._websocket.receive()
        if message["type"] == "websocket.disconnect":
            return None
        text = message.get("text")
        return text if text is not None else message.get("bytes", b"")

    async def send(self, data: str | bytes) -> None:
        try:
            if isinstance(data, str):
                await self._websocket.send_text(data)
            else:
                await self._websocket.send_bytes(data)
        except (WebSocketDisconnect, RuntimeError) as fault:
            raise ConnectionError("the caller has gone") from fault

    async def close(self, code: int, reason: str) -> None:
        if self._websocket.application_state is WebSocketState.DISCONNECTED:
            return
        try:
            await self._websocket.close(code, reason)
        except (WebSocketDisconnect, RuntimeError) as fault:
            raise ConnectionError("the caller has gone") from fault
