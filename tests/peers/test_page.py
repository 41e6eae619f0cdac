"""The page in a real browser: speaking, typing, answering, with a scripted agent and once with the real ears."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from agents.base.errors import GloveError
from agents.core.display import QuestionClosed, SlotTouched
from agents.core.messages import ToolResultData
from agents.core.tool import NoArgs, Tool, ToolContext
from agents.models.scripted import Call, ScriptedModel
from appliance.web.api import make_app, serve
from appliance.web.auth import new_token
from appliance.web.pages import load_assets
from audio.events import AttentionChanged
from audio.tts.base import AudioChunk, TtsDone, TtsFactory
from audio.voice import GloveVoice
from realtime.browser.lead_player import LeadPlayer
from realtime.browser.room import PcmRoom
from tests.peers.browser import Chromium, chromium, microphone
from tests.realtime.peer import until
from tests.realtime.server import place

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.realtime
LONG = "One two three four five six seven eight nine ten eleven twelve."


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A browser whose microphone hears a tone."""
    folder = tmp_path_factory.mktemp("chromium")
    tone = (8000 * np.sin(np.arange(48_000 * 60) * 2 * np.pi * 440 / 48_000)).astype(np.int16)
    with chromium(folder / "profile", microphone(folder / "tone.wav", tone, 48_000)) as running:
        yield running


async def ready(page: Page, address: str) -> None:
    await page.goto(address)
    await page.wait_for_selector("body[data-mode=idle]")


def over(via: str, address: str) -> str:
    """The address of the page that takes that way to the room."""
    return address.replace("/#", f"/?via={via}#")


async def type_line(page: Page, words: str) -> None:
    await page.fill("#typed", words)
    await page.press("#typed", "Enter")


async def test_the_address_with_the_token_opens_the_room_and_loses_the_token(browser: Chromium) -> None:
    async with place("It is noon.") as here, browser.page() as page:
        await ready(page, here.server.address(here.token))
        assert here.token not in page.url
        await page.reload()
        await page.wait_for_selector("body[data-mode=idle]")
        assert await page.evaluate("document.cookie") == ""


async def test_without_the_token_the_page_says_what_to_do(browser: Chromium) -> None:
    async with place() as here, browser.page() as page:
        await page.goto(here.http)
        await page.wait_for_selector("body[data-mode=refused]")
        assert "glove run" in await page.inner_text("#notice")
        assert await page.is_disabled("#talk")


@pytest.mark.parametrize("via", ["websocket", "webrtc"])
async def test_a_typed_line_is_answered_in_words_and_sound_and_played_to_its_end(
    browser: Chromium, monkeypatch: pytest.MonkeyPatch, via: str
) -> None:
    reports: list[int] = []
    ends: list[int] = []
    report, heard_all = LeadPlayer.report, LeadPlayer.heard_all
    monkeypatch.setattr(LeadPlayer, "report", lambda self, epoch, at: (reports.append(at), report(self, epoch, at))[1])
    monkeypatch.setattr(LeadPlayer, "heard_all", lambda self, turn: (ends.append(turn), heard_all(self, turn))[1])
    async with place(LONG) as here, browser.page() as page:
        await ready(page, over(via, here.server.address(here.token)))
        assert await page.get_attribute("body", "data-via") == via
        await type_line(page, "count")
        await page.wait_for_selector("body[data-mode=speaking]")
        await page.wait_for_selector("body[data-mode=idle]")
        assert await page.inner_text("[data-glove-role=user] p") == "count"
        assert await page.inner_text("[data-glove-role=agent] p") == LONG
        assert "s" in await page.inner_text("#total")
        await until(lambda: ends, 5)
        player = here.house.session.room.player
        assert reports == sorted(reports) and len(reports) > 10
        assert 0.9 * player.played_total <= reports[-1] <= player.played_total
        assert len(ends) == 1


@pytest.mark.parametrize("via", ["websocket", "webrtc"])
async def test_stop_cuts_the_answer_and_shows_what_was_heard(browser: Chromium, via: str) -> None:
    async with place(LONG) as here, browser.page() as page:
        await ready(page, over(via, here.server.address(here.token)))
        await type_line(page, "count")
        await page.wait_for_selector("body[data-mode=speaking]")
        await asyncio.sleep(1.0)
        await page.click("#stop")
        await page.wait_for_selector("[data-glove-heard=interrupted] s")
        rest = await page.inner_text("[data-glove-heard=interrupted] s")
        assert rest.strip().endswith("twelve.") and "one" not in rest.lower()
        await page.wait_for_selector("body[data-mode=idle]")


async def test_a_question_is_answered_with_a_button(browser: Chromium) -> None:
    async def run(_: NoArgs, context: ToolContext) -> ToolResultData:
        return ToolResultData(data="opened")

    tool = Tool(name="open_door", description="Open.", run=run, args=NoArgs, requires_permission=True)
    model = ScriptedModel([Call("open_door", {"which": "<img src=x onerror=alert(1)>"}), "It is open."])
    async with place(tools=(tool,), model=model) as here, browser.page() as page:
        await ready(page, here.server.address(here.token))
        await type_line(page, "open the door")
        await page.wait_for_selector("[data-glove-blocking]")
        assert await page.inner_text(".glove-card h3") == "May I use open door?"
        assert "<img" in await page.inner_text(".glove-card") and await page.locator(".glove-card img").count() == 0
        await page.click(".glove-card button:has-text('Allow')")
        await page.wait_for_selector("[data-glove-role=agent] p:has-text('It is open.')")
        assert await page.locator(".glove-card").count() == 0


async def test_a_question_is_answered_by_keyboard_and_is_waited_for_while_somebody_types(browser: Chromium) -> None:
    async with place("Hello.") as here, browser.page() as page:
        await ready(page, here.server.address(here.token))
        display = here.house.agent.display
        touched: list[object] = []
        display.events.on(SlotTouched, touched.append)
        asking = asyncio.create_task(display.push_and_wait("text_input", {"prompt": "Your name?"}))
        await page.wait_for_selector("[data-glove-blocking] input")
        assert "Your name?" in await page.inner_text("#spoken")
        await page.focus("#talk")
        for _ in range(5):
            await page.keyboard.press("Shift+Tab")
            if await page.evaluate("document.activeElement.getAttribute('aria-label')") == "Your name?":
                break
        await page.keyboard.type("Ada Lovelace")
        await page.keyboard.press("Enter")
        assert await asyncio.wait_for(asking, 5) == "Ada Lovelace"
        assert len(touched) == 1


async def test_a_question_that_is_refused_on_the_page_is_over(browser: Chromium) -> None:
    async with place("Hello.") as here, browser.page() as page:
        await ready(page, here.server.address(here.token))
        asking = asyncio.create_task(here.house.agent.display.push_and_wait("text_input", {"prompt": "Your name?"}))
        await page.click("[data-glove-answer=refuse]")
        with pytest.raises(QuestionClosed, match="refused"):
            await asyncio.wait_for(asking, 5)
        await page.wait_for_selector("[data-glove-slot]", state="detached")


async def test_hostile_words_do_nothing_on_the_page(browser: Chromium) -> None:
    hostile = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>'
    async with place(hostile) as here, browser.page() as page:
        await ready(page, here.server.address(here.token))
        await here.house.agent.display.push_and_forget("show_info_card", {"title": hostile, "content": hostile})
        await type_line(page, hostile)
        await page.wait_for_selector("[data-glove-role=agent] p:has-text('onerror')")
        await page.wait_for_selector(".glove-card h3:has-text('onerror')")
        assert await page.inner_text("[data-glove-role=user] p") == hostile
        assert await page.locator("#transcript img, #transcript script").count() == 0
        assert await page.evaluate("window.hurt") is None


async def test_a_reload_brings_back_tools_questions_tasks_and_what_was_heard(browser: Chromium) -> None:
    todo = {"content": "Sweep", "activeForm": "Sweeping", "status": "in_progress"}
    model = ScriptedModel([Call("glove_update_tasks", {"todos": [todo]}), "All is planned.", LONG])
    async with place(model=model) as here, browser.page() as page:
        await ready(page, here.server.address(here.token))
        await type_line(page, "plan")
        await page.wait_for_selector("[data-glove-heard=complete] p:has-text('All is planned.')")
        await type_line(page, "count")
        await page.wait_for_selector("body[data-mode=speaking]")
        await asyncio.sleep(1.0)
        await page.click("#stop")
        await page.wait_for_selector("[data-glove-heard=interrupted] s")
        await here.house.agent.display.push_and_forget("show_info_card", {"title": "Note", "content": "Mind the step."})
        await page.wait_for_selector(".glove-card:has-text('Mind the step.')")
        conversation = "document.getElementById('conversation').innerText"
        before = await page.evaluate(conversation)
        assert "glove update tasks" in before and "interrupted" in before
        assert "Sweeping" in await page.inner_text("#records [data-glove-status=in_progress]")
        await page.reload()
        await page.wait_for_selector("body[data-mode=idle]")
        await page.wait_for_selector(".glove-card:has-text('Mind the step.')")
        assert await page.evaluate(conversation) == before
        assert "planned" not in await page.inner_text("#spoken")  # nothing old is read out as news
        assert await page.locator("#records li").count() == 1


async def test_an_announcement_is_shown_while_it_is_spoken(browser: Chromium) -> None:
    async with place("Hello.") as here, browser.page() as page:
        await ready(page, here.server.address(here.token))
        ringing = asyncio.create_task(here.house.session.voice.announce("Your tea timer is ringing.", urgent=True))
        await page.wait_for_selector("[data-glove-announcement] p:has-text('Your tea timer is ringing.')")
        assert await page.get_attribute("[data-glove-announcement]", "data-glove-heard") is None
        await asyncio.wait_for(ringing, 20)
        await page.wait_for_selector("[data-glove-announcement][data-glove-heard=complete]")
        assert "Announcement" in await page.inner_text("[data-glove-announcement] .glove-who")


async def test_the_page_says_in_words_what_is_listened_for(browser: Chromium, monkeypatch: pytest.MonkeyPatch) -> None:
    attention = ["asleep"]
    monkeypatch.setattr(GloveVoice, "attention", property(lambda _: attention[0]))
    monkeypatch.setattr(PcmRoom, "hear", lambda self, data: None)  # nobody speaks
    async with place("Hello.") as here, browser.page() as page:
        await ready(page, here.server.address(here.token))
        await page.click("#talk")
        await page.wait_for_selector("body[data-mode=asleep]")
        for state, words in (("asleep", "wake word"), ("follow_up", "Go on"), ("sounding", "stop")):
            attention[0] = state
            here.house.session.voice.emit(AttentionChanged(0.0, state))
            await page.wait_for_function(
                "words => document.getElementById('state').textContent.includes(words)", arg=words
            )


async def test_holding_the_space_bar_talks_and_letting_go_anywhere_ends_it(browser: Chromium) -> None:
    async with place("Hello.") as here, browser.page() as page:
        await ready(page, here.server.address(here.token))
        voice = here.house.session.voice
        calls: list[str] = []
        for name in ("ptt_down", "ptt_up", "ptt_cancel"):
            real = getattr(voice, name)
            setattr(voice, name, lambda name=name, real=real: (calls.append(name), real())[1])
        await page.focus("#typed")
        await page.keyboard.press("Space")  # a space in a line is a space
        assert await page.input_value("#typed") == " "
        await page.evaluate("document.activeElement.blur()")
        await page.keyboard.down("Space")
        await page.keyboard.down("Space")  # the key repeats
        await page.wait_for_selector("#talk:has-text('Release to send')")
        await until(lambda: voice.ptt_held, 5)
        await asyncio.sleep(0.5)
        await page.focus("#typed")
        await page.keyboard.up("Space")
        await until(lambda: calls == ["ptt_down", "ptt_up"], 5)
        assert not voice.ptt_held
        await page.wait_for_selector("#talk[aria-pressed=false]")
        await page.evaluate("document.activeElement.blur()")
        await page.keyboard.press("Space", delay=50)
        await page.wait_for_selector("#talk[aria-pressed=true]")
        await asyncio.sleep(0.6)
        assert "ptt_up" not in calls[2:] and not voice.ptt_held


async def test_a_short_hold_is_still_long_enough_to_be_heard(browser: Chromium) -> None:
    async with place("Hello.") as here, browser.page() as page:
        await page.goto(here.http)
        took = await page.evaluate(
            """async () => {
              const { TalkButton } = await import("/client/talk-button.js");
              const times = [];
              let began = 0;
              const on = { down: () => times.push("down"), up: () => times.push(performance.now() - began),
                           cancel: () => times.push("cancel"), toggle: () => times.push("toggle") };
              const button = new TalkButton(document.createElement("button"), on);
              const held = async (ms) => {
                began = performance.now();
                button.press({ timeStamp: performance.now() });
                while (performance.now() - began < ms) await 0;
                button.release({ timeStamp: performance.now() });
                await new Promise((resolve) => setTimeout(resolve, 200));
              };
              await held(100);
              await held(310);
              began = performance.now();
              button.press({ timeStamp: performance.now() });
              while (performance.now() - began < 310) await 0;
              button.release({ timeStamp: performance.now() });
              button.press({ timeStamp: performance.now() });
              await new Promise((resolve) => setTimeout(resolve, 400));
              button.release({ timeStamp: performance.now() });
              await new Promise((resolve) => setTimeout(resolve, 100));
              return times;
            }"""
        )
        assert took[:3] == ["down", "cancel", "toggle"]
        assert took[3] == "down" and 345 <= took[4] <= 450
        # Pressed again before the recording has ended: it goes on, as one.
        assert took[5] == "down" and took[6] >= 700 and len(took) == 7


async def test_a_click_on_a_busy_page_is_no_hold(browser: Chromium) -> None:
    async with place("Hello.") as here, browser.page() as page:
        await page.goto(here.http)
        took = await page.evaluate(
            """async () => {
              const { TalkButton } = await import("/client/talk-button.js");
              const seen = [];
              const on = Object.fromEntries(
                ["down", "up", "cancel", "toggle"].map((name) => [name, () => seen.push(name)]));
              const button = new TalkButton(document.createElement("button"), on);
              const { timeStamp } = new Event("click");
              button.press({ timeStamp });
              await new Promise((resolve) => setTimeout(resolve, 500));
              button.release({ timeStamp: timeStamp + 90 });
              return seen;
            }"""
        )
        assert took == ["down", "cancel", "toggle"]


async def test_cards_and_timers_come_and_go(browser: Chromium) -> None:
    async with place("Hello.") as here, browser.page() as page:
        await ready(page, here.server.address(here.token))
        display, timers = here.house.agent.display, here.house.session.mind.timers
        await display.push_and_forget("generic", {"title": "Shopping", "items": ["milk", "bread"]})
        await page.wait_for_selector(".glove-card li:has-text('bread')")
        await page.click(".glove-card button:has-text('Dismiss')")
        await until(lambda: display.stack == (), 5)
        asking = asyncio.create_task(
            display.push_and_wait("generic", {"question": "Which?", "options": ["red", "blue"]})
        )
        await page.click(".glove-card button:has-text('blue')")
        assert await asyncio.wait_for(asking, 5) == "blue"
        await timers.set_timer(600, "tea")
        await page.wait_for_selector("#timer-list output:has-text('9:5')")
        await page.click("#timer-list button")
        await until(lambda: timers.running() == [], 5)
        await page.wait_for_selector("#timers", state="hidden")


async def test_a_click_keeps_the_microphone_open_and_another_gives_it_back(browser: Chromium) -> None:
    async with place("Hello.") as here, browser.page() as page:
        await ready(page, here.server.address(here.token))
        source = here.house.session.room.microphone
        got: list[int] = []
        push = source.push
        source.push = lambda pcm: (got.append(pcm.size), push(pcm))[1]  # type: ignore[method-assign]
        await page.click("#talk")
        await page.wait_for_selector("#talk[aria-pressed=true]")
        await until(lambda: len(got) > 50, 10)
        assert set(got) == {320}
        await page.click("#mute")
        await page.wait_for_selector("#mute[aria-pressed=true]")
        await until(lambda: here.house.session.voice.is_muted, 5)
        silent_from = len(got)
        await asyncio.sleep(0.3)
        assert len(got) <= silent_from + 2
        await page.click("#mute")
        await until(lambda: len(got) > silent_from + 20, 5)
        await page.click("#talk")
        await page.wait_for_selector("#talk[aria-pressed=false]")
        silent_from = len(got)
        await asyncio.sleep(0.3)
        assert len(got) <= silent_from + 2


async def test_a_refused_microphone_is_explained_and_typing_still_works(browser: Chromium) -> None:
    async with place("Hello.") as here, browser.page(allowed=False) as page:
        await ready(page, here.server.address(here.token))
        await page.click("#talk")
        await page.wait_for_selector("#notice:not([hidden])")
        assert "microphone" in (await page.inner_text("#notice")).lower()
        await type_line(page, "hi")
        await page.wait_for_selector("[data-glove-role=agent]")


async def test_a_second_window_takes_over_and_the_first_can_take_back(browser: Chromium) -> None:
    async with place("Hello.") as here, browser.page() as page:
        await ready(page, here.server.address(here.token))
        other = await page.context.new_page()
        await ready(other, here.http)
        await page.wait_for_selector("body[data-mode=replaced]")
        await page.click("#take-over")
        await page.wait_for_selector("body[data-mode=idle]")
        await other.wait_for_selector("body[data-mode=replaced]")


async def test_a_lost_connection_is_taken_up_again_with_the_conversation(browser: Chromium) -> None:
    async with place("Hello.", "Again.") as here, browser.page() as page:
        await ready(page, here.server.address(here.token))
        await type_line(page, "hi")
        await page.wait_for_selector("[data-glove-role=agent] p:has-text('Hello.')")
        await here.house.session.close()
        await page.wait_for_selector("body[data-mode=lost]")
        await page.wait_for_selector("body[data-mode=idle]")
        await type_line(page, "and now")
        await page.wait_for_selector("[data-glove-role=agent] p:has-text('Again.')")


@pytest.mark.parametrize(("via", "sender"), [("websocket", "WebSocket"), ("webrtc", "RTCDataChannel")])
async def test_a_connection_of_which_only_the_page_still_knows_is_given_up(
    browser: Chromium, via: str, sender: str
) -> None:
    async with place("Hello.") as here, browser.page() as page:
        await ready(page, over(via, here.server.address(here.token)))
        assert await page.get_attribute("body", "data-via") == via
        # As after a sleep: what is sent goes nowhere, and nothing says so.
        await page.evaluate(f"{sender}.prototype.send = () => undefined")
        await page.evaluate(
            "window.modes = []; const note = () => modes.push(document.body.dataset.mode);"
            "new MutationObserver(note).observe(document.body, { attributes: true });"
            "window.dispatchEvent(new Event('online'))"
        )
        async with asyncio.timeout(15):
            while not await page.evaluate("modes.includes('connecting') && document.body.dataset.mode === 'idle'"):
                await asyncio.sleep(0.1)


async def test_a_hand_that_is_impatient_takes_over_once(browser: Chromium) -> None:
    async with place("Hello.") as here, browser.page() as page:
        await ready(page, here.server.address(here.token))
        async with here.call():
            await page.wait_for_selector("#take-over:not([hidden])")
            await page.evaluate("for (let i = 0; i < 5; i++) document.getElementById('take-over').click()")
            await page.wait_for_selector("body[data-mode=idle]")
            await asyncio.sleep(0.5)
            await type_line(page, "hello")
            await page.wait_for_selector("[data-glove-role=agent]")


async def test_a_foreign_page_cannot_reach_the_room_with_the_users_cookie(browser: Chromium) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<title>evil</title>")
        await writer.drain()
        writer.close()

    async with place("Hello.") as here, browser.page() as page:
        await ready(page, here.server.address(here.token))
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as evil:
            foreign = await page.context.new_page()
            await foreign.goto(f"http://127.0.0.1:{evil.sockets[0].getsockname()[1]}/")
            outcome = await foreign.evaluate(
                "url => new Promise(done => { const s = new WebSocket(url);"
                " s.onopen = () => done('open'); s.onerror = () => done('refused'); })",
                here.ws,
            )
        assert outcome == "refused"
        assert await page.get_attribute("body", "data-mode") == "idle"


async def test_the_page_speaks_german_and_fits_a_small_telephone_in_the_dark(browser: Chromium) -> None:
    options: dict[str, Any] = {"locale": "de-DE", "viewport": {"width": 360, "height": 640}, "color_scheme": "dark"}
    async with place("Hallo.") as here, browser.page(**options, reduced_motion="reduce") as page:
        await ready(page, here.server.address(here.token))
        assert await page.inner_text("#state") == "Bereit"
        assert await page.get_attribute("html", "lang") == "de"
        await type_line(page, "x" * 300)
        await page.wait_for_selector("[data-glove-role=agent]")
        assert await page.evaluate("document.documentElement.scrollWidth") == 360
        for control in await page.query_selector_all("footer button"):
            box = await control.bounding_box()
            assert box is not None and box["height"] >= 44 and box["x"] + box["width"] <= 360
        ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert sum(int(part) for part in ground.removeprefix("rgb(").removesuffix(")").split(",")) < 150
        assert await page.evaluate("getComputedStyle(document.querySelector('.orb i')).animationName") == "none"


async def test_every_control_has_a_name_and_both_languages_have_every_string(browser: Chromium) -> None:
    async with place("Hello.") as here, browser.page() as page:
        await ready(page, here.server.address(here.token))
        unnamed = await page.evaluate(
            "[...document.querySelectorAll('button, input, [role=meter]')].filter(e => !(e.textContent.trim()"
            " || e.getAttribute('aria-label') || e.labels?.length)).map(e => e.id)"
        )
        assert unnamed == []
        source = load_assets()["strings.js"].content.decode()
        english, german = source.split("\n  de: {")
        keys = [set(re.findall(r"^    (\w+):", part, re.MULTILINE)) for part in (english, german)]
        assert keys[0] == keys[1] and len(keys[0]) > 40


async def test_the_resampler_keeps_speech_and_lets_nothing_fold_back(browser: Chromium) -> None:
    async with place() as here, browser.page() as page:
        await page.goto(here.http)
        levels = await page.evaluate(
            """async () => {
              const { Resampler } = await import("/client/resampler.js");
              const level = (from, to, hertz) => {
                const resampler = new Resampler(from, to);
                const out = [];
                for (let at = 0; at < from; at += 128) {
                  const wave = (i) => Math.sin((2 * Math.PI * hertz * (at + i)) / from);
                  const block = Float32Array.from({ length: 128 }, (_, i) => wave(i));
                  out.push(...resampler.push(block));
                }
                const steady = out.slice(out.length / 4, (3 * out.length) / 4);
                const power = steady.reduce((sum, x) => sum + x * x, 0) / steady.length;
                return [out.length, 10 * Math.log10(2 * power + 1e-12)];
              };
              return [[48000, 16000, 1000], [44100, 16000, 6500], [48000, 16000, 9500], [44100, 16000, 15000],
                      [16000, 48000, 3000], [16000, 44100, 6500]].map((row) => level(...row));
            }"""
        )
        (counts, decibels) = zip(*levels, strict=True)
        assert all(abs(count - rate) < 300 for count, rate in zip(counts, [16e3] * 4 + [48e3, 44.1e3], strict=True))
        for kept in (decibels[0], decibels[1], decibels[4], decibels[5]):
            assert abs(kept) < 0.5
        assert max(decibels[2], decibels[3]) < -50


@pytest.fixture
def weights() -> None:
    from appliance.config.schema import GloveConfig
    from appliance.session.stock import needed_weights, weights_store

    config = GloveConfig()
    try:
        weights_store(config).pull(needed_weights(config))
    except GloveError as fault:
        pytest.skip(fault.message)


@pytest.mark.parametrize("via", ["websocket", "webrtc"])
async def test_somebody_speaks_to_the_page_and_is_answered(tmp_path: Path, weights: None, via: str) -> None:
    from appliance.config.keeping import StoreConfig
    from appliance.config.schema import GloveConfig
    from appliance.config.speech import ModelConfig
    from appliance.session.build import load_parts

    parts = await load_parts(GloveConfig(model=ModelConfig(provider="none"), store=StoreConfig(path="memory")))
    spoken = microphone(tmp_path / "question.wav", *await voice(parts.voices, "What time is it in Tokyo?"))
    token = new_token()
    server = await serve(make_app(lambda room: parts.session(room, name="page"), token), port=0)
    try:
        with chromium(tmp_path / "profile", spoken) as running:
            async with running.page() as page:
                await ready(page, over(via, server.address(token)))
                assert await page.get_attribute("body", "data-via") == via
                await page.press("#talk", "Enter")  # a click that a busy browser cannot stretch into a hold
                await page.wait_for_selector("[data-glove-role=user] p:has-text('Tokyo')")
                await page.wait_for_selector("[data-glove-role=agent] p:has-text('In Tokyo it is')")
                await page.wait_for_selector("body[data-mode=listening]")
                sides = "[data-glove-role=user], [data-glove-role=agent]"
                assert await page.locator(sides).count() == 2
                # The same words, whatever way they came.
                assert await page.inner_text("[data-glove-role=user] p") == "What time is it in Tokyo?"
    finally:
        await server.close()
        await parts.close()


async def voice(voices: TtsFactory, text: str) -> tuple[np.ndarray, int]:
    """``text`` in the appliance's own voice, after a second of silence and before a long one."""
    adapter, done = voices("en"), asyncio.Event()
    pieces: list[np.ndarray] = []
    adapter.events.on(AudioChunk, lambda event: pieces.append(event.pcm))
    adapter.events.on(TtsDone, lambda _: done.set())
    await adapter.open()
    adapter.send_text(text)
    adapter.flush()
    await asyncio.wait_for(done.wait(), 30)
    rate = adapter.sample_rate_hz
    await adapter.destroy()
    return np.concatenate([np.zeros(rate, np.int16), *pieces, np.zeros(20 * rate, np.int16)]), rate


async def test_each_turn_has_a_strip_of_its_stages_with_their_lengths_in_words(browser: Chromium) -> None:
    async with place("It is noon.", LONG) as here, browser.page() as page:
        await ready(page, here.server.address(here.token))
        assert await page.is_hidden("#timings")
        await type_line(page, "what time is it")
        await page.wait_for_selector("#turns .turn.complete", state="attached")
        await page.click("#total")  # anywhere on the line opens it
        strip = page.get_by_role("img", name=re.compile(r"Thinking \d+ ms, First sentence \d+ ms, Voice \d+ ms"))
        assert await strip.is_visible()
        names = await page.eval_on_selector_all("#turns .strip i", "parts => parts.map((part) => part.className)")
        assert names == ["silence", "recognition", "hold", "agent", "sentence", "voice", "playout"]
        lengths = [float(text.split()[0]) for text in await page.locator("#turns dd").all_inner_texts()]
        total = re.search(r"Turn 1 · Typed · answered after (\d+) ms", await page.inner_text("#turns .turn-head"))
        assert total is not None
        assert sum(lengths[:7]) == pytest.approx(float(total[1]), abs=4), "the stages add up to the latency"
        shares = await page.eval_on_selector_all("#turns .strip i", "parts => parts.map((part) => part.clientWidth)")
        assert shares[5] == max(shares), "the scripted voice is what takes long"

        await type_line(page, "count")
        await page.wait_for_selector("body[data-mode=speaking]")
        await page.click("#stop")
        await page.wait_for_selector("#turns .turn.cut")
        heads = await page.locator("#turns .turn-head").all_inner_texts()
        assert "Turn 2" in heads[0] and "cut short" in heads[0] and "Turn 1" in heads[1], "the newest is first"
        assert await page.locator("#turns dl").count() == 1


async def test_a_strip_tells_of_pauses_tools_and_turns_that_nobody_heard(browser: Chromium) -> None:
    turn = {
        "turn": 3,
        "source": "speech",
        "outcome": "complete",
        "stages": [["speech", -900, 0], ["silence", 0, 450], ["hold", 450, 700], ["agent", 700, 1000]],
        "pauses": [{"at_ms": 2000, "decided_ms": 2410, "cut": False}],
        "tools": [{"name": "<b>clock", "at_ms": 800, "end_ms": 950, "status": "success"}],
    }
    unheard = {**turn, "turn": 4, "outcome": "unheard", "pauses": [], "tools": []}
    async with place("Hello.") as here, browser.page(locale="de-DE") as page:
        await ready(page, here.server.address(here.token))
        await page.evaluate(
            """async ([turn, unheard]) => {
              const { showTurn } = await import("/timings.js");
              showTurn({ ms: 1000, data: turn });
              document.getElementById("timings").open = true;
              window.words = document.querySelector("#turns dl").innerText;
              for (let number = 0; number < 20; number += 1) showTurn({ ms: null, data: unheard });
            }""",
            [turn, unheard],
        )
        words = await page.evaluate("window.words")
        assert "Angehalten, dann fortgesetzt" in words and "410 ms" in words and "<b>clock" in words
        assert await page.locator("#turns > li").count() == 5, "old ones make room"
        assert "nichts war zu hören" in await page.inner_text("#turns li:first-child .turn-head")
        assert await page.inner_text("#total") == "1.00 s"
