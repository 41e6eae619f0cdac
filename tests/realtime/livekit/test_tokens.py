"""Tokens grant taking part and nothing more, and secrets that can be guessed are not used."""

from __future__ import annotations

import time
from typing import Any

import jwt
import pytest
from livekit.api import AccessToken, TokenVerifier, VideoGrants

from agents.base.credentials import Secret
from agents.base.errors import ConfigError, GloveError
from realtime.livekit.tokens import (
    LONGEST_TTL_S,
    LiveKitAccess,
    mint_avatar_token,
    mint_participant_token,
    refuse_administration,
)

SECRET = "a-secret-of-more-than-thirty-two-bytes"
ACCESS = LiveKitAccess("wss://rtc.example.org", "key", Secret(SECRET))


def claims(token: Secret) -> dict[str, Any]:
    return jwt.decode(token.reveal(), SECRET, algorithms=["HS256"])


def test_a_participant_may_speak_listen_and_write_in_one_room() -> None:
    told = claims(mint_participant_token(ACCESS, room="kitchen", identity="alice", ttl_s=600))
    assert told["video"] == {
        "roomJoin": True,
        "room": "kitchen",
        "canPublish": True,
        "canSubscribe": True,
        "canPublishData": True,
    }
    assert told["sub"] == told["name"] == "alice" and told["iss"] == "key"
    assert told["exp"] - time.time() == pytest.approx(600, abs=5)
    assert "kind" not in told and "attributes" not in told


def test_a_face_is_an_agent_that_speaks_for_another() -> None:
    token = mint_avatar_token(ACCESS, room="kitchen", identity="face", on_behalf_of="glove", name="Face")
    told = claims(token)
    assert told["kind"] == "agent" and told["attributes"] == {"lk.publish_on_behalf": "glove"}
    assert told["name"] == "Face"
    assert TokenVerifier("key", SECRET).verify(token.reveal()).identity == "face"


@pytest.mark.parametrize(
    ("url", "key", "secret", "allowed"),
    [
        ("ws://127.0.0.1:7880", "devkey", "secret", True),
        ("ws://localhost:7880", "devkey", "secret", True),
        ("ws://[::1]:7880", "devkey", "secret", True),
        ("ws://192.168.1.4:7880", "devkey", "secret", False),
        ("wss://rtc.example.org", "devkey", "secret", False),
        ("ws://127.0.0.1:7880", "other", "secret", False),
        ("ws://127.0.0.1:7880", "devkey", "another", False),
        ("wss://rtc.example.org", "key", "x" * 31, False),
        ("wss://rtc.example.org", "key", "x" * 32, True),
    ],
)
def test_secrets_that_can_be_guessed_are_refused(url: str, key: str, secret: str, allowed: bool) -> None:
    if allowed:
        LiveKitAccess(url, key, Secret(secret))
        return
    with pytest.raises(ConfigError) as refused:
        LiveKitAccess(url, key, Secret(secret))
    assert refused.value.code == "ERR_LIVEKIT_SECRET" and secret not in (
        refused.value.message if secret != "secret" else ""
    )


@pytest.mark.parametrize("url", ["", "rtc.example.org", "ftp://rtc.example.org", "ws://"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="no address"):
        LiveKitAccess(url, "key", Secret(SECRET))


@pytest.mark.parametrize(
    "wrong",
    [
        {"room": ""},
        {"identity": " "},
        {"identity": "a\nb"},
        {"room": "x" * 257},
        {"ttl_s": 0},
        {"ttl_s": LONGEST_TTL_S + 1},
        {"kind": "egress"},
    ],
)
def test_tokens_that_make_no_sense_are_not_minted(wrong: dict[str, Any]) -> None:
    with pytest.raises(GloveError):
        mint_participant_token(ACCESS, **{"room": "kitchen", "identity": "alice", **wrong})


@pytest.mark.parametrize("grant", ["room_admin", "room_create", "room_list", "room_record", "ingress_admin", "agent"])
def test_a_token_that_also_administers_is_not_used(grant: str) -> None:
    grants = VideoGrants(room_join=True, room="kitchen", **{grant: True})
    wide = AccessToken("key", SECRET).with_identity("alice").with_grants(grants).to_jwt()
    with pytest.raises(GloveError, match=grant):
        refuse_administration(wide)
    refuse_administration(mint_participant_token(ACCESS, room="kitchen", identity="alice").reveal())


def test_a_token_without_a_room_is_none() -> None:
    for token in ("", "a.b.c", AccessToken("key", SECRET).with_grants(VideoGrants(room_list=True)).to_jwt()):
        with pytest.raises(GloveError) as refused:
            refuse_administration(token)
        assert refused.value.code == "ERR_LIVEKIT_TOKEN"
