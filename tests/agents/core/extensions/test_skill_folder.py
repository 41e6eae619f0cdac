"""A folder of skills: what is read of it, and what never is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.base.errors import InputError
from agents.core.extensions.skill_folder import MAX_FILE_BYTES, front_matter, load_skill_folder


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_folder_with_a_skill_file_is_a_skill(tmp_path: Path) -> None:
    head = '---\nname: Tea\ndescription: "How: to brew"\npriority: 3\nhidden: true\n---\n\n# Tea\n'
    write(tmp_path / "b-tea" / "SKILL.md", head + "Hot.")
    write(tmp_path / "b-tea" / "green.md", "Two minutes.")
    write(tmp_path / "b-tea" / "notes.txt", "not a section")
    write(tmp_path / "a-plain" / "SKILL.md", "Just text.")
    write(tmp_path / "no-skill" / "README.md", "nothing")
    write(tmp_path / "SKILL.md", "not in a subfolder")
    plain, tea = load_skill_folder(tmp_path)
    assert (tea.name, tea.description, tea.priority, tea.hidden) == ("Tea", "How: to brew", 3, True)
    assert (tea.content, tea.path, dict(tea.sections)) == ("# Tea\nHot.", "b-tea/SKILL.md", {"green": "Two minutes."})
    assert (plain.name, plain.description, plain.content, plain.hidden) == ("a-plain", "", "Just text.", False)


@pytest.mark.parametrize(
    ("text", "fields", "rest"),
    [
        ("---\nname: x\n---\nbody", {"name": "x"}, "body"),
        ("---\r\nname: x\r\n---\r\nbody", {"name": "x"}, "body"),
        ("---\nNAME:x\n# a comment\n\ndescription: 'a: b'\n---", {"name": "x", "description": "a: b"}, ""),
        ("---\nname: x\nbody without an end", {}, None),
        ("---\nname: x\nno colon\n---\nbody", {}, None),
        ("---\n: x\n---\nbody", {}, None),
        ("body\n---\nname: x\n---", {}, None),
        ("---\n---\nbody", {}, "body"),
        ("", {}, ""),
        ("---", {}, None),
    ],
)
def test_front_matter_is_taken_only_if_it_is_whole(text: str, fields: dict[str, str], rest: str | None) -> None:
    assert front_matter(text) == (fields, text if rest is None else rest)


@given(st.text(max_size=80))
def test_any_text_is_read_and_none_of_it_is_lost_without_front_matter(text: str) -> None:
    fields, rest = front_matter(text)
    assert text.endswith(rest)
    assert fields or rest == text or text.lstrip().startswith("---")


def test_whatever_leads_out_of_the_folder_is_left_out(tmp_path: Path) -> None:
    root, outside = tmp_path / "skills", tmp_path / "outside"
    write(outside / "SKILL.md", "secret")
    write(root / "fine" / "SKILL.md", "fine")
    write(root / "linked-file" / "README.md", "x")
    (root / "linked-folder").symlink_to(outside)
    (root / "linked-file" / "SKILL.md").symlink_to(outside / "SKILL.md")
    (root / "fine" / "section.md").symlink_to(outside / "SKILL.md")
    (root / "fine" / "up.md").symlink_to("../../outside/SKILL.md")
    (root / "fine" / "loop.md").symlink_to("loop.md")
    (root / "fine" / "dangling.md").symlink_to("nowhere.md")
    (root / "inside").symlink_to(root / "fine")
    skills = load_skill_folder(root)
    assert [(skill.name, dict(skill.sections)) for skill in skills] == [("fine", {}), ("inside", {})]
    assert "secret" not in repr(skills)


def test_a_folder_may_itself_be_reached_by_a_link(tmp_path: Path) -> None:
    write(tmp_path / "real" / "tea" / "SKILL.md", "Hot.")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert [skill.name for skill in load_skill_folder(tmp_path / "link")] == ["tea"]


def test_what_cannot_be_read_costs_only_itself(tmp_path: Path) -> None:
    write(tmp_path / "fine" / "SKILL.md", "Fine.")
    write(tmp_path / "fine" / "latin.md", b"caf\xe9")
    write(tmp_path / "long" / "SKILL.md", b"x" * (MAX_FILE_BYTES + 1))
    write(tmp_path / "bytes" / "SKILL.md", b"\xff\xfe\x00")
    (tmp_path / "folder" / "SKILL.md").mkdir(parents=True)
    os.mkfifo(tmp_path / "fine" / "pipe.md")
    write(tmp_path / "bom" / "SKILL.md", b"\xef\xbb\xbf---\nname: bom\n---\nMarked.")
    assert [(skill.name, skill.content) for skill in load_skill_folder(tmp_path)] == [
        ("bom", "Marked."), ("fine", "Fine."),
    ]  # fmt: skip


def test_of_two_skills_of_one_name_the_first_counts(tmp_path: Path) -> None:
    write(tmp_path / "a" / "SKILL.md", "---\nname: tea\n---\nFirst.")
    write(tmp_path / "b" / "SKILL.md", "---\nname: tea\npriority: much\n---\nSecond.")
    (skill,) = load_skill_folder(tmp_path)
    assert skill.content == "First."


def test_a_folder_that_is_not_there_is_an_error_that_names_it(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", write(tmp_path / "file", "x")):
        with pytest.raises(InputError, match=path.name) as fault:
            load_skill_folder(path)
        assert fault.value.code == "ERR_SKILLS_FOLDER"
