"""What the languages differ in when people take turns: data only, one entry per language.

The lists are small on purpose and hold what is said to an assistant, spelled as recognisers spell it, in lower case.
"""

from __future__ import annotations

from dataclasses import dataclass

from agents.base.language import translated


@dataclass(frozen=True)
class Language:
    """How turns sound in one language.

    Attributes:
        never_last: words after which no sentence is over, whatever mark a recogniser puts behind them.
        seldom_last: words that end questions ("where are you from?") but hardly any statement.
        open_endings: the same as endings of a text, for languages without spaces; a full stop overrules them.
        question_openings: first words that make a question even where the recogniser writes no question mark.
        question_endings: endings that do.
        statement_endings: endings of whole statements, for languages whose recognisers often leave out the full stop.
        clause_openings: words that open a subordinate clause before its main clause ("as you know, ...").
        subjects: words that follow them where it is a clause ("as you know") and no phrase ("as always").
        digits: digits as words, for noticing that somebody dictates.
        nods: words with which a listener says "go on".
        stops: words that mean "be quiet".
        stop_phrases: the same in several words, or, in languages without spaces, as a text.
        courtesies: words that may stand beside a stop word without changing its meaning.
        tail_chars: so many further characters of a final are the end of the same sentence, no correction.
    """

    never_last: frozenset[str] = frozenset()
    seldom_last: frozenset[str] = frozenset()
    open_endings: tuple[str, ...] = ()
    question_openings: frozenset[str] = frozenset()
    question_endings: tuple[str, ...] = ()
    statement_endings: tuple[str, ...] = ()
    clause_openings: frozenset[str] = frozenset()
    subjects: frozenset[str] = frozenset()
    digits: frozenset[str] = frozenset()
    nods: frozenset[str] = frozenset()
    stops: frozenset[str] = frozenset()
    stop_phrases: frozenset[str] = frozenset()
    courtesies: frozenset[str] = frozenset()
    tail_chars: int = 24


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


HUMS = _set(
    "mhm mm mmm hm hmm hmmm uh um uhm er erm ah aha uhuh uh-huh mm-hmm mmhmm huh oh ooh hä äh ähm öh tja euh eh ehm "
    "haha hahaha hehe jajaja ん うーん ふん ふーん へえ ああ はは ははは はははは あはは あははは"
)
"""Sounds that a listener makes, in any language; never a turn of their own while the agent speaks."""

LANGUAGES: dict[str, Language] = {
    "en": Language(
        never_last=_set(
            "a an the and or but because if when while which to of my your his our their these those um uh er erm hmm "
            "i'm i'd i'll i've we're we'll it's that's there's what's let's you're and/or into than whether"
        ),
        seldom_last=_set("from with for at as so who some any about by like also"),
        question_openings=_set(
            "what what's where where's who who's why how how's is are can could do does did will would should may"
        ),
        question_endings=("right", "isn't it", "or not", "don't you"),
        clause_openings=_set("as if when while although though unless whenever"),
        subjects=_set("i you he she it we they there i'm you're he's she's it's we're they're"),
        digits=_set("zero oh one two three four five six seven eight nine"),
        nods=_set("yeah yep yup okay ok right sure cool nice great wow really exactly indeed true i see got it"),
        stops=_set("stop halt cancel quiet silence enough dismiss shush hush"),
        stop_phrases=frozenset(("shut up", "that's enough", "turn it off", "be quiet")),
        courtesies=_set("please ok okay now it that the alarm timer"),
    ),
    "de": Language(
        # Prefixes of verbs ("Mach das Licht an.", "Schalte es ein.") end sentences and are missing here.
        never_last=_set(
            "eine einen einem einer der die das den dem des und oder aber weil wenn dass ob als mein meine meinen dein "
            "deine deinen sein seine ihre äh ähm öh zum zur im vom beim ins"
        ),
        seldom_last=_set("von für in bei noch also dann"),
        question_openings=_set("was wo wer wie wann warum wieso weshalb welche welcher welches wohin woher wieviel"),
        question_endings=("oder", "nicht wahr", "oder nicht", "gell"),
        clause_openings=_set("wenn falls obwohl während als sobald solange"),
        subjects=_set("ich du er sie es wir ihr man"),
        digits=_set("null eins zwei zwo drei vier fünf sechs sieben acht neun"),
        nods=_set("ja jo okay ok genau gut schön klar stimmt richtig ach so aha alles verstehe ich doch"),
        stops=_set("stop stopp halt ruhe aus genug still schluss aufhören"),
        stop_phrases=frozenset(("sei still", "hör auf", "sei ruhig")),
        courtesies=_set("bitte jetzt ok okay den die das wecker timer"),
    ),
    "es": Language(
        never_last=_set(
            "un una unos unas el la los las y o pero porque si que de del a al en con por para mi tu su eh"
        ),
        seldom_last=_set("es son está este esta como muy más"),
        question_openings=_set("qué quién quiénes cómo cuándo dónde cuál cuáles cuánto cuánta cuántos cuántas"),
        question_endings=("verdad", "no es así", "o no"),
        digits=_set("cero uno dos tres cuatro cinco seis siete ocho nueve"),
        nods=_set("sí si vale claro bien ya okay ok exacto entiendo ajá bueno"),
        stops=_set("para basta alto silencio cállate stop detente calla"),
        stop_phrases=frozenset(("ya basta", "ya está")),
        courtesies=_set("por favor ya ok la el alarma temporizador"),
    ),
    "fr": Language(
        never_last=_set(
            "un une le la les des du et ou mais parce si que de à au aux en avec pour par mon ma mes ton ta tes son sa "
            "ses notre votre euh je j' l' d' qu' c'est"
        ),
        seldom_last=_set("est sont tu il elle donc dans sur chez très plus"),
        question_openings=_set(
            "que quoi qui quand où comment pourquoi combien quel quelle quels quelles est-ce qu'est"
        ),
        question_endings=("n'est-ce pas", "non", "hein", "ou pas"),
        clause_openings=_set("quand lorsque puisque comme si"),
        subjects=_set("je tu il elle on nous vous ils elles"),
        digits=_set("zéro deux trois quatre cinq six sept huit neuf"),
        nods=_set("oui ouais d'accord bien okay ok voilà ah bon je vois exactement"),
        stops=_set("arrête arrêtez assez tais silence suffit stop"),
        stop_phrases=frozenset(("ça suffit", "tais toi", "c'est bon")),
        courtesies=_set("s'il te plaît vous ok maintenant l'alarme le minuteur toi"),
    ),
    "ja": Language(
        open_endings=tuple(
            "て が けど から は を に と で の も へ し や ので たら ても けれど なら とか より まで など "
            "えっと ええと あの その それで でも だから そして または もし".split()
        ),
        question_endings=("ですか", "ますか", "ましたか", "でしょうか", "ませんか", "のか", "かな", "かい", "だっけ"),
        statement_endings=("です", "ます", "ました", "でした", "ません", "である", "ください"),
        digits=frozenset("〇零一二三四五六七八九"),
        nods=frozenset(
            ("そう", "なるほど", "そうですね", "そうです", "はい", "うん", "ええ", "そうか", "へえ", "ほんと")
        ),
        stop_phrases=frozenset(
            ("ストップ", "止めて", "とめて", "やめて", "止まれ", "静かにして", "うるさい", "もういい", "だまって")
        ),
        tail_chars=10,
    ),
}
"""By BCP-47 primary tag."""


def language(tag: str) -> Language:
    """The entry of a BCP-47 tag; English where there is none."""
    return translated(LANGUAGES, tag)
