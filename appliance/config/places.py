"""Where people and programs meet the appliance: its own devices, pages, rooms, services."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator
from pydantic_settings import NoDecode

from appliance.config.values import TCP, HostName, Section, address, listed, wyoming_has_url


class DeviceConfig(Section):
    """The microphone and the speaker of this machine."""

    enabled: bool = Field(default=True, description="Whether glove run listens and speaks through them.")
    input: str = Field(default="default", description="Microphone: default, or a part of its name.")
    output: str = Field(default="default", description="Speaker: default, or a part of its name.")
    echo: Literal["auto", "aec", "half-duplex", "off"] = Field(
        default="auto", description="How the appliance avoids hearing itself; auto measures whether cancelling works."
    )


class WakeConfig(Section):
    """When the microphone of this machine counts."""

    mode: Literal["wake", "open", "ptt"] = Field(
        default="wake",
        description="wake waits for the wake word; open always listens; ptt only while glove ptt is down.",
    )
    word: Literal["hey_jarvis", "okay_nabu", "alexa", "hey_mycroft"] = Field(
        default="hey_jarvis", description="The wake word."
    )
    provider: Literal["local", "wyoming"] = Field(
        default="local",
        description="Who listens for it: this machine, or a wyoming service, which then hears all that is not quiet.",
    )
    url: str = Field(default="", description="Address of the service, tcp://host:port.")
    name: str = Field(default="", description="Name of the service's wake word; empty takes word.")
    follow_up_s: float = Field(
        default=6.0, ge=0, le=60, description="Seconds after an answer in which no wake word is needed."
    )

    _is_address = field_validator("url")(address)
    _has_url = model_validator(mode="after")(wyoming_has_url)


class PageConfig(Section):
    """The page in a browser."""

    enabled: bool = Field(default=True, description="Whether glove run serves it.")
    host: str = Field(default="127.0.0.1", min_length=1, description="Address to listen on; loopback unless changed.")
    port: int = Field(default=8765, ge=1, le=65_535, description="Port to listen on.")
    hosts: Annotated[tuple[HostName, ...], NoDecode] = Field(
        default=(), description="Names under which it may be reached besides host and localhost, such as glove.local."
    )
    lan: bool = Field(
        default=False,
        description="Whether glove run serves paired devices on the local network from the start; glove pair begins it "
        "otherwise.",
    )
    lan_port: int = Field(default=8443, ge=1, le=65_535, description="Port of the local network's https.")
    name: HostName = Field(
        default="auto", description="Host name announced there, without .local; auto takes the machine's own."
    )

    @field_validator("hosts", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return listed(value)


class RoomsConfig(Section):
    """How callers from other networks reach the rooms over WebRTC; the relay's password is a secret."""

    stun: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="STUN servers, such as stun:stun.example.org:3478; none are asked unless named here."
    )
    turn_url: str = Field(
        default="",
        pattern=r"^(turns?:[^\s/@?]+(\?transport=(udp|tcp))?)?$",
        description="TURN relay, such as turn:turn.example.org:3478?transport=udp; empty for none.",
    )
    turn_user: str = Field(default="", description="User of the relay; the password is the secret turn_credential.")

    @field_validator("stun", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return listed(value)

    @field_validator("stun")
    @classmethod
    def _are_servers(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(re.fullmatch(r"stun:[^\s/@?]+", each) for each in value):
            raise ValueError("addresses such as stun:stun.example.org:3478")
        return value


class WebConfig(Section):
    """What programs may use over HTTP, at the page's address and with its token."""

    chat: bool = Field(default=False, description="Whether /api/chat lends the model to those who hold the token.")


class WyomingConfig(Section):
    """What is lent to others over Home Assistant's voice protocol: recogniser, voice, wake words, voice detection."""

    listen: str = Field(
        default="", description="Address to listen on, such as tcp://127.0.0.1:10300; empty for not at all."
    )
    allow: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Addresses and networks besides this machine that may come in, such as 192.168.1.20 or "
        "192.168.1.0/24: the protocol has no passwords.",
    )
    handle: bool = Field(default=False, description="Whether the agent answers typed lines too.")

    @field_validator("allow", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return listed(value)

    @field_validator("allow")
    @classmethod
    def _are_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for network in value:
            try:
                ipaddress.ip_network(network, strict=False)
            except ValueError:
                raise ValueError(f"{network!r} is no address or network such as 192.168.1.0/24") from None
        return value

    @field_validator("listen")
    @classmethod
    def _is_tcp(cls, value: str) -> str:
        if value and not TCP.fullmatch(value):
            raise ValueError("an address such as tcp://127.0.0.1:10300")
        return value

    @model_validator(mode="after")
    def _is_no_open_door(self) -> Self:
        from agents.models.openai_compatible import is_loopback

        if self.listen and not is_loopback(self.listen) and not self.allow:
            raise ValueError("addresses in allow where listen is not this machine itself")
        return self


class ServeConfig(Section):
    """What glove serve-realtime lends to programs that speak OpenAI's Realtime protocol."""

    host: str = Field(
        default="127.0.0.1", description="Address to listen on; another than this machine's own needs a token."
    )
    port: int = Field(default=8790, ge=0, le=65_535, description="Port to listen on; 0 takes a free one.")
    sessions: int = Field(default=4, ge=1, le=64, description="How many clients are served at the same time.")
    session_min: int = Field(default=60, ge=1, le=1440, description="Minutes after which a session is ended.")


class LiveKitConfig(Section):
    """Rooms of a LiveKit server, in which the agent is a participant; the API secret is a secret."""

    url: str = Field(default="", description="Address of the server, such as wss://rtc.example.org; empty for none.")
    key: str = Field(default="", description="API key; the secret livekit_api_secret belongs to it.")
    room: str = Field(default="", max_length=256, description="A room that the agent is always in; empty for none.")
    identity: str = Field(
        default="glove", min_length=1, max_length=128, description="Who the agent is in the rooms; unique in each."
    )
    name: str = Field(default="Glove", max_length=128, description="How the agent is shown to people there.")
    dispatch: Literal["off", "agent", "webhook"] = Field(
        default="off",
        description="How the agent is called into rooms: agent lets the server choose among all appliances that "
        "registered, webhook takes the server's word at /livekit/webhook of the page.",
    )
    agent_name: str = Field(
        default="",
        max_length=128,
        description="Under which name rooms ask for the agent; without one every new room gets it (dispatch agent).",
    )
    prefix: str = Field(default="", max_length=128, description="Only rooms whose names begin so are joined on call.")
    most_rooms: int = Field(default=4, ge=1, le=64, description="How many rooms the agent is in at the same time.")
    idle_s: float = Field(
        default=60.0,
        ge=1,
        le=86_400,
        description="Seconds without people after which a room it was called into is left.",
    )
    speakers: Literal["mix", "loudest", "first"] = Field(
        default="mix", description="Who is heard where several speak: all, the loudest, or who began."
    )

    @field_validator("url")
    @classmethod
    def _is_server(cls, value: str) -> str:
        if value and not re.fullmatch(r"(https?|wss?)://[^\s/@]+(/\S*)?", value):
            raise ValueError("an address such as wss://rtc.example.org, without user name or password")
        return value

    @model_validator(mode="after")
    def _has_key(self) -> Self:
        if self.url and not self.key:
            raise ValueError("a key where there is a url")
        return self
