"""Skills that are text and nothing else, and the tool with which the model reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import structlog
from pydantic import BaseModel, Field

from agents.base.abort import AbortToken
from agents.base.errors import GloveError
from agents.core.extensions.directives import can_be_written
from agents.core.extensions.listing import DEFAULT_BUDGET_TOKENS, listing
from agents.core.extensions.skills import SkillHandler, SkillInvocation
from agents.core.markup import attribute, escaped
from agents.core.messages import ToolResultData
from agents.core.outcomes import failed
from agents.core.tool import Tool, ToolContext

if TYPE_CHECKING:
    from agents.core.glove import Glove

log = structlog.get_logger(__name__)

READ_SKILL = "glove_read_skill"

_CLOSING = re.compile(r"<(/\s*(?:content|skill)\b)", re.IGNORECASE)


@dataclass(frozen=True)
class ContentSkill:
    """A skill that is pure data.

    Attributes:
        name: what it is asked for by.
        description: when to read it, for the model.
        content: the skill itself.
        path: where it comes from, for people.
        sections: further texts that are read one by one.
        priority: higher ones are listed first.
        hidden: not listed, but can be read.
    """

    name: str
    description: str
    content: str = ""
    path: str | None = None
    sections: Mapping[str, str] = field(default_factory=dict[str, str])
    priority: int = 0
    hidden: bool = False


@dataclass(frozen=True)
class SkillText:
    """What reading gives: the content of a skill, or of one of its ``section``s."""

    name: str
    content: str
    path: str | None = None
    section: str | None = None
    sections: tuple[str, ...] = ()


class SkillReader(Protocol):
    """A source of content skills. What ``list`` returns need not carry content."""

    async def list(self) -> Sequence[ContentSkill]:
        """All skills, hidden ones included."""
        ...

    async def read(self, name: str, section: str | None = None) -> SkillText | None:
        """The skill or one section of it; None if there is no such thing."""
        ...


class ReadSkill(BaseModel):
    """Arguments of the tool that reads a skill."""

    name: str = Field(description="Name of the skill.")
    section: str | None = Field(default=None, description="One of its sections; the main text without.")


class KnownSkills:
    """A reader of skills that are at hand.

    Raises ``GloveError`` (``ERR_SKILL_DUPLICATE``) if two have one name.
    """

    def __init__(self, skills: Sequence[ContentSkill]) -> None:
        self._skills: dict[str, ContentSkill] = {}
        for skill in skills:
            if skill.name in self._skills:
                raise GloveError("ERR_SKILL_DUPLICATE", f"Two skills are named {skill.name!r}.", "Rename one of them.")
            self._skills[skill.name] = skill

    async def list(self) -> Sequence[ContentSkill]:
        """See ``SkillReader``."""
        return list(self._skills.values())

    async def read(self, name: str, section: str | None = None) -> SkillText | None:
        """See ``SkillReader``."""
        skill = self._skills.get(name)
        if skill is None:
            return None
        content = skill.content if section is None else skill.sections.get(section)
        if content is None:
            return None
        return SkillText(skill.name, content, skill.path, section, tuple(skill.sections))


def use_read_skill(
    glove: Glove,
    skills: Sequence[ContentSkill] | SkillReader,
    *,
    tool_name: str = READ_SKILL,
    listing_budget_tokens: int = DEFAULT_BUDGET_TOKENS,
    description_suffix: str = "",
    wire_user_directives: bool = True,
    reader: SkillReader | None = None,
) -> Glove:
    """Let the model read ``skills``, and the user call each of them by ``/name``.

    Given a reader, its list is read before the first turn; while it cannot be read, nothing is listed and the next turn
    tries again.

    Args:
        glove: the agent.
        skills: the skills, or where they come from.
        tool_name: of the tool that reads.
        listing_budget_tokens: longest list of skills in the tool's description.
        description_suffix: added to the tool's description.
        wire_user_directives: whether ``/name`` works; a name that the grammar does not know is left out.
        reader: reads instead of ``skills``, which are then only listed.

    Returns:
        ``glove``.

    Raises:
        GloveError: ``ERR_TOOL_DUPLICATE`` for ``tool_name``, ``ERR_SKILL_DUPLICATE`` for two skills of one name.
    """
    source = KnownSkills(skills) if isinstance(skills, Sequence) else skills
    listed = skills if isinstance(skills, Sequence) else ()
    library = _Library(
        glove, reader or source, tool_name, listing_budget_tokens, description_suffix, wire_user_directives
    )
    glove.fold(library.tool(listed))
    library.wire(listed)
    if not isinstance(source, KnownSkills):
        library.list_before_a_turn(source)
    return glove


class _Library:
    """One use of a reader by an agent."""

    def __init__(
        self, glove: Glove, reader: SkillReader, tool_name: str, budget_tokens: int, suffix: str, directives: bool
    ) -> None:
        self._glove = glove
        self._reader = reader
        self._tool_name = tool_name
        self._budget_tokens = budget_tokens
        self._suffix = suffix
        self._directives = directives
        self._stop_listing: Callable[[], None] = lambda: None

    def tool(self, listed: Sequence[ContentSkill]) -> Tool[Any]:
        """The tool, with a description that lists ``listed``."""
        parts = [
            "Read a skill: instructions written for a kind of task. Do so before you begin such a task.",
            listing(listed, self._budget_tokens),
            self._suffix,
        ]
        return Tool(self._tool_name, "\n\n".join(part for part in parts if part), self._read, ReadSkill)

    def wire(self, skills: Sequence[ContentSkill]) -> None:
        """Let the user call ``skills`` by name."""
        for skill in skills if self._directives else ():
            if can_be_written(skill.name):
                self._glove.define_skill(skill.name, self._handler(skill.name), description=skill.description)

    def list_before_a_turn(self, source: SkillReader) -> None:
        """Ask ``source`` what there is as soon as a turn begins."""
        self._stop_listing = self._glove.add_turn_preparer(partial(self._list, source))

    async def _list(self, source: SkillReader, abort: AbortToken) -> None:
        try:
            skills = await abort.race(source.list())
        except Exception:
            abort.check()
            log.exception("skills cannot be listed", tool=self._tool_name)
            return
        self._glove.replace_tools([self._tool_name], [self.tool(skills)])
        self.wire(skills)
        self._stop_listing()

    def _handler(self, name: str) -> SkillHandler:
        async def handle(_: SkillInvocation) -> str:
            text = await self._reader.read(name)
            if text is None:
                raise GloveError("ERR_SKILL_MISSING", f"The skill {name!r} is gone.", "Send the message without it.")
            return text.content

        return handle

    async def _read(self, args: ReadSkill, _: ToolContext) -> ToolResultData:
        text = await self._reader.read(args.name, args.section)
        if text is not None:
            return ToolResultData(data=_as_xml(text), renderData=_as_json(text))
        visible = {skill.name: skill for skill in await self._reader.list() if not skill.hidden}
        asked = visible.get(args.name)
        if args.section is not None and asked is not None:
            sections = ", ".join(asked.sections) or "none"
            message = f"The skill {args.name!r} has no section {args.section!r}. Sections: {sections}."
        else:
            message = f"There is no skill named {args.name!r}. Skills: {', '.join(visible) or 'none'}."
        return failed(message)


def _as_xml(text: SkillText) -> str:
    named = {"name": text.name, "path": text.path, "section": text.section}
    attributes = "".join(f' {key}="{attribute(value)}"' for key, value in named.items() if value is not None)
    sections = f"<sections>{escaped(','.join(text.sections))}</sections>" if text.sections else ""
    return f"<skill{attributes}><content>{_enclosed(text.content)}</content>{sections}</skill>"


def _enclosed(content: str) -> str:
    """``content`` as it is, except that it cannot end the elements around it."""
    return _CLOSING.sub(r"&lt;\1", content)


def _as_json(text: SkillText) -> dict[str, Any]:
    return {
        "name": text.name,
        "path": text.path,
        "section": text.section,
        "content": text.content,
        "sections": list(text.sections),
    }
