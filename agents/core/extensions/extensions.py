"""The hooks, skills and subagents of one agent, and what they make of a request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from agents.base.abort import AbortToken
from agents.base.errors import GloveError
from agents.core.events import HookInvoked
from agents.core.extensions.controls import AgentControls
from agents.core.extensions.directives import parse
from agents.core.extensions.hooks import HookHandler, HookInvocation, HookResult, answer_messages
from agents.core.extensions.naming import check_name
from agents.core.extensions.skills import INVOKE_SKILL, Skill, Skills
from agents.core.extensions.subagents import SubAgentKind, SubAgents
from agents.core.foreign import call
from agents.core.messages import ContentPart, Message, parts_text, user_message
from agents.core.model import Notify
from agents.core.registry import AnyTool, ToolRegistry


@dataclass(frozen=True)
class Prepared:
    """A request after everything that it calls has run.

    Attributes:
        message: the user's, as it is to be stored.
        before: what skills put before it.
        answer: what a hook answers instead of the model, or None.
    """

    message: Message
    before: list[Message] = field(default_factory=list[Message])
    answer: list[Message] | None = None


class Extensions:
    """What users of an agent have registered by name.

    Args:
        registry: where the tools for the model appear, with the first skill or subagent that it may call.
        controls: the inside of the agent, once it is built.
        notify: tells its subscribers.
    """

    def __init__(self, registry: ToolRegistry, controls: Callable[[], AgentControls], notify: Notify) -> None:
        self._registry = registry
        self._controls = controls
        self._notify = notify
        self._hooks: dict[str, HookHandler] = {}
        self._skills = Skills(controls, notify)
        self._subagents = SubAgents(controls, notify)
        self._own_tools: set[str] = set()

    def define_hook(self, name: str, handler: HookHandler) -> None:
        """See ``Glove.define_hook``."""
        check_name(name)
        self._hooks[name] = handler

    def define_skill(self, skill: Skill) -> None:
        """See ``Glove.define_skill``."""
        self._skills.define(skill)
        if self._skills.exposed or INVOKE_SKILL in self._own_tools:
            self._offer(self._skills.tool())

    def define_sub_agent(self, kind: SubAgentKind) -> None:
        """See ``Glove.define_sub_agent``."""
        self._subagents.define(kind)
        self._offer(self._subagents.tool())

    def called_in(self, message: Message) -> bool:
        """Whether ``message`` calls a hook or a skill."""
        return bool(parse(_words(message), self._hooks, self._skills.names).directives)

    async def prepare(self, message: Message, abort: AbortToken) -> Prepared:
        """Run what ``message`` calls: first the hooks, then the skills, each in the order of the text.

        ``message`` itself stays as it is. Raises what a handler raises, ``Aborted``, and ``GloveError``
        (``ERR_HOOK_RESULT``) when nothing is left to answer.
        """
        raw = _words(message)
        parsed = parse(raw, self._hooks, self._skills.names)
        text = parsed.text
        for name in parsed.names("hook"):
            abort.check()
            result = await self._hook(name, raw, text, abort)
            if result.rewrite_text is not None:
                text = result.rewrite_text
            if result.short_circuit is not None:
                return Prepared(_saying(message, raw, text), answer=answer_messages(result.short_circuit))
        opened = _saying(message, raw, text)
        skills = [await self._skills.inject(name, text, abort) for name in parsed.names("skill")]
        return Prepared(opened, skills)

    async def _hook(self, name: str, raw: str, text: str, abort: AbortToken) -> HookResult:
        await self._notify(HookInvoked(name))
        invocation = HookInvocation(name, raw, text, self._controls(), abort)
        return await call(lambda _: self._hooks[name](invocation), abort, f"The hook {name!r}") or HookResult()

    def _offer(self, tool: AnyTool) -> None:
        """Put ``tool`` where its earlier form stands, or at the end. Raises ``GloveError`` if the name is another's."""
        if tool.name in self._own_tools:
            self._registry.replace([tool.name], [tool])
        else:
            self._registry.add(tool)
            self._own_tools.add(tool.name)


def _words(message: Message) -> str:
    return message.text if message.content is None else parts_text(message.content)


def _saying(message: Message, raw: str, text: str) -> Message:
    """``message`` with ``text`` in the place of ``raw``; media stays."""
    if text == raw:
        return message
    media = [part for part in message.content or () if part.type != "text"]
    if not text.strip() and not media:
        raise GloveError("ERR_HOOK_RESULT", "A hook rewrote the message to nothing.", "Let it answer instead.")
    words = [ContentPart(type="text", text=text)] if text.strip() else []
    said = user_message([*words, *media] if media else text)
    said.id, said.pre_modified_text = message.id, raw
    return said
