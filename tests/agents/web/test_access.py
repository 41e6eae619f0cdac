"""Who may use a server."""

from __future__ import annotations

import pytest
from starlette.requests import HTTPConnection

from agents.base.errors import GloveError
from agents.web.access import COOKIE, Access, new_token

TOKEN = "a-token-that-is-long-enough"


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("localhost", True),
        ("localhost:8765", True),
        ("LOCALHOST.", True),
        ("127.0.0.1:1", True),
        ("127.1.2.3", True),
        ("[::1]:8765", True),
        ("glove.home:80", True),
        ("evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example", False),
        ("192.168.1.7", False),
        ("0.0.0.0", False),
        ("evil.example:80@localhost", False),
        ("[::1", False),
        ("localhost; script-src *", False),
        ("localhost?x", False),
        ("localhost#x", False),
        ("localhost:x", False),
        ("", False),
        (None, False),
    ],
)
def test_only_names_of_this_machine_are_answered(host: str | None, allowed: bool) -> None:
    assert Access(TOKEN, ["Glove.home"]).host_allowed(host) is allowed


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        (None, True),
        ("http://localhost:8765", True),
        ("https://localhost:8765", True),
        ("http://localhost:9999", False),
        ("http://127.0.0.1:8765", False),
        ("http://evil.example", False),
        ("http://localhost:8765.evil.example", False),
        ("null", False),
        ("file://", False),
        ("http://[", False),
    ],
)
def test_only_a_page_of_this_server_may_ask(origin: str | None, allowed: bool) -> None:
    assert Access(TOKEN).origin_allowed(origin, "localhost:8765") is allowed


def test_the_cookie_or_the_token_admits_and_nothing_else() -> None:
    access = Access(TOKEN)
    assert access.admitted({COOKIE: access.cookie}, None)
    assert access.admitted({}, f"Bearer {TOKEN}")
    for cookies, header in [({}, None), ({COOKIE: TOKEN}, None), ({COOKIE: ""}, "Bearer "), ({}, f"Basic {TOKEN}")]:
        assert not access.admitted(cookies, header)
    assert not access.admitted({COOKIE: "ü"}, "Bearer ü")
    assert not access.knows("\ud800")
    assert TOKEN not in access.cookie


def test_tokens_differ_and_are_long() -> None:
    assert new_token() != new_token() and len(new_token()) >= 32
    with pytest.raises(ValueError):
        Access("short")


def _request(**headers: str) -> HTTPConnection:
    return HTTPConnection({"type": "http", "headers": [(k.encode(), v.encode()) for k, v in headers.items()]})


def test_a_request_needs_the_token_and_the_right_address() -> None:
    access = Access(TOKEN, cookie_name="mine")
    bearer = f"Bearer {TOKEN}"
    assert access.allows(_request(host="localhost", authorization=bearer))
    assert access.allows(_request(host="localhost", cookie=f"mine={access.cookie}"))
    assert not access.allows(_request(host="localhost", cookie=f"{COOKIE}={access.cookie}"))
    assert access.allows(_request(host="localhost", authorization=bearer, **{"sec-fetch-site": "same-origin"}))
    assert access.allows(_request(host="localhost", authorization=bearer, **{"sec-fetch-site": "none"}))
    assert not access.allows(_request(host="localhost"))
    for headers in (
        {"host": "evil.example"},
        {"host": "localhost", "origin": "http://evil.example"},
        {"host": "localhost", "sec-fetch-site": "cross-site"},
        {"host": "localhost", "sec-fetch-site": "same-site"},
    ):
        with pytest.raises(GloveError) as refusal:
            access.allows(_request(authorization=bearer, **headers))
        assert refusal.value.code == "ERR_FORBIDDEN"
