"""Skills: instructions that join the conversation when the user writes ``/name`` or the model asks for them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import structlog
from pydantic import BaseModel, Field

from agents.base.abort import AbortToken
from agents.core.events import SkillInvoked
from agents.core.extensions.controls import AgentControls
from agents.core.extensions.naming import check_name
from agents.core.foreign import call
from agents.core.messages import ContentPart, Message, ToolResultData, content_parts, parts_text
from agents.core.model import Notify
from agents.core.outcomes import failed, text_of
from agents.core.tool import Tool, ToolContext

log = structlog.get_logger(__name__)

INVOKE_SKILL = "glove_invoke_skill"

SkillContent = str | Sequence[ContentPart]
"""What a skill adds to the conversation."""


@dataclass(frozen=True)
class SkillInvocation:
    """One call of a skill.

    Attributes:
        name: under which the skill is registered.
        parsed_text: the user's message with markers instead of directives; the arguments when the model calls.
        source: who calls.
        args: what the model gave along, or None.
        controls: the inside of the agent.
        abort: of the turn; an asynchronous skill is cancelled when it fires.
    """

    name: str
    parsed_text: str
    source: Literal["user", "agent"]
    args: str | None
    controls: AgentControls
    abort: AbortToken


SkillHandler = Callable[[SkillInvocation], Awaitable[SkillContent] | SkillContent]


@dataclass(frozen=True)
class Skill:
    """A registered skill; the model may call it only if it is ``exposed``."""

    name: str
    handler: SkillHandler
    description: str | None = None
    exposed: bool = False


class SkillCall(BaseModel):
    """Arguments of the tool with which the model calls a skill."""

    name: str = Field(description="Name of the skill.")
    args: str | None = Field(default=None, description="What the skill should know, in plain words.")


def injection(name: str, content: SkillContent) -> Message:
    """The message that carries a skill's content; it stands before the user's."""
    header = f"[Skill: {name}]"
    if isinstance(content, str):
        return Message(sender="user", text=f"{header}\n{content}", is_skill_injection=True)
    text = "\n".join(filter(None, [header, parts_text(content)]))
    parts = [ContentPart(type="text", text=header), *content]
    return Message(sender="user", text=text, content=parts, is_skill_injection=True)


class Skills:
    """The skills of one agent.

    Args:
        controls: the inside of the agent, once it is built.
        notify: tells its subscribers.
    """

    def __init__(self, controls: Callable[[], AgentControls], notify: Notify) -> None:
        self._skills: dict[str, Skill] = {}
        self._controls = controls
        self._notify = notify

    @property
    def names(self) -> Collection[str]:
        """What the user may write."""
        return self._skills.keys()

    @property
    def exposed(self) -> list[Skill]:
        """What the model may call, in order of registration."""
        return [skill for skill in self._skills.values() if skill.exposed]

    def define(self, skill: Skill) -> None:
        """Register ``skill``, in the place of an earlier one of that name. Raises ``GloveError`` for the name."""
        check_name(skill.name)
        self._skills[skill.name] = skill

    async def inject(self, name: str, text: str, abort: AbortToken) -> Message:
        """Run a skill that the user called in ``text``. Raises what it raises, and ``Aborted``."""
        await self._notify(SkillInvoked(name, "user"))
        invocation = SkillInvocation(name, text, "user", None, self._controls(), abort)
        return injection(name, await _content(self._skills[name], invocation))

    def tool(self) -> Tool[Any]:
        """The tool with which the model calls the exposed ones, described as of now."""
        lines = ["Load instructions or knowledge for a task. Call it as soon as one of these fits:"]
        lines += [f"- {skill.name}: {skill.description or skill.name}" for skill in self.exposed]
        return Tool(INVOKE_SKILL, "\n".join(lines), self._call, SkillCall)

    async def _call(self, args: SkillCall, context: ToolContext) -> ToolResultData:
        skill = self._skills.get(args.name)
        if skill is None or not skill.exposed:
            known = ", ".join(skill.name for skill in self.exposed) or "none"
            return failed(f"There is no skill named {args.name!r}. Skills: {known}.")
        await self._notify(SkillInvoked(skill.name, "agent", args.args))
        invocation = SkillInvocation(skill.name, args.args or "", "agent", args.args, self._controls(), context.abort)
        try:
            content = await _content(skill, invocation)
        except Exception as fault:
            # A skill is not run again by itself: it may have done half of its work.
            context.abort.check()
            log.exception("a skill failed", skill=skill.name)
            return failed(f"The skill {skill.name!r} failed: {text_of(fault)}")
        return _result(skill.name, content)


async def _content(skill: Skill, invocation: SkillInvocation) -> SkillContent:
    content = await call(lambda _: skill.handler(invocation), invocation.abort, f"The skill {skill.name!r}")
    return content if isinstance(content, str) else content_parts(content, f"What the skill {skill.name!r} returned")


def _result(name: str, content: SkillContent) -> ToolResultData:
    text = content if isinstance(content, str) else parts_text(content)
    data = {"skill": name, "content": text or f"[The skill {name} has no text.]"}
    if isinstance(content, str):
        return ToolResultData(data=data)
    parts = [part.model_dump(mode="json", exclude_none=True) for part in content]
    return ToolResultData(data=data, renderData={"skill": name, "content": parts})
