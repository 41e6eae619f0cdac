"""What the model reads of the skills there are."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from agents.core.extensions.content_skills import ContentSkill
from agents.core.extensions.listing import CHARS_PER_TOKEN, budget_tokens, listing


def skill(name: str, description: str = "", priority: int = 0, hidden: bool = False) -> ContentSkill:
    return ContentSkill(name, description, priority=priority, hidden=hidden)


def test_important_skills_come_first_then_by_name_and_hidden_ones_never() -> None:
    skills = [skill("b", "B."), skill("a", "A."), skill("z", "Z.", 5), skill("h", "H.", 9, hidden=True)]
    assert listing(skills).splitlines() == [
        "<available_skills>",
        '<skill name="z">Z.</skill>',
        '<skill name="a">A.</skill>',
        '<skill name="b">B.</skill>',
        "</available_skills>",
    ]


def test_without_skills_there_is_no_list() -> None:
    assert listing([]) == listing([skill("h", hidden=True)]) == ""


def test_what_does_not_fit_loses_its_description_and_then_its_place() -> None:
    skills = [skill("first", "x" * 100, 9), skill("second", "y" * 500), skill("third", "z" * 20), skill("w" * 300)]
    lines = listing(skills, 70).splitlines()
    assert lines[1] == f'<skill name="first">{"x" * 100}</skill>'
    assert lines[2] == '<skill name="second"/>'
    assert lines[3] == f'<skill name="third">{"z" * 20}</skill>'
    assert lines[4] == "<!-- 1 more not listed -->"


TEXT = st.text(max_size=60)


@given(
    st.lists(st.builds(skill, TEXT, TEXT, st.integers(-3, 3), st.booleans()), max_size=20),
    st.integers(30, 400),
)
def test_it_is_never_longer_than_it_may_be_and_always_one_well_formed_element(
    skills: list[ContentSkill], budget: int
) -> None:
    text = listing(skills, budget)
    assert len(text) <= budget * CHARS_PER_TOKEN
    visible = [each for each in skills if not each.hidden]
    if not visible:
        assert text == ""
        return
    root = ET.fromstring(text)
    assert root.tag == "available_skills"
    assert all(child.tag == "skill" and not list(child) for child in root)
    omitted = int(text.split("<!-- ")[1].split()[0]) if "<!-- " in text else 0
    assert len(root) + omitted == len(visible)


def test_the_budget_grows_with_the_conversation() -> None:
    assert (budget_tokens(100_000), budget_tokens(12_800), budget_tokens(100)) == (2000, 256, 256)
