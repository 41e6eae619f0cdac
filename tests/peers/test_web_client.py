"""The browser's client in a real browser: with an agent on the server, and with one in the page itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import FileResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agents.core.glove import Glove
from agents.core.messages import ToolResultData
from agents.core.tool import NoArgs, Tool, ToolContext
from agents.models.scripted import Call, Hang, Say, ScriptedModel
from agents.stores.memory import MemoryStore
from agents.web.chat_handler import create_chat_handler
from agents.web.gate import allow_all
from agents.web.routes import web_routes
from agents.web.tools.ready_made import fold_ready_made
from tests.agents.models.fake_openai import FakeOpenAi, call, chunk, says, usage
from tests.agents.models.fake_server import Answer
from tests.peers.browser import Chromium, chromium, microphone

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.realtime
PAGE = Path(__file__).parent / "chat_page"
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    b" base-uri 'none'; form-action 'none'"
)
HOSTILE = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script> javascript:window.hurt=1 " onclick="x'
PIXEL = "data:image/png;base64,iVBORw0KGgo="
OPTIONS = [{"label": "Red wine", "value": "red"}, {"label": "White wine", "value": "white"}]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    folder = tmp_path_factory.mktemp("chromium")
    silence = microphone(folder / "silence.wav", np.zeros(16_000, np.int16), 16_000)
    with chromium(folder / "profile", silence) as running:
        yield running


class _Strict:
    """The strictest content policy that a page can have."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def strict(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"content-security-policy", POLICY)]
            await send(message)

        await self._app(scope, receive, strict)


class Chat:
    """A running chat server; agents share one script."""

    def __init__(self, address: str, gloves: dict[str, Glove]) -> None:
        self.address = address
        self.gloves = gloves

    @property
    def glove(self) -> Glove:
        (only,) = self.gloves.values()
        return only

    async def results(self) -> list[Any]:
        """What the model was told by its tools."""
        messages = await self.glove.store.get_messages()
        return [each.result.data for message in messages for each in message.tool_results or ()]


@asynccontextmanager
async def chat(*replies: Any, tools: tuple[Tool[Any], ...] = (), proxy: ASGIApp | None = None) -> AsyncIterator[Chat]:
    gloves: dict[str, Glove] = {}
    model = ScriptedModel(list(replies))

    def open_agent(session_id: str) -> Glove:
        glove = fold_ready_made(Glove(model=model, system_prompt="Be brief.", store=MemoryStore(session_id)))
        for tool in tools:
            glove.fold(tool)
        gloves[session_id] = glove
        return glove.build()

    stores: dict[str, MemoryStore] = {}
    routes = [
        Route("/", lambda _: FileResponse(PAGE / "index.html")),
        Route("/page/chat.js", lambda _: FileResponse(PAGE / "chat.js")),
        *web_routes(allow_all, agent=open_agent),
        *web_routes(
            allow_all,
            store=lambda session_id: stores.setdefault(session_id, MemoryStore(session_id)),
            chat=proxy,
            prefix="/proxy",
            client_path="",
        ),
    ]
    app = Starlette(routes=routes, middleware=[Middleware(_Strict)])
    config = uvicorn.Config(app, port=0, lifespan="off", log_config=None, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server._serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield Chat(f"http://127.0.0.1:{port}/", gloves)
    finally:
        server.should_exit = True
        await serving


async def say(page: Page, text: str) -> None:
    await page.fill("[data-glove-role=input] input", text)
    await page.press("[data-glove-role=input] input", "Enter")


async def texts(page: Page) -> list[str]:
    return await page.locator("[data-glove-role=user] > p, [data-glove-role=agent] > p").all_inner_texts()


def agent_says(text: str) -> str:
    return f"[data-glove-role=agent]:not([data-glove-streaming]) p:has-text('{text}')"


async def test_a_conversation_streams_shows_its_tools_and_is_there_again_after_a_reload(browser: Chromium) -> None:
    async def look(_: NoArgs, context: ToolContext) -> ToolResultData:
        return ToolResultData(data={"sky": "blue"})

    tool = Tool(name="look_up", description="Look.", run=look, args=NoArgs)
    replies = ([Say("Let me look."), Call("look_up")], [Say("It is blue. "), Say("Very blue.", delay_s=1.0)], "Again.")
    async with chat(*replies, tools=(tool,)) as here, browser.page() as page:
        await page.goto(here.address)
        await say(page, "What colour is the sky?")
        await page.wait_for_selector("[data-glove-streaming] p:has-text('It is blue.')")
        assert await page.is_disabled("[data-glove-role=input] button[type=submit]")
        await page.wait_for_selector(agent_says("Very blue."))
        shown = ["What colour is the sky?", "Let me look.", "It is blue. Very blue."]
        assert await texts(page) == shown
        assert await page.get_attribute("[data-glove-role=tool]", "data-glove-status") == "success"
        await page.click("[data-glove-role=tool] summary")
        assert '{"sky":"blue"}' in await page.inner_text("[data-glove-role=tool] pre")
        await page.reload()
        await page.wait_for_selector(agent_says("Very blue."))
        assert await texts(page) == shown
        await say(page, "Once more")
        await page.wait_for_selector(agent_says("Again."))
        assert await page.locator("[data-glove-role=user]").count() == 2


CONFIRM = Call("confirm_action", {"title": "Delete all?", "message": "It cannot be undone."})
FORM_FIELDS = [
    {"name": "who", "label": "Your name"},
    {"name": "many", "label": "How many", "type": "number"},
    {"name": "mail", "label": "Mail", "type": "email", "required": False},
    {"name": "day", "label": "Day", "type": "date"},
    {"name": "wine", "label": "Wine", "type": "choice", "options": OPTIONS},
    {"name": "late", "label": "Late", "type": "boolean", "required": False},
]


async def _fill(page: Page) -> None:
    await page.get_by_label("Your name").fill("Ada")
    await page.click(".glove-card button[type=submit]")  # what is required and empty keeps the form open
    await page.get_by_label("How many").fill("2.5")
    await page.get_by_label("Day").fill("2026-12-24")
    await page.get_by_label("Wine").select_option(label="White wine")
    await page.get_by_label("Late").check()
    await page.click(".glove-card button[type=submit]")


async def _choose_several(page: Page) -> None:
    await page.get_by_label("White wine").check()
    await page.click(".glove-card button[type=submit]")


async def _approve(page: Page) -> None:
    await page.get_by_label("Comment").fill("but slowly")
    await page.click("[data-glove-answer=yes]")


async def _type(page: Page) -> None:
    await page.get_by_role("textbox", name="Dear …").fill("Hello\nthere")
    await page.click(".glove-card button[type=submit]")


QUESTIONS: dict[str, tuple[Call, Callable[[Page], Any], Any]] = {
    "confirm": (CONFIRM, lambda page: page.click("[data-glove-answer=yes]"), "The user confirmed."),
    "decline": (CONFIRM, lambda page: page.click("[data-glove-answer=no]"), "The user said no."),
    "prefer": (
        Call("ask_preference", {"question": "Which?", "options": OPTIONS}),
        lambda page: page.click("button:has-text('White wine')"),
        "User selected: white",
    ),
    "several": (
        Call("suggest_options", {"prompt": "Try?", "options": OPTIONS, "wait": True}),
        _choose_several,
        "white",
    ),
    "plan": (Call("approve_plan", {"title": "Plan", "steps": ["One", "Two"]}), _approve, "but slowly"),
    "text": (Call("text_input", {"prompt": "Dear …", "multiline": True}), _type, "Hello\nthere"),
    "form": (
        Call("collect_form", {"title": "Table", "fields": FORM_FIELDS}),
        _fill,
        {"who": "Ada", "many": 2.5, "mail": None, "day": "2026-12-24", "wine": "white", "late": True},
    ),
}


@pytest.mark.parametrize("name", QUESTIONS)
async def test_each_question_is_answered_on_the_screen(browser: Chromium, name: str) -> None:
    question, answer, told = QUESTIONS[name]
    async with chat(question, "Thank you.") as here, browser.page() as page:
        await page.goto(here.address)
        await say(page, "go")
        await page.wait_for_selector("[data-glove-blocking]")
        await answer(page)
        await page.wait_for_selector(agent_says("Thank you."))
        assert await page.locator("[data-glove-blocking]").count() == 0
        assert await page.locator("[data-glove-role=tool] .glove-card[data-glove-tone=past]").count() == 1
        (result,) = await here.results()
        assert result == told or (isinstance(told, str) and told in str(result))


async def test_an_answer_that_does_not_fit_is_asked_for_again_and_says_why(browser: Chromium) -> None:
    question = Call("collect_form", {"title": "T", "fields": [{"name": "mail", "label": "Mail", "type": "email"}]})
    async with chat(question, "Thank you.") as here, browser.page() as page:
        await page.goto(here.address)
        await say(page, "go")
        await page.get_by_label("Mail").fill("a@b")
        await page.click(".glove-card button[type=submit]")
        await page.wait_for_selector(".glove-card [role=alert]:has-text('mail')")
        await page.get_by_label("Mail").fill("ada@example.org")
        await page.click(".glove-card button[type=submit]")
        await page.wait_for_selector(agent_says("Thank you."))


async def test_a_question_is_answered_by_keyboard_alone(browser: Chromium) -> None:
    question = Call("ask_preference", {"question": "Which?", "options": OPTIONS})
    async with chat(question, "White it is.") as here, browser.page() as page:
        await page.goto(here.address)
        await page.focus("[data-glove-role=input] input")
        await page.keyboard.type("wine please")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("[data-glove-blocking]")
        assert "Which?" in await page.inner_text("[aria-live=polite]")
        for _ in range(8):
            await page.keyboard.press("Shift+Tab")
            if await page.evaluate("document.activeElement.textContent") == "White wine":
                break
        await page.keyboard.press("Enter")
        await page.wait_for_selector(agent_says("White it is."))
        assert await here.results() == ["User selected: white"]


async def test_a_question_that_is_refused_is_told_to_the_model(browser: Chromium) -> None:
    question = Call("text_input", {"prompt": "Your name?"})
    async with chat(question, "Never mind.") as here, browser.page() as page:
        await page.goto(here.address)
        await say(page, "go")
        await page.click("[data-glove-answer=refuse]")
        await page.wait_for_selector(agent_says("Never mind."))
        assert await page.get_attribute("[data-glove-role=tool]", "data-glove-status") == "error"


async def test_a_chip_is_what_the_user_says_next_and_a_card_stays_until_it_is_closed(browser: Chromium) -> None:
    offer = [
        Call("show_info_card", {"title": "Note", "content": "Mind the step.", "variant": "warning"}),
        Call("suggest_options", {"prompt": "Next?", "options": OPTIONS}),
    ]
    async with chat(offer, "Choose.", "You chose white.") as here, browser.page() as page:
        await page.goto(here.address)
        await say(page, "go")
        await page.wait_for_selector(agent_says("Choose."))
        assert "Mind the step." in await page.inner_text(".glove-card[data-glove-tone=warning]")
        await page.click("button:has-text('White wine')")
        await page.wait_for_selector(agent_says("You chose white."))
        assert (await texts(page))[-2:] == ["white", "You chose white."]
        await page.click(".glove-card[data-glove-tone=warning] button")
        await page.wait_for_selector(".glove-card[data-glove-tone=warning]", state="detached")
        assert here.glove.display.stack == ()


async def test_what_is_half_filled_in_survives_what_happens_around_it(browser: Chromium) -> None:
    async with chat(Call("text_input", {"prompt": "Name?"}), "Hello Ada.") as here, browser.page() as page:
        await page.goto(here.address)
        await say(page, "go")
        field = page.get_by_role("textbox", name="Name?")
        await field.focus()
        await page.keyboard.type("Ad")
        await here.glove.display.push_and_forget("show_info_card", {"title": "By the way", "content": "Rain."})
        await page.wait_for_selector(".glove-card:has-text('By the way')")
        await page.keyboard.type("a")
        assert await field.input_value() == "Ada"
        await page.keyboard.press("Enter")
        await page.wait_for_selector(agent_says("Hello Ada."))
        assert await here.results() == ["Ada"]


async def test_hostile_words_are_words_wherever_they_stand(browser: Chromium) -> None:
    async def look(_: NoArgs, context: ToolContext) -> ToolResultData:
        return ToolResultData(data=HOSTILE, renderData={"input": {"question": HOSTILE}, "answer": {HOSTILE: HOSTILE}})

    tool = Tool(name="look", description="Look.", run=look, args=NoArgs)
    ask = [
        Call("look", {"at": HOSTILE}),
        Call("show_info_card", {"title": HOSTILE, "content": HOSTILE}),
        Call("ask_preference", {"question": HOSTILE, "options": [HOSTILE, "safe"]}),
    ]
    async with chat(ask, HOSTILE, tools=(tool,)) as here, browser.page() as page:
        await page.goto(here.address)
        await say(page, HOSTILE)
        await page.wait_for_selector("[data-glove-blocking]")
        await here.glove.display.push_and_forget(HOSTILE, {HOSTILE: [HOSTILE, {"x": HOSTILE}], "title": HOSTILE})
        await page.wait_for_selector("[data-glove-display] >> nth=2")
        await page.click("button:text-is('safe')")
        await page.wait_for_selector("[data-glove-role=agent] p:has-text('onerror')")
        pictures = ["javascript:window.hurt=1", "data:image/svg+xml;base64,AA", "data:text/html,x", PIXEL]
        await page.evaluate(
            'images => { client.emit({ type: "user_message", text: "see", images }); }',
            pictures,
        )
        await page.wait_for_selector("[data-glove-role=user] img", state="attached")
        sources = await page.eval_on_selector_all("img", "all => all.map(one => one.getAttribute('src'))")
        assert sources == [PIXEL]
        assert await page.locator("ol script, ol [onerror], ol [onclick], ol a").count() == 0
        assert await page.evaluate("window.hurt") is None
        assert (await texts(page))[0] == HOSTILE


async def test_stop_ends_the_turn_on_the_server_and_the_next_one_works(browser: Chromium) -> None:
    async with chat([Say("Well"), Hang()], "Hello.") as here, browser.page() as page:
        await page.goto(here.address)
        await say(page, "hang")
        await page.wait_for_selector("[data-glove-streaming]")
        await page.click("[data-glove-role=input] button:has-text('Stop')")
        await page.wait_for_selector("[data-glove-role=input] button[type=submit]:enabled")
        assert await texts(page) == ["hang", "Well"]
        await say(page, "hi")
        await page.wait_for_selector(agent_says("Hello."))


async def test_what_the_server_refuses_stays_in_the_line_and_says_why(browser: Chromium) -> None:
    async with chat("Hello.") as here, browser.page() as page:
        await page.goto(here.address)
        stop = page.locator("[data-glove-role=input] button:has-text('Stop')")
        await page.wait_for_selector("[data-glove-role=input] button[type=submit]:enabled")
        assert await stop.is_hidden(), "there is nothing to stop"
        await page.route("**/chat", lambda route: route.fulfill(status=401, body="{}"))
        await say(page, "hi")
        await page.wait_for_selector("[data-glove-role=agent]:has-text('Error: ')")
        assert await page.input_value("[data-glove-role=input] input") == "hi"
        await page.unroute("**/chat")
        await page.press("[data-glove-role=input] input", "Enter")
        await page.wait_for_selector(agent_says("Hello."))
        assert await page.input_value("[data-glove-role=input] input") == ""
        assert await stop.is_hidden()


async def test_two_tabs_show_the_same_conversation_and_either_may_answer(browser: Chromium) -> None:
    async with chat(CONFIRM, "Deleted.", "And more.") as here, browser.page() as page:
        await page.goto(here.address)
        await say(page, "delete")
        await page.wait_for_selector("[data-glove-blocking]")
        other = await page.context.new_page()
        await other.goto(here.address)
        await other.wait_for_selector("[data-glove-blocking]")
        assert await texts(other) == ["delete"]
        await other.click("[data-glove-answer=yes]")
        for tab in (page, other):
            await tab.wait_for_selector(agent_says("Deleted."))
            assert await texts(tab) == ["delete", "Deleted."]
            assert await tab.locator("[data-glove-blocking]").count() == 0
        await say(other, "more")
        await page.wait_for_selector(agent_says("And more."))


async def test_an_agent_in_the_browser_uses_its_own_tools_and_keeps_its_record_on_the_server(browser: Chromium) -> None:

    asks = Answer([chunk(tool_calls=[call(0, "c1", "clock", "{}")]), chunk("tool_calls"), usage()])
    async with FakeOpenAi([asks, says("It is ", "noon.")]).running() as upstream:
        proxy = create_chat_handler("openai-compat", "m", "key", base_url=upstream.url)
        async with chat(proxy=proxy) as here, browser.page() as page:
            await page.goto(f"{here.address}?agent=browser")
            await say(page, "What time is it?")
            await page.wait_for_selector(agent_says("It is noon."))
            assert "this browser" in str(upstream.bodies[1])
            shown = await texts(page)
            await page.reload()
            await page.wait_for_selector(agent_says("It is noon."))
            assert await texts(page) == shown == ["What time is it?", "It is noon."]
            assert await page.get_attribute("[data-glove-role=tool]", "data-glove-status") == "success"
            assert await page.evaluate("client.state.stats.turns") == 2
