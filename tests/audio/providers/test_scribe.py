"""ElevenLabs' recogniser against a service whose messages are checked with the vendor's own types."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest

from agents.base import clock
from agents.base.backoff import Backoff
from agents.base.errors import GloveVoiceError
from audio.pcm import Pcm
from audio.providers.elevenlabs.stt import ScribeStt
from audio.providers.socket import ConnectionRefused
from audio.stt.base import SttClosed, SttEvent, SttFault, SttFinal, SttPartial
from tests.audio.providers.fake_elevenlabs import FakeScribe, sdk_scribe_query
from tests.audio.providers.sockets import collect

KEY = "sk_very-secret-key"


def speech(seconds: float = 1.0) -> Pcm:
    return np.full(int(seconds * 16_000), 300, np.int16)


async def connected(service: FakeScribe, **options: object) -> ScribeStt:
    stt = ScribeStt(KEY, dial=service.dial, **options)  # type: ignore[arg-type]
    await stt.connect()
    return stt


async def say(stt: ScribeStt, seconds: float = 1.0) -> None:
    """Speak in frames of 10 ms, in real (virtual) time."""
    for _ in range(round(seconds * 100)):
        stt.send_audio(speech(0.01))
        await asyncio.sleep(0.01)


async def test_it_connects_as_the_vendors_own_client_would() -> None:
    service = FakeScribe()
    stt = await connected(service)
    target = service.connection.target
    asked = dict(parse_qsl(urlsplit(target.url).query))
    theirs = sdk_scribe_query(model_id="scribe_v2_realtime", language_code="en")
    assert asked == {name: value for name, value in theirs.items() if name != "include_timestamps"}
    assert urlsplit(target.url)[:3] == ("wss", "api.elevenlabs.io", "/v1/speech-to-text/realtime")
    assert target.headers == {"xi-api-key": KEY}
    assert KEY not in repr(target)
    await stt.disconnect()


async def test_a_token_goes_into_the_address_and_is_new_for_each_connection() -> None:
    service = FakeScribe()
    tokens = iter(["one", "two"])

    async def get_token() -> str:
        return next(tokens)

    stt = ScribeStt(get_token=get_token, dial=service.dial)
    await stt.connect()
    service.connection.drop()
    await asyncio.sleep(2)
    told = [dict(parse_qsl(urlsplit(c.target.url).query))["token"] for c in service.connections]
    assert told == ["one", "two"]
    assert not service.connection.target.headers
    await stt.disconnect()


async def test_what_is_said_comes_back_as_partials_and_one_final() -> None:
    service = FakeScribe(["Turn on the light."])
    stt = await connected(service)
    events = collect(stt.events, SttEvent)
    await say(stt)
    service.partial("turn on the")
    await asyncio.sleep(0.01)
    assert stt.current_partial == "turn on the"
    stt.flush_utterance()
    await asyncio.sleep(1)
    assert events == [SttPartial("turn on the"), SttFinal("Turn on the light.", "en")]
    assert stt.current_partial == ""
    assert service.heard_samples == 16_000, "all that was said was sent"
    await stt.disconnect()


async def test_a_short_word_is_committed_because_the_commit_brings_its_own_silence() -> None:
    service = FakeScribe(["No."])
    stt = await connected(service)
    finals = collect(stt.events, SttFinal)
    await say(stt, 0.1)
    stt.flush_utterance()
    await asyncio.sleep(1)
    assert [final.text for final in finals] == ["No."]
    commit = json.loads(service.connection.sent[-1])
    assert commit["commit"] is True
    await stt.disconnect()


async def test_an_empty_commit_stands_for_the_last_partial() -> None:
    service = FakeScribe([""])
    stt = await connected(service)
    finals = collect(stt.events, SttFinal)
    await say(stt)
    service.partial("hi")
    await asyncio.sleep(0.01)
    stt.flush_utterance()
    await asyncio.sleep(1)
    assert [final.text for final in finals] == ["hi"]
    await stt.disconnect()


@pytest.mark.parametrize("kind", ["commit_throttled", "insufficient_audio_activity"])
async def test_a_refused_commit_is_a_final_at_once(kind: str) -> None:
    service = FakeScribe()
    service.commit = lambda connection: service.complain(kind)  # type: ignore[method-assign]
    stt = await connected(service)
    finals = collect(stt.events, SttFinal)
    await say(stt, 0.2)
    stt.flush_utterance()
    await asyncio.sleep(0.05)
    assert [final.text for final in finals] == [""]
    await stt.disconnect()


async def test_a_flush_of_nothing_is_answered_at_once() -> None:
    service = FakeScribe(["a", "b"])
    stt = await connected(service)
    finals = collect(stt.events, SttFinal)
    stt.flush_utterance()
    assert [final.text for final in finals] == [""], "nobody has to wait for an empty final"
    await stt.disconnect()


async def test_words_are_heard_only_where_somebody_spoke() -> None:
    """The service repeats what it committed, and dreams up words in the silence that keeps the connection alive."""
    service = FakeScribe(["Good morning."])
    stt = await connected(service)
    partials = collect(stt.events, SttPartial)
    service.partial("Yes.")
    await asyncio.sleep(0.1)
    assert partials == []
    await say(stt)
    stt.flush_utterance()
    await asyncio.sleep(1)
    service.partial("Good morning.")
    await asyncio.sleep(0.1)
    assert partials == []
    await stt.disconnect()


async def test_the_language_is_told_where_it_was_to_be_found_out() -> None:
    service = FakeScribe(["Guten Morgen."])
    service.language = "deu"
    stt = await connected(service, language=None)
    asked = dict(parse_qsl(urlsplit(service.connection.target.url).query))
    assert asked["include_language_detection"] == "true" and "language_code" not in asked
    finals = collect(stt.events, SttFinal)
    await say(stt)
    stt.flush_utterance()
    await asyncio.sleep(1)
    assert finals == [SttFinal("Guten Morgen.", "de")]
    await stt.disconnect()


async def test_nonsense_is_ignored() -> None:
    service = FakeScribe(["Yes, please."])
    stt = await connected(service)
    finals = collect(stt.events, SttFinal)
    await say(stt)
    for message in ("not json", "[1]", "7", b"\xff\xfe", '{"message_type": "of_the_future"}', '{"message_type": 5}'):
        service.connection.push(message)
    stt.flush_utterance()
    await asyncio.sleep(1)
    assert [final.text for final in finals] == ["Yes, please."]
    await stt.disconnect()


async def test_a_quiet_hour_is_survived_because_silence_is_sent() -> None:
    service = FakeScribe()
    stt = await connected(service)
    sent_at: list[float] = []
    heard = service.heard
    service.heard = lambda connection, message: (sent_at.append(clock.now()), heard(connection, message))  # type: ignore[method-assign]
    began = clock.now()
    await asyncio.sleep(3600)
    gaps = np.diff([began, *sent_at, clock.now()])
    assert gaps.max() < 15, "the service closes after 18 seconds without sound"
    assert len(sent_at) < 600
    assert len(service.connections) == 1
    await stt.disconnect()


async def test_case_d26_routine_closes_never_use_up_the_attempts() -> None:
    """A hundred closes after three quiet minutes each: the recogniser is there afterwards, without a word of it."""
    service = FakeScribe(["Still here."])
    stt = await connected(service)
    faults = collect(stt.events, SttFault)
    closed = collect(stt.events, SttClosed)
    for _ in range(100):
        await asyncio.sleep(180)
        service.connection.drop(1000, "idle")
    await asyncio.sleep(5)
    assert stt.is_connected and not faults and not closed
    finals = collect(stt.events, SttFinal)
    await say(stt)
    stt.flush_utterance()
    await asyncio.sleep(1)
    assert [final.text for final in finals] == ["Still here."]
    await stt.disconnect()


async def test_case_d25_a_connection_that_is_open_and_mute_is_replaced() -> None:
    """Half open: the peer acknowledges everything and never says a word. What was said is said again."""
    service = FakeScribe(["never arrives", "What time is it?"])
    stt = await connected(service)
    finals = collect(stt.events, SttFinal)
    service.connection.mute = True
    await say(stt)
    stt.flush_utterance()
    await asyncio.sleep(6)
    assert not finals
    await asyncio.sleep(3)
    assert [final.text for final in finals] == ["What time is it?"]
    assert len(service.connections) == 2 and service.connections[0].closed_by_client
    await stt.disconnect()


async def test_silence_is_no_sign_of_a_dead_connection() -> None:
    service = FakeScribe()
    stt = await connected(service)
    await say(stt, 1.0)  # a cough: nobody asks for a final, the service has nothing to say
    await asyncio.sleep(120)
    assert len(service.connections) == 1
    await stt.disconnect()


async def test_an_evening_of_noise_does_not_use_up_the_attempts() -> None:
    """Sound without words, for hours: the service has nothing to say, and that is no reason to give it up."""
    service = FakeScribe(["At last."])
    stt = await connected(service)
    closed = collect(stt.events, SttClosed)
    for _ in range(4 * 3600):
        stt.send_audio(speech(1.0))
        await asyncio.sleep(1)
    assert stt.is_connected and not closed
    assert len(service.connections) < 30
    finals = collect(stt.events, SttFinal)
    stt.flush_utterance()
    await asyncio.sleep(1)
    assert [final.text for final in finals] == ["At last."]
    await stt.disconnect()


async def test_a_connection_lost_in_mid_sentence_costs_no_words() -> None:
    service = FakeScribe(["I would like some tea."])
    stt = await connected(service)
    finals, faults = collect(stt.events, SttFinal), collect(stt.events, SttFault)
    await say(stt, 1.0)
    service.heard_samples = 0
    service.connection.drop(1011)
    await asyncio.sleep(0.01)
    assert not stt.is_connected
    await say(stt, 1.0)
    stt.flush_utterance()
    await asyncio.sleep(1)
    assert [final.text for final in finals] == ["I would like some tea."]
    assert service.heard_samples == 32_000, "the new connection heard both halves"
    assert not faults, "it was back before anybody had to know"
    await stt.disconnect()


async def test_attempts_come_at_growing_intervals_then_it_is_over_once() -> None:
    service = FakeScribe()
    stt = await connected(service)
    events = collect(stt.events, SttEvent)
    service.down = True
    dropped_at = clock.now()
    service.connection.drop()
    await asyncio.sleep(60)
    assert [event.type for event in events] == ["error", "close"], "trouble is told once, then the end once"
    assert events[0].error.code == "ERR_STT_CONNECTION"
    gaps = np.diff([dropped_at, *service.dialled_at[1:]])
    assert gaps == pytest.approx([0.5, 1.2, 2.2]), "half a second, one, two, each after a handshake that failed"
    assert not stt.is_connected
    service.down = False
    await stt.connect()
    assert stt.is_connected, "whoever connects again gets a new session"
    await stt.disconnect()


async def test_with_no_budget_it_never_gives_up() -> None:
    service = FakeScribe(["Back again."])
    stt = await connected(service, backoff=Backoff(first_s=0.5, cap_s=15))
    closed = collect(stt.events, SttClosed)
    service.down = True
    service.connection.drop()
    await asyncio.sleep(24 * 3600)
    service.down = False
    await asyncio.sleep(16)
    assert stt.is_connected and not closed
    await stt.disconnect()


async def test_a_source_of_tokens_that_fails_is_tried_again() -> None:
    service = FakeScribe()
    calls = 0

    async def get_token() -> str:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise RuntimeError("500 Internal Server Error")
        return f"token-{calls}"

    stt = ScribeStt(get_token=get_token, dial=service.dial)
    await stt.connect()
    faults = collect(stt.events, SttFault)
    service.connection.drop()
    await asyncio.sleep(5)
    assert stt.is_connected and calls == 3
    assert [fault.error.code for fault in faults] == ["ERR_STT_CONNECTION"]
    await stt.disconnect()


async def test_after_disconnect_nothing_happens_any_more() -> None:
    service = FakeScribe(["late"])
    stt = await connected(service)
    events = collect(stt.events, SttEvent)
    await say(stt)
    stt.flush_utterance()
    await asyncio.sleep(0.01)
    await stt.disconnect()
    await stt.disconnect()
    stt.send_audio(speech())
    await asyncio.sleep(60)
    assert events == []
    assert len(service.connections) == 1 and service.connection.closed_by_client
    service.finals = ["again"]
    await stt.connect()
    await say(stt)
    stt.flush_utterance()
    await asyncio.sleep(1)
    assert events == [SttFinal("again", "en")], "the old utterance is not sent to the new session"
    await stt.disconnect()


async def test_a_disconnect_stops_the_next_attempt() -> None:
    service = FakeScribe()
    stt = await connected(service)
    service.connection.drop()
    await asyncio.sleep(0.2)
    await stt.disconnect()
    await asyncio.sleep(60)
    assert len(service.dialled_at) == 1


async def test_a_disconnect_during_the_handshake_leaves_no_connection() -> None:
    service = FakeScribe()
    stt = ScribeStt(KEY, dial=service.dial)
    connecting = asyncio.create_task(stt.connect())
    await asyncio.sleep(0.1)
    await stt.disconnect()
    with pytest.raises(GloveVoiceError, match="disconnected"):
        await connecting
    assert service.connection.closed_by_client and not stt.is_connected


async def test_a_listener_may_disconnect() -> None:
    service = FakeScribe(["stop"])
    stt = await connected(service)
    finals = collect(stt.events, SttFinal)
    leaving: list[asyncio.Task[None]] = []
    stt.events.on(SttFinal, lambda _: leaving.append(asyncio.get_running_loop().create_task(stt.disconnect())))
    await say(stt)
    stt.flush_utterance()
    await asyncio.sleep(10)
    assert len(finals) == 1 and leaving[0].done() and service.connection.closed_by_client


@pytest.mark.parametrize(
    ("refusal", "code"),
    [
        (ConnectionRefused(401, "bad key sk_very-secret-key"), "ERR_STT_AUTH"),
        (ConnectionRefused(403, "no"), "ERR_STT_AUTH"),
        (ConnectionRefused(429, "busy"), "ERR_STT_LIMIT"),
        (ConnectionRefused(503, "down"), "ERR_STT_CONNECTION"),
        (ConnectionRefused(404, "no such model"), "ERR_STT_REQUEST"),
        (ConnectionRefused(None, "TimeoutError"), "ERR_STT_CONNECTION"),
    ],
)
async def test_a_refusal_says_what_to_do(refusal: ConnectionRefused, code: str) -> None:
    service = FakeScribe()
    service.refusals = [refusal]
    stt = ScribeStt(KEY, dial=service.dial)
    with pytest.raises(GloveVoiceError) as caught:
        await stt.connect()
    assert caught.value.code == code
    assert caught.value.remedy
    assert KEY not in str(caught.value)
    assert not stt.is_connected
    await stt.connect()
    assert stt.is_connected, "a refused session can be opened again"
    await stt.disconnect()


@pytest.mark.parametrize(
    ("kind", "code", "recovers"),
    [
        ("session_time_limit_exceeded", None, True),
        ("transcriber_error", None, True),
        ("queue_overflow", None, True),
        ("resource_exhausted", None, True),
        ("rate_limited", None, True),
        ("error", None, True),
        ("quota_exceeded", None, True),
        ("auth_error", "ERR_STT_AUTH", False),
        ("unaccepted_terms", "ERR_STT_AUTH", False),
        ("invalid_request", "ERR_STT_REQUEST", True),
        ("input_error", "ERR_STT_REQUEST", True),
        ("chunk_size_exceeded", "ERR_STT_REQUEST", True),
    ],
)
async def test_every_complaint_of_the_service_has_a_meaning(kind: str, code: str | None, recovers: bool) -> None:
    service = FakeScribe(["fine"])
    stt = await connected(service)
    faults, closed = collect(stt.events, SttFault), collect(stt.events, SttClosed)
    service.complain(kind, f"because {KEY}")
    await asyncio.sleep(5)
    assert [fault.error.code for fault in faults] == ([code] if code else [])
    assert all(KEY not in str(fault.error) for fault in faults)
    assert bool(closed) is not recovers
    assert stt.is_connected is recovers
    await stt.disconnect()


async def test_the_key_is_in_no_log_line(capsys: pytest.CaptureFixture[str]) -> None:
    service = FakeScribe()
    await connected(service)
    service.refusals = [ConnectionRefused(500, f"while reading {KEY}")] * 3
    service.connection.drop(1011, f"oops {KEY}")
    await asyncio.sleep(60)
    out = capsys.readouterr()
    assert "in trouble" in out.out + out.err
    assert KEY not in out.out + out.err


async def test_nothing_grows_while_the_service_is_away() -> None:
    service = FakeScribe()
    stt = await connected(service, backoff=Backoff(first_s=0.5, cap_s=15))
    service.down = True
    service.connection.drop()
    for _ in range(600):
        stt.send_audio(speech(1.0))
        await asyncio.sleep(1)
    assert stt.dropped_samples >= 560 * 16_000
    service.down = False
    service.heard_samples = 0
    await asyncio.sleep(20)
    assert service.heard_samples <= 31 * 16_000
    await stt.disconnect()
