"""Pairing over HTTP: at the machine itself to invite and to revoke, on the local network to accept an invitation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from pydantic import AwareDatetime, Field
from starlette.requests import Request
from starlette.responses import Response

from agents.base.errors import GloveError
from agents.web.refusals import reply
from appliance.lan.door import cookies_with
from appliance.lan.network import Invite, Lan, LanState
from appliance.web.operations import Operation, Told
from appliance.web.room_api import API


class DeviceTold(Told):
    """A paired device."""

    id: str
    name: str
    paired: AwareDatetime
    used: AwareDatetime


class DevicesTold(Told):
    """All paired devices."""

    devices: list[DeviceTold]


class LanTold(Told):
    """Whether the local network is served, and where."""

    state: LanState
    addresses: list[str]


class InvitationTold(Told):
    """What a phone opens to be paired. ``picture`` is the QR code of ``address`` as an SVG data URI.

    ``authority`` and ``server`` are the SHA-256 fingerprints that the phone shows, of what it may trust and of what it
    sees at first.
    """

    address: str
    by_address: str
    picture: str
    valid_s: float
    authority: str
    server: str


class Token(Told):
    """An invitation that is accepted."""

    token: Annotated[str, Field(min_length=1, max_length=200)]
    name: Annotated[str, Field(max_length=200, description="What the device calls itself.")] = ""


class Welcome(Told):
    """The device is paired; its cookie came with this answer."""

    name: str
    authority: str
    server: str


def at_the_machine(lan: Lan) -> tuple[Operation, ...]:
    """What is done at the machine itself."""

    async def show(_: Request, __: None) -> LanTold:
        return LanTold(state=lan.state, addresses=list(lan.addresses))

    async def invite(_: Request, __: None) -> InvitationTold:
        await lan.turn_on()
        return invitation(lan.invite())

    async def turn_off(_: Request, __: None) -> None:
        await lan.turn_off()

    async def devices(_: Request, __: None) -> DevicesTold:
        return DevicesTold(devices=listed(lan))

    async def revoke(request: Request, _: None) -> None:
        await lan.revoke(request.path_params["device_id"])

    one = f"{API}/devices/{{device_id}}"
    return (
        Operation("GET", f"{API}/lan", "showLan", "Say whether paired devices are served.", show, told=LanTold),
        Operation("DELETE", f"{API}/lan", "turnLanOff", "Serve nobody beyond this machine.", turn_off),
        Operation(
            "POST",
            f"{API}/invitations",
            "invite",
            "Serve the local network, and invite one device.",
            invite,
            told=InvitationTold,
            status=201,
            refusals=(409, 500),
        ),
        Operation("GET", f"{API}/devices", "listDevices", "List the paired devices.", devices, told=DevicesTold),
        Operation("DELETE", one, "revokeDevice", "End a device's session.", revoke, refusals=(404,)),
    )


def on_the_network(lan: Lan, chosen: Callable[[], Awaitable[None]] | None = None) -> tuple[Operation, ...]:
    """What a phone does. ``chosen`` is called when a device was paired."""

    async def pair(request: Request, accepted: Token) -> Response:
        lan.door.check(request)
        lan.door.patient(request)
        try:
            lan.invitations.redeem(accepted.token)
        except GloveError:
            lan.door.failed(request)
            raise
        device, secret = lan.devices.add(accepted.name)
        facts = fingerprints(lan)
        response = reply(Welcome(name=device.name, **facts).model_dump(), 200)
        for cookie in cookies_with(secret):
            response.headers.append("set-cookie", cookie)
        if chosen is not None:
            await chosen()
        return response

    async def part(request: Request, _: None) -> Response:
        visitor = lan.door.visitor(request)
        if visitor is None:
            raise GloveError("ERR_UNAUTHORISED", "This device is not paired.")
        await lan.revoke(visitor.client.removeprefix("device-"))
        response = Response(status_code=204)
        for cookie in cookies_with(""):
            response.headers.append("set-cookie", cookie)
        return response

    return (
        Operation(
            "POST",
            f"{API}/pair",
            "pair",
            "Accept an invitation; the answer brings the session's cookie.",
            pair,
            body=Token,
            told=Welcome,
            refusals=(500,),
            open=True,
        ),
        Operation("DELETE", f"{API}/pairing", "unpair", "End this device's own session.", part),
    )


def fingerprints(lan: Lan) -> dict[str, str]:
    """The fingerprints that a phone may show."""
    from appliance.lan.authority import fingerprint

    authority, leaf = lan.authority, lan.leaf
    return {
        "authority": fingerprint(authority.certificate) if authority is not None else "",
        "server": fingerprint(leaf.certificate) if leaf is not None else "",
    }


def listed(lan: Lan) -> list[DeviceTold]:
    """The paired devices, as they are told."""
    return [DeviceTold(id=each.id, name=each.name, paired=each.paired, used=each.used) for each in lan.devices.all]


def invitation(invite: Invite) -> InvitationTold:
    """``invite`` as it is told to whoever sits at the machine; nobody else gets to see it."""
    import segno

    address = invite.by_name.reveal()
    return InvitationTold(
        address=address,
        by_address=invite.by_address.reveal(),
        picture=segno.make(address, error="m").svg_data_uri(scale=5, border=4, light="white"),
        valid_s=invite.valid_s,
        authority=invite.authority,
        server=invite.server,
    )


async def certificate(lan: Lan) -> bytes:
    """The authority's certificate as phones install it: DER."""
    from cryptography.hazmat.primitives.serialization import Encoding

    if lan.authority is None:
        raise GloveError("ERR_LAN_OFF", "Pairing is off.")
    return lan.authority.certificate.public_bytes(Encoding.DER)
