"""Content skills from a folder: each subfolder with a ``SKILL.md`` is one, and its other ``.md`` files are sections."""

from __future__ import annotations

from pathlib import Path

import structlog

from agents.base.errors import InputError
from agents.core.extensions.content_skills import ContentSkill

log = structlog.get_logger(__name__)

MAIN_FILE = "SKILL.md"

MAX_FILE_BYTES = 256 * 1024
"""A longer file is left out: nothing of that size fits into a conversation."""

MAX_SKILLS = 1000

_FENCE = "---"


def load_skill_folder(folder: Path) -> list[ContentSkill]:
    """The skills in ``folder``, in order of their subfolders' names. Reads files; call it off the loop.

    ``SKILL.md`` may begin with ``key: value`` lines between two lines ``---``: ``name`` (else the subfolder's),
    ``description``, ``priority`` and ``hidden``. What cannot be read, what is too long and whatever a link leads to
    outside of ``folder`` is left out, with a line in the log.

    Raises:
        InputError: ``ERR_SKILLS_FOLDER``: there is no such folder, or it cannot be read.
    """
    try:
        root = folder.resolve(strict=True)
        places = sorted(place for place in root.iterdir() if place.is_dir())
    except OSError as fault:
        raise InputError(
            "ERR_SKILLS_FOLDER", f"{folder} is not a folder that can be read.", "Name a folder of skills.", fault
        ) from fault
    found: dict[str, ContentSkill] = {}
    for place in places:
        skill = _skill(root, place)
        if skill is None:
            continue
        if skill.name in found or len(found) >= MAX_SKILLS:
            log.warning("a skill is left out", path=skill.path, reason="its name is taken, or there are too many")
            continue
        found[skill.name] = skill
    return list(found.values())


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """The ``key: value`` lines at the head of ``text``, and what follows them; without a proper end there are none."""
    lines = text.splitlines(keepends=True)
    if not lines or lines[0].strip() != _FENCE:
        return {}, text
    end = next((index for index, line in enumerate(lines[1:], 1) if line.strip() == _FENCE), None)
    if end is None:
        return {}, text
    fields: dict[str, str] = {}
    for line in lines[1:end]:
        key, colon, value = line.partition(":")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not colon or not key.strip():
            return {}, text
        fields[key.strip().lower()] = _unquoted(value.strip())
    return fields, "".join(lines[end + 1 :]).lstrip("\r\n")


def _skill(root: Path, place: Path) -> ContentSkill | None:
    main = place / MAIN_FILE
    text = _text(root, main) if main.is_file() else None
    if text is None:
        return None
    fields, content = front_matter(text)
    sections = {
        page.stem: section
        for page in sorted(place.glob("*.md"))
        if page.name != MAIN_FILE and (section := _text(root, page)) is not None
    }
    return ContentSkill(
        name=fields.get("name") or place.name,
        description=fields.get("description", ""),
        content=content,
        path=main.relative_to(root).as_posix(),
        sections=sections,
        priority=_number(fields.get("priority", "")),
        hidden=fields.get("hidden", "").lower() in ("true", "yes", "1"),
    )


def _text(root: Path, path: Path) -> str | None:
    try:
        real = path.resolve(strict=True)
        if not real.is_relative_to(root):
            log.warning("a file of a skill is left out", path=str(path), reason="it is outside of the folder")
            return None
        if not real.is_file():
            return None
        with real.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            log.warning("a file of a skill is left out", path=str(path), reason="it is too long")
            return None
        return data.decode("utf-8-sig")
    except (OSError, RuntimeError, UnicodeDecodeError) as fault:
        log.warning("a file of a skill is left out", path=str(path), reason=str(fault))
        return None


def _number(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        return 0


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value
