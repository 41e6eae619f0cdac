"""Arithmetic: exact, bounded, and in words ("what is twelve percent of eighty").

``simpleeval`` reads the expression; only numbers, the operators below and ``sqrt`` exist in it, and every operator
works on fractions of bounded size, so no expression can take long or lose digits it does not say it lost.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from pydantic import BaseModel, Field

from agents.base.errors import InputError
from agents.core.messages import ToolResultData
from agents.core.model import Sentences
from agents.core.tool import Tool, ToolContext
from agents.everyday.phrases import failure, pick, spoken_number, success

LARGEST = Fraction(10**30)
"""Results beyond this (or fractions finer than one over it) are refused, not rounded."""

_LONGEST_CHARS = 200
_LARGEST_POWER = 100
_SPOKEN_DECIMALS = 4

Number = int | float | Fraction

_WORDS: tuple[tuple[str, str], ...] = (
    (r"([\d.]+) (?:percent|prozent) (?:of|von) (?:the )?", r"\1 / 100 * "),
    (r"(?:the )?square root (?:of|from) (-?[\d.]+)", r"sqrt(\1)"),
    (r"(?:die |der )?(?:quadrat)?wurzel (?:aus|von) (-?[\d.]+)", r"sqrt(\1)"),
    (r"(?:to the )?power(?: of)?|raised to(?: the power of)?|hoch", "**"),
    (r"squared|zum quadrat|im quadrat", "** 2"),
    (r"cubed", "** 3"),
    (r"plus|und|and|added to", "+"),
    (r"minus|weniger|less", "-"),
    (r"multiplied (?:by|with)|times|mal|multipliziert mit", "*"),
    (r"divided by|over|geteilt durch|dividiert durch|durch", "/"),
    (r"(?:in )?(?:open|close)d? (?:bracket|parenthesis)|klammer (?:auf|zu)", ""),
)

_N = r"(?:minus |-)?\d+(?:\.\d+)?"
_OPERATOR_EN = r"plus|minus|times|multiplied by|divided by|over|to the power of|raised to the power of"
_OPERATOR_DE = r"plus|minus|mal|geteilt durch|durch|hoch|multipliziert mit|dividiert durch"
_TERM_EN = rf"(?:{_N}(?: squared| cubed)?|(?:the )?square root of {_N}|{_N} percent of {_N})"
_TERM_DE = rf"(?:{_N}(?: zum quadrat)?|(?:die |der )?(?:quadrat)?wurzel (?:aus|von) {_N}|{_N} prozent von {_N})"
_ALONE_EN = rf"(?:{_N} (?:squared|cubed)|(?:the )?square root of {_N}|{_N} percent of {_N})"
_SUM_EN = rf"(?:{_TERM_EN}(?: (?:{_OPERATOR_EN}) {_TERM_EN})+|{_ALONE_EN})"
_ALONE_DE = rf"(?:{_N} zum quadrat|(?:die |der )?(?:quadrat)?wurzel (?:aus|von) {_N}|{_N} prozent von {_N})"
_SUM_DE = rf"(?:{_TERM_DE}(?: (?:{_OPERATOR_DE}) {_TERM_DE})+|{_ALONE_DE})"


class SumArgs(BaseModel):
    """What to work out."""

    expression: str = Field(
        max_length=_LONGEST_CHARS,
        description="Arithmetic in digits and + - * / ** ( ) sqrt(), for example (3 + 4) * 2.5; words work too.",
    )


def evaluate(expression: str) -> Fraction | float:
    """The value of an arithmetic expression in signs or words (English or German): exact, or a float for a root.

    Raises:
        InputError: ``ERR_SUM_SYNTAX``, ``ERR_SUM_ZERO`` (division by zero), ``ERR_SUM_RANGE`` (too large or too fine),
            ``ERR_SUM_ROOT`` (root of a negative number).
    """
    from simpleeval import InvalidExpression, SimpleEval

    if len(expression) > _LONGEST_CHARS:
        raise InputError("ERR_SUM_RANGE", "The sum is too long.")
    text = expression.lower().replace("×", "*").replace("÷", "/").replace("^", "**").strip(" =?.")
    for words, sign in _WORDS:
        text = re.sub(words if "(" in words[:1] else rf"\b(?:{words})\b", sign, text)
    if not re.fullmatch(r"(?:[\d.\s+*/()-]|sqrt)+", text):
        raise InputError("ERR_SUM_SYNTAX", f"This is not arithmetic: {expression}.")
    evaluator = SimpleEval(operators=_OPERATORS, functions={"sqrt": _root}, names={})
    try:
        # Literals are turned into exact fractions before anything is computed from them.
        value = evaluator.eval(re.sub(r"(?<![\d.])0+(?=\d)", "", text).strip())
    except (InvalidExpression, SyntaxError, TypeError, ValueError, RecursionError, MemoryError) as fault:
        raise InputError("ERR_SUM_SYNTAX", f"This is not arithmetic: {expression}.", None, fault) from fault
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise InputError("ERR_SUM_SYNTAX", f"This is not arithmetic: {expression}.")
    return _bounded(value)


def _exact(value: Number) -> Fraction | float:
    """Literals as fractions ("0.1" is a tenth); results of roots stay floats."""
    if isinstance(value, _Rounded):
        return value
    return Fraction(str(value)) if isinstance(value, float) else Fraction(value)


class _Rounded(float):
    """A float that is a result, not a literal."""


def _bounded(value: Number) -> Fraction | float:
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError("ERR_SUM_RANGE", "The result is too large.")
    exact = _exact(value)
    if abs(exact) > LARGEST or (isinstance(exact, Fraction) and exact.denominator > LARGEST):
        raise InputError("ERR_SUM_RANGE", "The numbers are too large.")
    return exact


def _binary(work: Callable[[Any, Any], Any]) -> Callable[[Number, Number], Number]:
    def apply(left: Number, right: Number) -> Number:
        a, b = _bounded(left), _bounded(right)
        result = work(a, b)
        return _bounded(_Rounded(result) if isinstance(result, float) else result)

    return apply


def _divide(left: Fraction, right: Fraction) -> Fraction:
    if right == 0:
        raise InputError("ERR_SUM_ZERO", "Division by zero.")
    return left / right


def _power(base: Fraction | float, exponent: Fraction | float) -> Fraction | float:
    if abs(exponent) > _LARGEST_POWER:
        raise InputError("ERR_SUM_RANGE", "The power is too large.")
    if base == 0 and exponent < 0:
        raise InputError("ERR_SUM_ZERO", "Division by zero.")
    if exponent == int(exponent):
        size = abs(exponent) * math.log10(max(abs(base), 1 / abs(base))) if base else 0
        if size > math.log10(LARGEST):
            raise InputError("ERR_SUM_RANGE", "The result is too large.")
        return base ** int(exponent)
    if base < 0:
        raise InputError("ERR_SUM_ROOT", "There is no real root of a negative number.")
    return float(base) ** float(exponent)


def _root(value: Number) -> Number:
    exact = _bounded(value)
    if exact < 0:
        raise InputError("ERR_SUM_ROOT", "There is no real root of a negative number.")
    if isinstance(exact, Fraction):
        top, bottom = math.isqrt(exact.numerator), math.isqrt(exact.denominator)
        if top * top == exact.numerator and bottom * bottom == exact.denominator:
            return Fraction(top, bottom)
    return _Rounded(math.sqrt(exact))


def _negative(value: Number) -> Number:
    return -_bounded(value)


_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: _binary(operator.add),
    ast.Sub: _binary(operator.sub),
    ast.Mult: _binary(operator.mul),
    ast.Div: _binary(_divide),
    ast.Pow: _binary(_power),
    ast.USub: _negative,
    ast.UAdd: _bounded,
}

_SENTENCES = (
    Sentences(
        "en",
        (
            "(what|how much) is {expression}",
            "calculate {expression}",
            "compute {expression}",
            "work out {expression}",
            "what does {expression} (equal|make)",
            "how much does {expression} make",
            "{expression}",
            "what {expression} is",
            "{expression} equals what",
            "what are {expression}",
        ),
        {"expression": {"wildcard": True, "pattern": _SUM_EN}},
    ),
    Sentences(
        "de",
        (
            "(was|wie viel) (ist|sind|ergibt|gibt|macht) {expression}",
            "berechne {expression}",
            "rechne {expression} [aus]",
            "{expression}",
            "(was|wie viel) {expression} (ist|sind|ergibt|macht)",
            "[was ist] das ergebnis von {expression}",
        ),
        {"expression": {"wildcard": True, "pattern": _SUM_DE}},
    ),
)


def sum_tools() -> list[Tool[Any]]:
    """The tool ``calculate``."""

    async def calculate(args: SumArgs, ctx: ToolContext) -> ToolResultData:
        try:
            value = evaluate(args.expression)
        except InputError as fault:
            return failure({"expression": args.expression, "code": fault.code}, _refusal(fault.code, ctx.language))
        data = {"expression": args.expression, "value": int(value) if value == int(value) else float(value)}
        return success(data, spoken_result(value, ctx.language))

    return [
        Tool(
            "calculate",
            "Work out arithmetic exactly: sums, percentages, powers, square roots. Use it for every calculation.",
            calculate,
            SumArgs,
            sentences=_SENTENCES,
        )
    ]


def spoken_result(value: Fraction | float, language: str) -> str:
    """The result for the ear; "about" where digits were left out."""
    rounded = round(Fraction(value), _SPOKEN_DECIMALS)
    if value and not rounded:
        rounded = Fraction(f"{float(value):.3g}")
        said = f"{float(value):.3g}"
        return pick(language, en=f"That is about {said}.", de=f"Das ist etwa {said.replace('.', ',')}.")
    said = str(int(rounded)) if rounded == int(rounded) else spoken_number(float(rounded), language)
    exact = rounded == value
    return pick(
        language,
        en=f"That is {'' if exact else 'about '}{said}.",
        de=f"Das ist {'' if exact else 'etwa '}{said}.",
    )


def _refusal(code: str, language: str) -> str:
    texts = {
        "ERR_SUM_ZERO": ("I can't divide by zero.", "Durch null kann ich nicht teilen."),
        "ERR_SUM_RANGE": ("These numbers are too large for me.", "Diese Zahlen sind mir zu groß."),
        "ERR_SUM_ROOT": (
            "A negative number has no real root.",
            "Eine negative Zahl hat keine reelle Wurzel.",
        ),
    }
    en, de = texts.get(code, ("I could not work that out.", "Das konnte ich nicht ausrechnen."))
    return pick(language, en=en, de=de)
