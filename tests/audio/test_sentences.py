import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.base.clock import perf_counter
from audio.sentences import SentenceBuffer


def cut(text: str, language: str = "en", **options: int) -> list[str]:
    buffer = SentenceBuffer(language, **options)
    sentences = buffer.push(text)
    rest = buffer.flush()
    return [*sentences, rest] if rest else sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Hi. How are you?! Fine.", ["Hi. ", "How are you?! ", "Fine."]),
        ('He said: "Go!" (Really.) Then left.', ['He said: "Go!" ', "(Really.) ", "Then left."]),
        ("Pi is 3.14 and 1,000.5 is more. Yes.", ["Pi is 3.14 and 1,000.5 is more. ", "Yes."]),
        ("Dr. Smith met Mr. J. K. Rowling. They spoke.", ["Dr. Smith met Mr. J. K. Rowling. ", "They spoke."]),
        ("Fruit, e.g. apples, is in the U.S. Army diet.", ["Fruit, e.g. apples, is in the U.S. Army diet."]),
        (
            "It opens at 9 a.m. on Monday. At 5 p.m. It shuts.",
            ["It opens at 9 a.m. on Monday. ", "At 5 p.m. ", "It shuts."],
        ),
        ("Take No. 5 now. No. I mean it.", ["Take No. 5 now. ", "No. ", "I mean it."]),
        ("Well... maybe… Or not.", ["Well... ", "maybe… ", "Or not."]),
        (
            "See https://example.com/a.b?c=d. Or example.com. Bye.",
            ["See https://example.com/a.b?c=d. ", "Or example.com. ", "Bye."],
        ),
        ("Done.Now the next!Yes", ["Done.", "Now the next!", "Yes"]),
        ("So do I. Good.", ["So do I. ", "Good."]),
        ("**Done.** Next one.", ["**Done.** ", "Next one."]),
        (
            "# Title\n\n1. First\n2. Second. More\n- a\n- b",
            ["# Title\n", "\n1. First\n", "2. Second. ", "More\n", "- a\n", "- b"],
        ),
        ("Apples, pears, etc. and more. Etc. The end.", ["Apples, pears, etc. and more. ", "Etc. ", "The end."]),
    ],
)
def test_english(text: str, sentences: list[str]) -> None:
    assert cut(text) == sentences


@pytest.mark.parametrize(
    ("language", "text", "sentences"),
    [
        (
            "de",
            "Am 3. Mai kam Dr. Meier, z. B. um 3.14 Uhr, d.h. spät. Gut.",
            ["Am 3. Mai kam Dr. Meier, z. B. um 3.14 Uhr, d.h. spät. ", "Gut."],
        ),
        (
            "de",
            "Brot, Käse usw. gibt es. Brot usw. Dann Wein.",
            ["Brot, Käse usw. gibt es. ", "Brot usw. ", "Dann Wein."],
        ),
        ("en", "It costs 5. Then go.", ["It costs 5. ", "Then go."]),
        (
            "es",
            "¿Qué tal? La Sra. Ruiz vive en EE.UU. desde 1990. Adiós.",
            ["¿Qué tal? ", "La Sra. Ruiz vive en EE.UU. desde 1990. ", "Adiós."],
        ),
        (
            "fr",
            "« Oui. » M. Dupont viendra, p.ex. lundi. Bon.",
            ["« Oui. ", "» M. Dupont viendra, p.ex. lundi. ", "Bon."],
        ),
        ("ja", "こんにちは。今日は晴れ！本当？", ["こんにちは。", "今日は晴れ！", "本当？"]),
        (
            "ja",
            "「そうですか。」彼は「いい！」と言った。Pythonは3.14です。",
            ["「そうですか。」", "彼は「いい！」と言った。", "Pythonは3.14です。"],
        ),
        ("zh", "你好。今天3.5度！(好的。)再见", ["你好。", "今天3.5度！", "(好的。)", "再见"]),
    ],
)
def test_other_languages(language: str, text: str, sentences: list[str]) -> None:
    assert cut(text, language) == sentences


def test_a_sentence_is_out_as_soon_as_its_end_is_certain() -> None:
    buffer = SentenceBuffer()
    assert buffer.push("Hi") == []
    assert buffer.push(".") == []
    assert buffer.push(" ") == ["Hi. "]
    assert buffer.push("I know Dr") == []
    assert buffer.push(". Who") == []
    assert buffer.push("?") == []
    assert buffer.flush() == "I know Dr. Who?"
    assert buffer.flush() == ""


def test_reset_forgets() -> None:
    buffer = SentenceBuffer()
    buffer.push("never said")
    buffer.reset()
    assert buffer.push("Hi. ") == ["Hi. "]
    assert buffer.flush() == ""


def test_a_long_clause_is_cut_where_one_breathes() -> None:
    words = "and so it goes on and on through the whole afternoon, "
    sentences = cut(words * 10)
    assert len(sentences) == 4
    assert len(sentences[0]) < 120
    assert all(sentence.rstrip().endswith(",") for sentence in sentences)


def test_without_a_comma_a_space_and_without_a_space_the_length_cuts() -> None:
    assert {len(s) for s in cut("words " * 200)[:-1]} == {198}
    assert [len(s) for s in cut("a" * 500)] == [200, 200, 100]


def test_a_long_japanese_clause_is_cut_at_its_comma() -> None:
    sentences = cut("とても長い文章がいつまでも続いていくのですが、" * 8, "ja")
    assert all(s.endswith("、") for s in sentences)
    assert max(map(len, sentences)) <= 66


@pytest.mark.parametrize("stretch", ["a", "a ", " ", ".", ". ", "a, ", "Dr. ", "、", "(", "\n", "。"])
def test_time_grows_only_with_the_length(stretch: str) -> None:
    text = (stretch * 50_000)[:50_000]
    started = perf_counter()
    cut(text)
    buffer = SentenceBuffer()
    for c in text:
        buffer.push(c)
    assert perf_counter() - started < 8


ALPHABET = st.text(alphabet="aB.!?…, \n\"')1Dr。、」と*\t", max_size=120)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=120), ALPHABET), st.data(), st.sampled_from(["en", "de", "ja", "xx"]))
def test_any_split_gives_the_same_sentences_and_loses_nothing(text: str, data: st.DataObject, language: str) -> None:
    whole = cut(text, language, max_chars=40, clause_chars=24, first_clause_chars=12)
    buffer = SentenceBuffer(language, max_chars=40, clause_chars=24, first_clause_chars=12)
    pieces: list[str] = []
    at = 0
    while at < len(text):
        size = data.draw(st.integers(1, 7))
        pieces += buffer.push(text[at : at + size])
        at += size
    rest = buffer.flush()
    assert [*pieces, rest][: len(whole)] == whole
    assert "".join(whole).rstrip() == text.rstrip()
    assert all(sentence.strip() for sentence in whole)
