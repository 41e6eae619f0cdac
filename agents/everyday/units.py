"""Conversions between units of measure, with pint; its registry is loaded on the first conversion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from pydantic import BaseModel, Field

from agents.base.clock import infer
from agents.core.messages import ToolResultData
from agents.core.model import Sentences
from agents.core.tool import Tool, ToolContext
from agents.everyday.phrases import failure, pick, spoken_number, success

_REGISTRY_COST_S = 0.5
_LARGEST = 1e15


@dataclass(frozen=True)
class Unit:
    """A unit people name.

    Attributes:
        pint: its name in pint.
        en: singular, plural, then what else people say.
        de: the same in German.
    """

    pint: str
    en: tuple[str, ...]
    de: tuple[str, ...]


UNITS: tuple[Unit, ...] = (
    Unit("kilometer", ("kilometer", "kilometers", "kilometre", "kilometres", "km"), ("Kilometer", "Kilometer", "km")),
    Unit("meter", ("meter", "meters", "metre", "metres", "m"), ("Meter", "Meter", "Metern", "m")),
    Unit(
        "centimeter",
        ("centimeter", "centimeters", "centimetre", "centimetres", "cm"),
        ("Zentimeter", "Zentimeter", "Zentimetern", "cm"),
    ),
    Unit(
        "millimeter",
        ("millimeter", "millimeters", "millimetre", "millimetres", "mm"),
        ("Millimeter", "Millimeter", "Millimetern", "mm"),
    ),
    Unit("mile", ("mile", "miles"), ("Meile", "Meilen")),
    Unit("nautical_mile", ("nautical mile", "nautical miles"), ("Seemeile", "Seemeilen")),
    Unit("yard", ("yard", "yards"), ("Yard", "Yards")),
    Unit("foot", ("foot", "feet", "ft"), ("Fuß", "Fuß", "Fuss")),
    Unit("inch", ("inch", "inches"), ("Zoll", "Zoll")),
    Unit("kilogram", ("kilogram", "kilograms", "kilo", "kilos", "kg"), ("Kilogramm", "Kilogramm", "Kilo", "kg")),
    Unit("gram", ("gram", "grams", "g"), ("Gramm", "Gramm", "g")),
    Unit("milligram", ("milligram", "milligrams", "mg"), ("Milligramm", "Milligramm", "mg")),
    Unit("metric_ton", ("ton", "tons", "tonne", "tonnes", "metric tons"), ("Tonne", "Tonnen")),
    Unit("pound", ("pound", "pounds", "lbs", "lb"), ("amerikanisches Pfund", "amerikanische Pfund", "Pfund")),
    Unit("ounce", ("ounce", "ounces", "oz"), ("Unze", "Unzen")),
    Unit("stone", ("stone", "stones"), ("Stone", "Stone")),
    Unit("liter", ("liter", "liters", "litre", "litres", "l"), ("Liter", "Liter", "Litern", "l")),
    Unit(
        "milliliter",
        ("milliliter", "milliliters", "millilitre", "millilitres", "ml"),
        ("Milliliter", "Milliliter", "Millilitern", "ml"),
    ),
    Unit("deciliter", ("deciliter", "deciliters"), ("Deziliter", "Deziliter")),
    Unit("gallon", ("gallon", "gallons"), ("Gallone", "Gallonen")),
    Unit("quart", ("quart", "quarts"), ("Quart", "Quarts")),
    Unit("pint", ("pint", "pints"), ("Pint", "Pints")),
    Unit("cup", ("cup", "cups"), ("Tasse", "Tassen")),
    Unit("tablespoon", ("tablespoon", "tablespoons"), ("Esslöffel", "Esslöffel", "Esslöffeln")),
    Unit("teaspoon", ("teaspoon", "teaspoons"), ("Teelöffel", "Teelöffel", "Teelöffeln")),
    Unit(
        "degree_Celsius",
        ("degree Celsius", "degrees Celsius", "celsius", "centigrade", "degrees C", "c"),
        ("Grad Celsius", "Grad Celsius", "Celsius", "Grad C", "c"),
    ),
    Unit(
        "degree_Fahrenheit",
        ("degree Fahrenheit", "degrees Fahrenheit", "fahrenheit", "degrees F", "f"),
        ("Grad Fahrenheit", "Grad Fahrenheit", "Fahrenheit", "Grad F", "f"),
    ),
    Unit("kelvin", ("kelvin", "kelvin", "kelvins", "degrees Kelvin"), ("Kelvin", "Kelvin", "Grad Kelvin")),
    Unit(
        "kilometer_per_hour",
        ("kilometer per hour", "kilometers per hour", "kilometres per hour", "km per hour", "kph"),
        ("Stundenkilometer", "Stundenkilometer", "Kilometer pro Stunde", "km h", "Stundenkilometern"),
    ),
    Unit("mile_per_hour", ("mile per hour", "miles per hour", "mph"), ("Meile pro Stunde", "Meilen pro Stunde", "mph")),
    Unit(
        "meter_per_second",
        ("meter per second", "meters per second", "metres per second"),
        ("Meter pro Sekunde", "Meter pro Sekunde"),
    ),
    Unit("knot", ("knot", "knots"), ("Knoten", "Knoten")),
    Unit("second", ("second", "seconds"), ("Sekunde", "Sekunden")),
    Unit("minute", ("minute", "minutes"), ("Minute", "Minuten")),
    Unit("hour", ("hour", "hours"), ("Stunde", "Stunden")),
    Unit("day", ("day", "days"), ("Tag", "Tage", "Tagen")),
    Unit("week", ("week", "weeks"), ("Woche", "Wochen")),
    Unit("year", ("year", "years"), ("Jahr", "Jahre", "Jahren")),
    Unit("hectare", ("hectare", "hectares"), ("Hektar", "Hektar")),
    Unit("acre", ("acre", "acres"), ("Acre", "Acres")),
    Unit("meter**2", ("square meter", "square meters", "square metres"), ("Quadratmeter", "Quadratmeter")),
    Unit("foot**2", ("square foot", "square feet"), ("Quadratfuß", "Quadratfuß")),
)

_AMOUNT: dict[str, Any] = {"range": (-(10**12), 10**12), "decimals": True}


class ConvertArgs(BaseModel):
    """What to convert."""

    amount: float = Field(description="How much.")
    from_unit: str = Field(max_length=60, description="Unit of the amount, for example mile or degree_Celsius.")
    to_unit: str = Field(max_length=60, description="Unit wanted, for example kilometer.")
    negative: bool = Field(
        default=False, description="Whether the amount is below zero; the sign of amount also says so."
    )


def _names(language: str) -> dict[str, Any]:
    names = [(name, unit.pint) for unit in UNITS for name in pick_names(unit, language)]
    return {"values": [{"in": name, "out": pint} for name, pint in dict(names).items()]}


def pick_names(unit: Unit, language: str) -> tuple[str, ...]:
    """What ``unit`` is called in ``language`` (German, else English): singular, plural, others."""
    return unit.de if language == "de" else unit.en


@cache
def _sentences() -> tuple[Sentences, ...]:
    """The same objects each time: what was compiled for them is found again by their identity."""
    english, german = _names("en"), _names("de")
    lists_en = {"amount": _AMOUNT, "from_unit": english, "to_unit": english}
    lists_de = {"amount": _AMOUNT, "from_unit": german, "to_unit": german}
    templates_en = (
        "(what is|how much is|how many is|convert|change) [minus] {amount} {from_unit} (in|to|into|in to) {to_unit}",
        "[minus] {amount} {from_unit} (in|to|into) {to_unit}",
        "how many {to_unit} (is|are|are there|is there|make|are in|is in|in) [in] [minus] {amount} {from_unit}",
        "how many {to_unit} (does|do) {amount} {from_unit} (have|make)",
        "how (long|far|heavy|hot|cold|warm|fast) is [minus] {amount} {from_unit} in {to_unit}",
        "what is [minus] {amount} {from_unit} in {to_unit}",
    )
    templates_de = (
        "(was|wie viel) (ist|sind) [minus] {amount} {from_unit} in {to_unit}",
        "[minus] {amount} {from_unit} in {to_unit}",
        "wie viele {to_unit} (sind|hat|haben|entsprechen) [minus] {amount} {from_unit}",
        "wie viel {to_unit} (sind|hat|haben|entsprechen|ist) [minus] {amount} {from_unit}",
        "(rechne|rechnen sie|konvertiere|wandle) [minus] {amount} {from_unit} in {to_unit} [um]",
        "[minus] {amount} {from_unit} in {to_unit} (umrechnen|umwandeln)",
    )

    def both(language: str, templates: tuple[str, ...], lists: dict[str, Any]) -> tuple[Sentences, ...]:
        plain = tuple(text.replace("[minus] ", "") for text in templates)
        below = tuple(text.replace("[minus] ", "minus ") for text in templates if "[minus]" in text)
        return Sentences(language, plain, lists), Sentences(language, below, lists, {"negative": True})

    return (*both("en", templates_en, lists_en), *both("de", templates_de, lists_de))


@lru_cache(maxsize=1)
def _registry() -> Any:
    import pint

    return pint.UnitRegistry(autoconvert_offset_to_baseunit=False)


def _spelled(name: str) -> Unit | None:
    """The unit that ``name`` means: its pint name or anything people call it."""
    wanted = name.strip().lower().replace("_", " ")
    for unit in UNITS:
        if wanted in {unit.pint.lower().replace("_", " "), *(said.lower() for said in (*unit.en, *unit.de))}:
            return unit
    return None


def convert(amount: float, source: Unit, target: Unit) -> float | None:
    """``amount`` of ``source`` in ``target``, or None when they measure different things."""
    import pint

    registry = _registry()
    try:
        return float(registry.Quantity(amount, source.pint).to(target.pint).magnitude)
    except pint.DimensionalityError:
        return None


def _rounded(value: float) -> tuple[float, bool]:
    """``value`` as it is said, and whether that is exact: four significant digits, whole numbers as they are."""
    if value == 0:
        return 0.0, True
    decimals = max(0, min(9, 3 - math.floor(math.log10(abs(value)))))
    shown = round(value, decimals)
    return shown, math.isclose(shown, value, rel_tol=1e-12)


def _said(value: float, unit: Unit, language: str) -> str:
    names = pick_names(unit, "de" if language.startswith("de") else "en")
    number = spoken_number(value, language, digits=9)
    return f"{number} {names[0] if abs(value) == 1 else names[1]}"


def unit_tools() -> list[Tool[Any]]:
    """The tool ``convert_units``."""

    async def convert_units(args: ConvertArgs, ctx: ToolContext) -> ToolResultData:
        source, target = _spelled(args.from_unit), _spelled(args.to_unit)
        language = ctx.language
        if source is None or target is None:
            unknown = args.from_unit if source is None else args.to_unit
            return failure(
                {"unknown_unit": unknown},
                pick(language, en=f"I don't know the unit {unknown}.", de=f"Die Einheit {unknown} kenne ich nicht."),
            )
        amount = -abs(args.amount) if args.negative else args.amount
        if not math.isfinite(amount) or abs(amount) > _LARGEST:
            return failure({}, pick(language, en="That number is too large.", de="Diese Zahl ist mir zu groß."))
        value = await infer(lambda: convert(amount, source, target), cost_s=_REGISTRY_COST_S)
        if value is None:
            return failure(
                {"from": source.pint, "to": target.pint},
                pick(
                    language,
                    en=f"{source.en[1].capitalize()} can't be converted to {target.en[1]}.",
                    de=f"{source.de[1]} lassen sich nicht in {target.de[1]} umrechnen.",
                ),
            )
        shown, exact = _rounded(value)
        given, got = _said(amount, source, language), _said(shown, target, language)
        verb = pick(language, en="is" if abs(amount) == 1 else "are", de="ist" if abs(amount) == 1 else "sind")
        about = "" if exact else pick(language, en="about ", de="etwa ")
        return success({"amount": value, "unit": target.pint}, f"{given} {verb} {about}{got}.")

    return [
        Tool(
            "convert_units",
            "Convert an amount between units of length, mass, volume, temperature, speed, area or time.",
            convert_units,
            ConvertArgs,
            sentences=_sentences(),
        )
    ]
