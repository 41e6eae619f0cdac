import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.base.clock import perf_counter
from audio.speakable import Speakable, speakable


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("# Hello **world**!", "Hello world!"),
        ("- [x] buy `milk`\n* eggs\n1. first\n> quote\n---", "buy milk\neggs\n1. first\nquote"),
        ("| a | b |\n|---|:-:|\n| 1 | 2 |", "a, b\n1, 2"),
        ("Look:\n```python\nprint(1)\n```\nDone.", "Look:\nDone."),
        ('See [the docs](https://example.com/x(y) "t")[1].', "See the docs."),
        ("![A cat](cat.png) sits.", "A cat sits."),
        ("Go to https://www.example.com/a_b?c=d.", "Go to example dot com."),
        ("Mail joe_d@mail.example.org!", "Mail joe d at mail dot example dot org!"),
        ("<b>bold</b><br/>new &amp; old<!-- not this -->", "bold new and old"),
        ("snake_case and _it_ and __b__ ~~no~~", "snake case and it and b no"),
        ("😀👍🏽 1️⃣ fine 🇩🇪 ❤️ :-) ok", "1 fine ok"),
        ("\u202eevil\u202c \u200bzero\x00\ud800", "evil zero"),
        (
            "It is 21 °C, -5°F, 1°C; 50% & more.",
            "It is 21 degrees Celsius, minus 5 degrees Fahrenheit, 1 degree Celsius; 50 percent and more.",
        ),
        ("2+2=4, 3 * 4 = 12, C++", "2 plus 2 equals 4, 3 times 4 equals 12, C plus plus"),
        (
            "At 3:40 PM it costs $3.50, €5, $1, $0.99 or $3.2 million.",
            "At 3:40 PM it costs 3 dollars and 50 cents, 5 euros, 1 dollar, 99 cents or 3.2 million dollars.",
        ),
        ('Dr. Who — e.g. "yes" (really) … ok?!', 'Dr. Who — e.g. "yes" (really)… ok?!'),
        ("#3 of 10-15 on 2024-05-06", "number 3 of 10-15 on 2024-05-06"),
        ("a < b and x -> y", "a less than b and x to y"),
    ],
)
def test_english(written: str, said: str) -> None:
    assert speakable(written) == said


@pytest.mark.parametrize(
    ("language", "written", "said"),
    [
        ("de", "Es sind 21 °C & 3,50 €, 50 %.", "Es sind 21 Grad Celsius und 3 Euro und 50 Cent, 50 Prozent."),
        ("es", "Cuesta 5 € y hace -3 °C.", "Cuesta 5 euros y hace menos 3 grados Celsius."),
        ("fr", "**Il fait** 21 °C + vent.", "Il fait 21 degrés Celsius plus vent."),
        ("ja", "気温は21℃、湿度は50%です。", "気温は21度、湿度は50パーセントです。"),
        ("fa", "می\u200cخواهم **۵۰%**", "می\u200cخواهم ۵۰%"),
    ],
)
def test_other_languages(language: str, written: str, said: str) -> None:
    assert speakable(written, language) == said


@pytest.mark.parametrize(
    "text", ["", " \n", "***", "---", "😀", "...", "```\ncode\n```", "<br>", "|---|---|", "\u200d"]
)
def test_nothing_to_say(text: str) -> None:
    assert speakable(text) == ""


def test_markup_that_spans_sentences() -> None:
    voice = Speakable()
    sentences = ["Here it is: ```py\n", "print('Hi. ", "there')\n", "```\n", "Done. ", "**Bold. ", "More** text. "]
    assert [voice.feed(s) for s in sentences] == ["Here it is:", "", "", "", "Done.", "Bold.", "More text."]
    assert [voice.feed(s) for s in ["[A link. ", "to it](https://a.bc/d) now."]] == ["A link.", "to it now."]
    assert [voice.feed(s) for s in ["Hm <!-- hid. ", "den --> shown."]] == ["Hm", "shown."]


def test_a_new_reply_begins_outside_of_code() -> None:
    voice = Speakable()
    assert voice.feed("```never closed") == ""
    voice.reset()
    assert voice.feed("Hello.") == "Hello."


@settings(max_examples=400, deadline=None)
@given(
    st.one_of(st.text(), st.text(alphabet="*_`~[](){}<>|#-+=$€°%&!.\\/:@^1aA \n\"'\u200d")),
    st.sampled_from(["en", "ja", "xx"]),
)
def test_any_text_is_accepted_and_comes_out_clean(text: str, language: str) -> None:
    said = speakable(text, language)
    said.encode()
    assert not set(said) & set("*`\u202e\u200b\x00")
    assert said == "" or any(c.isalnum() for c in said)


NASTY = [
    "a",
    "[",
    "](",
    "[a](",
    "<",
    "*",
    "_",
    "`",
    "```",
    "#",
    "|",
    " ",
    "\n",
    "@",
    "a@",
    ".",
    "a.",
    "1,",
    "$",
    "$1",
    "&",
]
NASTY += ["<!--", "http://", "-", "😀", "\\", "(", '"', ", ", "!", "\u200d", "e\u0301", "<a ", "° ", "[^", "> ", "+ "]


@pytest.mark.parametrize("stretch", NASTY)
def test_time_grows_only_with_the_length(stretch: str) -> None:
    text = (stretch * 50_000)[:50_000]
    started = perf_counter()
    speakable(text)
    assert perf_counter() - started < 5
