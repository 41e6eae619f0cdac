"""Which words of a text are calls, and which are only words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.core.extensions.directives import Directive, can_be_written, marker, parse

HOOKS, SKILLS = {"clear", "both"}, {"brief", "day-plan", "both"}


def read(text: str) -> str:
    return parse(text, HOOKS, SKILLS).text


@pytest.mark.parametrize(
    "text",
    [
        "look into /usr/local/bin", "/usr/local", "/clear/", "a/clear b", "//clear", "/clear.", "(/clear)", "1/clear",
        "/2clear", "/-clear", "/ clear", "/Clear", "/clearing", "@clear", "@brief", "/unknown", "", "   ", "/",
        "https://host/clear", "/clear,/brief", "/bríef", "/briefé",
    ],
)  # fmt: skip
def test_what_is_no_call_stays_as_it_is(text: str) -> None:
    parsed = parse(text, HOOKS, SKILLS)
    assert (parsed.text, parsed.directives) == (text, ())


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("/clear", "[invoked_extension__hook_clear]"),
        ("/brief", "[invoked_extension__skill_brief]"),
        ("/both", "[invoked_extension__hook_both]"),
        ("/brief what is new?", "[invoked_extension__skill_brief] what is new?"),
        ("what is new? /brief", "what is new? [invoked_extension__skill_brief]"),
        ("plan /day-plan now", "plan [invoked_extension__skill_day-plan] now"),
        ("/clear /brief", "[invoked_extension__hook_clear] [invoked_extension__skill_brief]"),
        (
            "/brief\n/brief\t/brief",
            "\n".join(["[invoked_extension__skill_brief]"] * 2) + "\t" + marker("skill", "brief"),
        ),
        ("see /brief/a and /brief", "see /brief/a and [invoked_extension__skill_brief]"),
        ("a\u00a0/brief\u2003b", "a\u00a0[invoked_extension__skill_brief]\u2003b"),
    ],
)
def test_a_call_is_replaced_where_it_stands(text: str, becomes: str) -> None:
    assert read(text) == becomes


def test_calls_come_in_the_order_of_the_text_with_repetitions() -> None:
    parsed = parse("/brief /clear x /brief /nobody /clear", HOOKS, SKILLS)
    assert parsed.directives == (
        Directive("skill", "brief", 0), Directive("hook", "clear", 7),
        Directive("skill", "brief", 16), Directive("hook", "clear", 31),
    )  # fmt: skip
    assert parsed.names("hook") == ["clear", "clear"]
    assert parsed.names("skill") == ["brief", "brief"]


NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,8}", fullmatch=True)
WORDS = st.one_of(
    st.text(alphabet=st.characters(exclude_characters="/", exclude_categories=["Cs"]), max_size=12),
    NAMES.map(lambda name: f"/{name}"),
    st.sampled_from(["/usr/local", "//", "/", "/clear", "/brief", " ", "\n"]),
)


@given(st.lists(WORDS, max_size=12).map("".join))
def test_nothing_but_whole_calls_ever_changes(text: str) -> None:
    parsed = parse(text, HOOKS, SKILLS)
    rebuilt, end = "", 0
    for call in parsed.directives:
        token = f"/{call.name}"
        assert text.startswith(token, call.start)
        assert call.start == 0 or text[call.start - 1].isspace()
        after = call.start + len(token)
        assert after == len(text) or text[after].isspace()
        rebuilt += text[end : call.start] + marker(call.kind, call.name)
        end = after
    assert parsed.text == rebuilt + text[end:]


@given(st.lists(st.one_of(NAMES.map(lambda name: f"/{name}"), st.just("word")), max_size=8), st.sets(NAMES, max_size=4))
def test_every_whole_word_that_names_something_is_a_call(words: list[str], skills: set[str]) -> None:
    expected = [word[1:] for word in words if word[1:] in skills and word.startswith("/")]
    assert [call.name for call in parse(" ".join(words), (), skills).directives] == expected


@given(NAMES)
def test_every_name_that_can_be_registered_can_be_written(name: str) -> None:
    assert can_be_written(name)
    assert parse(f"/{name}", {name}).names("hook") == [name]


@pytest.mark.parametrize("name", ["", "2go", "two words", "a/b", "naïve", "a.b", "-a", "a\n"])
def test_other_names_cannot(name: str) -> None:
    assert not can_be_written(name)
