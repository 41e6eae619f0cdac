"""Sentence templates compiled for matching: what a whole utterance calls, or nothing.

Templates are in hassil's notation and belong to tools. The lists of a template may be:

* a tuple of texts, each its own value;
* ``(low, high)``: a whole number, in digits or words;
* ``{"values": [...]}`` as in hassil: texts, or ``{"in": template, "out": value}``;
* ``{"range": (low, high), "decimals": True}``: a number with decimals;
* ``{"wildcard": True}``: free text, taken as it was said; with ``"pattern"`` the normalised text (number words as
  digits, signs as words) must match this regular expression entirely and is the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from agents.base.errors import ConfigError
from agents.base.language import primary
from agents.core.model import Sentences, ToolSpec
from agents.models.numberwords import number_table, one_words
from agents.models.utterance import Utterance, plain_template, readings, split_sentences

if TYPE_CHECKING:
    from hassil import IntentData, Intents, RecognizeResult, SlotList

LONGEST_CHARS = 300
"""Longer text is conversation, not a command; it is not matched at all."""

_LONGEST_SENTENCES = 4
_ONE = "__one"
_SHAPED_VALUES = 20


@dataclass(frozen=True)
class Match:
    """One sentence understood: the tool, its arguments, the language of the template, who answers what it cannot."""

    tool: str
    arguments: dict[str, Any]
    language: str
    hands_over: bool = False


@dataclass(frozen=True)
class _Template:
    """One template; ``shape`` is a cheap expression that whatever the template matches matches too."""

    tool: str
    shape: re.Pattern[str]
    clauses: frozenset[frozenset[str]]
    data: IntentData


@dataclass
class _Language:
    """All templates of one language, grouped by a clause: words of which each of the group's templates needs one.

    ``patterns`` holds the compiled pattern of each restricted wildcard.
    """

    name: str
    groups: dict[frozenset[str], list[_Template]] = field(default_factory=dict[Any, Any])
    patterns: dict[tuple[str, int, str], re.Pattern[str]] = field(default_factory=dict[Any, Any])

    def add(self, template: _Template) -> None:
        """Group a template by the clause that is met least often: few words, and long ones."""
        rarest = max(
            template.clauses, key=lambda clause: (min(map(len, clause)), -len(clause)), default=frozenset[str]()
        )
        self.groups.setdefault(rarest, []).append(template)

    def candidates(self, text: str) -> Intents | None:
        """The templates worth a closer look at ``text``, if any: hassil's own search is thorough, and slow."""
        from hassil import Intents
        from hassil.intents import Intent

        folded = text.casefold()
        chosen: dict[str, Intent] = {}
        for needed, templates in self.groups.items():
            if needed and not any(word in folded for word in needed):
                continue
            for template in templates:
                if template.shape.fullmatch(text):
                    chosen.setdefault(template.tool, Intent(template.tool)).data.append(template.data)
        return Intents(language=self.name, intents=chosen) if chosen else None


class SentenceMatcher:
    """The sentences of a set of tools, compiled once.

    Raises:
        ConfigError: ``ERR_SENTENCES`` when a template is malformed or names a list that does not exist.
    """

    def __init__(self, tools: Iterable[ToolSpec]) -> None:
        blocks: dict[str, dict[str, list[Sentences]]] = {}
        for tool in tools:
            for sentences in tool.sentences:
                blocks.setdefault(sentences.language, {}).setdefault(tool.name, []).append(sentences)
        self._languages = {language: _compile(language, named) for language, named in blocks.items()}

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages that have sentences."""
        return tuple(self._languages)

    def match(self, text: str, language: str | None = None) -> list[Match]:
        """What ``text`` calls: one match per sentence, or nothing unless every sentence matches.

        Args:
            text: what was said; over ``LONGEST_CHARS`` characters nothing matches.
            language: tried first; the other languages follow.
        """
        if not text.strip() or len(text) > LONGEST_CHARS:
            return []
        first = primary(language) if language else None
        order = sorted(self._languages, key=lambda name: name != first)
        for name in order:
            whole = self._one(text, name)
            if whole is not None:
                return [whole]
        sentences = split_sentences(text)
        if not 1 < len(sentences) <= _LONGEST_SENTENCES:
            return []
        found: list[Match] = []
        for sentence in sentences:
            match = next(filter(None, (self._one(sentence, name) for name in order)), None)
            if match is None:
                return []
            found.append(match)
        return found

    def _one(self, sentence: str, language: str) -> Match | None:
        from hassil import recognize_ranked

        if len(split_sentences(sentence)) > 1:
            return None
        compiled = self._languages[language]
        for utterance in readings(sentence, language):
            candidates = compiled.candidates(utterance.text)
            if candidates is None:
                continue
            for result in recognize_ranked(utterance.text, candidates, language=language):
                arguments = self._arguments(result, utterance, compiled)
                if arguments is not None:
                    hands_over = (result.intent_metadata or {})["hands_over"]
                    return Match(result.intent.name, arguments, language, hands_over)
        return None

    def _arguments(self, result: RecognizeResult, utterance: Utterance, compiled: _Language) -> dict[str, Any] | None:
        """The arguments of a match, or None if a restricted wildcard caught something else."""
        block = (result.intent_metadata or {})["block"]
        arguments: dict[str, Any] = {}
        for entity in result.entities_list:
            value: Any = entity.value
            if entity.is_wildcard:
                pattern = compiled.patterns.get((result.intent.name, block, entity.name))
                value = entity.text.strip()
                if pattern is None:
                    value = _as_said(utterance, value, entity.text_span)
                elif not pattern.fullmatch(value):
                    return None
            elif isinstance(value, float) and value.is_integer():
                value = int(value)
            arguments[entity.name] = value
        return arguments


def _as_said(utterance: Utterance, value: str, span: tuple[int, int] | None) -> str:
    text = utterance.text
    start = span[0] if span is not None else 0
    start += len(text[start:]) - len(text[start:].lstrip())
    if text[start : start + len(value)] != value:
        start = text.rfind(value)
    return utterance.source(start, start + len(value)) if start >= 0 else value


def _compile(language: str, named: dict[str, list[Sentences]]) -> _Language:
    number_table(language)
    compiled = _Language(language)
    for tool, blocks in named.items():
        for number, sentences in enumerate(blocks):
            _add_block(tool, number, sentences, compiled)
    return compiled


def _add_block(tool: str, number: int, sentences: Sentences, compiled: _Language) -> None:
    language = sentences.language
    slot_lists: dict[str, SlotList] = {}
    ones: dict[str, str] = {}
    patterns: dict[str, str] = {}
    for name, declared in sentences.lists.items():
        slot_lists[name] = _slot_list(tool, name, declared, language)
        if _holds_one(declared) and one_words(language):
            ones[name] = f"{name}{_ONE}"
            slot_lists[ones[name]] = _one_list(ones[name], language)
        if isinstance(declared, dict) and "pattern" in declared:
            patterns[name] = str(declared["pattern"])
            compiled.patterns[tool, number, name] = re.compile(patterns[name], re.IGNORECASE)
    shapes = {name: _list_shape(listed, patterns.get(name, "")) for name, listed in slot_lists.items()}
    for text in sentences.templates:
        template = _with_ones(plain_template(text, language), ones)
        data = _parsed(tool, number, template, slot_lists, sentences, compiled)
        sentence = data.sentences[0]
        shape = re.compile(_shape(sentence.expression, shapes), re.IGNORECASE)
        compiled.add(_Template(tool, shape, sentence.get_required_clauses({}), data))


def _parsed(
    tool: str,
    number: int,
    template: str,
    slot_lists: dict[str, SlotList],
    declared: Sentences,
    compiled: _Language,
) -> IntentData:
    from hassil import IntentData
    from hassil.parser import ParseError

    metadata = {"block": number, "hands_over": declared.hands_over}
    data = IntentData([template], slots=dict(declared.arguments), slot_lists=slot_lists, metadata=metadata)
    try:
        references = list(cast("Any", data.sentences[0].expression).list_references())
    except (ParseError, AssertionError, ValueError) as fault:
        raise ConfigError("ERR_SENTENCES", f"A sentence of {tool!r} is malformed: {template}", None, fault) from fault
    for reference in references:
        if reference.list_name not in slot_lists:
            raise ConfigError(
                "ERR_SENTENCES",
                f"A sentence of {tool!r} uses {{{reference.list_name}}}, which is not one of its lists.",
                "Declare it in lists.",
            )
        # Slots of a wildcard may be renamed ({words:item}); its pattern follows the slot's name.
        pattern = compiled.patterns.get((tool, number, reference.list_name))
        if pattern is not None:
            compiled.patterns[tool, number, reference.slot_name] = pattern
    return data


def _shape(expression: Any, lists: dict[str, str]) -> str:
    """A regular expression that matches all that ``expression`` matches; ``lists`` holds the shapes of its lists."""
    from hassil.expression import Alternative, ListReference, Permutation, Sequence, TextChunk

    if isinstance(expression, TextChunk):
        return re.sub(r"(?:\\ )+", " *", re.escape(expression.text))
    if isinstance(expression, ListReference):
        return lists.get(expression.list_name, ".+")
    if isinstance(expression, Sequence):
        return "".join(_shape(item, lists) for item in expression.items)
    if isinstance(expression, Alternative):
        return f"(?:{'|'.join(_shape(item, lists) for item in expression.items)})"
    if isinstance(expression, Permutation):
        return f"(?:{'|'.join(_shape(item, lists) for item in expression.items)}){{{len(expression.items)}}}"
    return ".*"


def _list_shape(listed: SlotList, pattern: str) -> str:
    from hassil import RangeSlotList, TextSlotList

    if isinstance(listed, RangeSlotList):
        return r" *-?\d+(?:[.,]\d+)? *"
    if isinstance(listed, TextSlotList) and len(listed.values) <= _SHAPED_VALUES:
        return f" *(?:{'|'.join(_shape(value.text_in, {}) for value in listed.values)}) *"
    # An anchor would look at the ends of the whole sentence here.
    return f" *(?:{pattern}) *" if pattern and not re.search(r"[$^]|\\[AZ]", pattern) else ".+"


def _slot_list(tool: str, name: str, declared: Any, language: str) -> SlotList:
    from hassil import TextSlotList, WildcardSlotList

    if isinstance(declared, tuple):
        values = cast("tuple[Any, ...]", declared)
        if _is_range(values):
            return _number_list(name, values[0], values[1], decimals=False)
        return TextSlotList.from_strings([plain_template(str(value), language) for value in values], name=name)
    options = cast("dict[str, Any]", declared)
    if "range" in options:
        low, high = options["range"]
        return _number_list(name, low, high, decimals=bool(options.get("decimals")))
    if "values" in options:
        return TextSlotList.from_tuples([_value(value, language) for value in options["values"]], name=name)
    if options.get("wildcard"):
        return WildcardSlotList(name=name)
    raise ConfigError("ERR_SENTENCES", f"The list {name!r} of the tool {tool!r} is neither values, range nor wildcard.")


def _value(value: Any, language: str) -> tuple[str, Any]:
    if isinstance(value, str):
        return plain_template(value, language), value
    return plain_template(str(value["in"]), language), value["out"]


def _is_range(values: Sequence[Any]) -> bool:
    return len(values) == 2 and all(isinstance(value, int | float) for value in values)


def _holds_one(declared: Any) -> bool:
    if isinstance(declared, dict):
        declared = cast("dict[str, Any]", declared).get("range", ())
    bounds = cast("Sequence[Any]", declared)
    return _is_range(bounds) and bounds[0] <= 1 <= bounds[1]


def _one_list(name: str, language: str) -> SlotList:
    from hassil import TextSlotList

    return TextSlotList.from_tuples([(word, 1) for word in one_words(language)], name=name)


def _with_ones(template: str, ones: dict[str, str]) -> str:
    """Let an article stand for the number one: ``{minutes}`` becomes ``({minutes}|{minutes__one:minutes})``."""

    def replaced(match: re.Match[str]) -> str:
        name, _, slot = match[1].partition(":")
        return f"({match[0]}|{{{ones[name]}:{slot or name}}})" if name in ones else match[0]

    return re.sub(r"\{([^{}]+)\}", replaced, template)


def _number_list(name: str, low: float, high: float, *, decimals: bool) -> SlotList:
    from hassil import RangeFractionType, RangeSlotList

    class Interval:
        """Every number from low to high, in place of hassil's enumeration of them."""

        def __contains__(self, value: float) -> bool:
            return low <= value <= high

    class Decimals(RangeSlotList):
        """A range whose numbers are not counted out."""

        def get_numbers(self) -> Any:
            return Interval()

    # Number words are digits by now, so hassil need not spell out the range.
    if not decimals:
        return RangeSlotList(name=name, start=int(low), stop=int(high), words=False)
    return Decimals(name=name, start=int(low), stop=int(high), fraction_type=RangeFractionType.TENTHS, words=False)
