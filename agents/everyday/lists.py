"""Lists: the shopping list, and any other list people name."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, Field

from agents.core.messages import ToolResultData
from agents.core.model import Sentences
from agents.core.tool import Tool, ToolContext
from agents.everyday.book import EverydayBook
from agents.everyday.phrases import failure, join, kept, pick, success

SHOPPING = "shopping"

_MOST_ITEMS = 500
_NAME: dict[str, Any] = {
    "wildcard": True,
    "pattern": r"(?!(?:shopping|grocery|the|my|a|all|die|meine|der|einkaufsliste)\b)\S+(?: \S+){0,1}",
}
_ITEM: dict[str, Any] = {"wildcard": True}
_SHOP_EN = "(shopping|grocery|groceries) list"
_SHOP_DE = "(einkaufsliste|einkaufszettel|einkaufs liste)"
_LISTS_EN: dict[str, Any] = {"item": _ITEM, "name": _NAME}
_LISTS_DE: dict[str, Any] = {"item": _ITEM, "name": _NAME}
_SPLIT = re.compile(r"\s*,\s*(?:and |und )?|\s+(?:and|und)\s+", re.IGNORECASE)


class AddArgs(BaseModel):
    """What to add."""

    item: str = Field(min_length=1, max_length=300, description="What to add; several things separated by commas.")
    name: str = Field(default=SHOPPING, max_length=60, description="Which list.")


class RemoveArgs(BaseModel):
    """What to take off."""

    item: str = Field(min_length=1, max_length=300)
    name: str = Field(default=SHOPPING, max_length=60)


class ListArgs(BaseModel):
    """Which list."""

    name: str = Field(default=SHOPPING, max_length=60)


_ADD_EN = "(add|put|write|place|stick)"
_ADD_DE = "(setz|setze|schreib|schreibe|füg|füge|pack|packe|tu|tue|nimm)"
_ADD = (
    Sentences(
        "en",
        (
            f"{_ADD_EN} [some] {{item}} (to|on|onto|in) [the|my|our] {_SHOP_EN}",
            f"{_ADD_EN} [some] {{item}} to [the|my] shopping",
            f"{_ADD_EN} [some] {{item}} (to|on|onto) [the|my] list",
            f"we need [some|more] {{item}} on the {_SHOP_EN}",
            f"(to|on) [the|my] {_SHOP_EN} {_ADD_EN} {{item}}",
        ),
        _LISTS_EN,
    ),
    Sentences("en", (f"{_ADD_EN} [some] {{item}} (to|on|onto) [the|my|our] {{name}} list",), _LISTS_EN),
    Sentences(
        "de",
        (
            f"{_ADD_DE} [mir] [mal] [noch] {{item}} [noch] (auf|zu|zur|in) "
            f"[die|der|den|meine|meiner|meinen] {_SHOP_DE} [hinzu]",
            f"{{item}} [noch] (auf|zu|zur) [die|der|den|meine|meiner|meinen] {_SHOP_DE} "
            "[hinzufügen|setzen|schreiben|packen]",
            f"{_ADD_DE} {{item}} (auf|zu) [die|der|meine|meiner] liste [hinzu]",
            f"(auf|zu) [die|der|den] {_SHOP_DE} {{item}} (setzen|schreiben)",
        ),
        _LISTS_DE,
    ),
    Sentences("de", (f"{_ADD_DE} {{item}} (auf|zu) [die|der|meine|meiner] {{name}} liste [hinzu]",), _LISTS_DE),
)
_READ = (
    Sentences(
        "en",
        (
            f"what is on [the|my|our] {_SHOP_EN}",
            f"(read|show|list|tell) [me] [out] [the|my|our] {_SHOP_EN} [out]",
            f"(what|which) things are on [the|my] {_SHOP_EN}",
            f"[the|my] {_SHOP_EN}",
            f"do i have anything on [the|my] {_SHOP_EN}",
            "what do (i|we) need (to buy|from the store|from the shop)",
            "what is on my list",
            f"is there anything on [the|my] {_SHOP_EN}",
        ),
    ),
    Sentences(
        "en", ("what is on [the|my|our] {name} list", "(read|show) [me] [out] [the|my|our] {name} list"), _LISTS_EN
    ),
    Sentences(
        "de",
        (
            f"was (steht|ist) [alles] (auf|in) [der|dem|meiner|meinem|unserer] {_SHOP_DE}",
            f"(lies|zeig|zeige|nenn|nenne) [mir] [mal] [die|den|meine|meinen] {_SHOP_DE} [vor]",
            f"[meine] {_SHOP_DE} [vorlesen]",
            f"[die|den] {_SHOP_DE} vorlesen",
            "was (muss|soll) ich [noch|alles] [ein]kaufen",
            "was brauchen wir [noch|alles]",
        ),
    ),
    Sentences(
        "de", ("was (steht|ist) auf [der|meiner] {name} liste", "lies [mir] [die|meine] {name} liste [vor]"), _LISTS_DE
    ),
)
_REMOVE = (
    Sentences(
        "en",
        (
            f"(remove|delete|take|cross|strike) [off] {{item}} (from|off|off of) [the|my|our] {_SHOP_EN}",
            "(remove|delete|take|cross) {item} (from|off|off of) [the|my] list",
        ),
        _LISTS_EN,
    ),
    Sentences("en", ("(remove|delete|take|cross) {item} (from|off|off of) [the|my|our] {name} list",), _LISTS_EN),
    Sentences(
        "de",
        (
            f"(streich|streiche|lösch|lösche|entfern|entferne|nimm) {{item}} (von|aus|auf) "
            f"[der|dem|meiner|meinem] {_SHOP_DE} [runter]",
            f"{{item}} (von|aus) [der|dem|meiner] {_SHOP_DE} (streichen|löschen|entfernen|nehmen)",
            "(streich|streiche|lösch|lösche|entferne) {item} von [der|meiner] liste",
        ),
        _LISTS_DE,
    ),
    Sentences("de", ("(streich|streiche|lösch|lösche|entferne) {item} von [der|meiner] {name} liste",), _LISTS_DE),
)
_CLEAR = (
    Sentences(
        "en",
        (
            f"(clear|empty|delete|erase|wipe) [out] [the|my|our] [whole|entire] {_SHOP_EN}",
            f"(remove|delete) everything (from|on|off) [the|my] {_SHOP_EN}",
        ),
    ),
    Sentences("en", ("(clear|empty|delete|erase) [the|my|our] {name} list",), _LISTS_EN),
    Sentences(
        "de",
        (
            f"(leer|leere|lösch|lösche) [die|den|meine|meinen] [ganze|ganzen] {_SHOP_DE}",
            f"[die|den] {_SHOP_DE} (leeren|löschen)",
            f"(lösch|lösche|streich|streiche|entferne) alles (von|aus) [der|dem|meiner] {_SHOP_DE}",
        ),
    ),
    Sentences("de", ("(leer|leere|lösch|lösche) [die|meine] {name} liste",), _LISTS_DE),
)


def list_tools(book: EverydayBook) -> list[Tool[Any]]:
    """The tools ``add_to_list``, ``read_list``, ``remove_from_list`` and ``clear_list``."""

    async def add(args: AddArgs, ctx: ToolContext) -> ToolResultData:
        language = ctx.language
        wanted = [item for part in _SPLIT.split(args.item) if (item := part.strip())]
        if len(await book.items(args.name)) + len(wanted) > _MOST_ITEMS:
            return failure({}, pick(language, en="That list is full.", de="Diese Liste ist voll."))
        added = [item for item in wanted if await book.add_item(args.name, item)]
        data = {"list": args.name, "added": added}
        where = _called(args.name, language)
        if not added:
            said = join(wanted, language)
            verb = pick(language, en="is" if len(wanted) == 1 else "are", de="steht" if len(wanted) == 1 else "stehen")
            return success(
                data, pick(language, en=f"{said} {verb} already on {where}.", de=f"{said} {verb} schon auf {where}.")
            )
        said = join(added, language)
        return success(data, pick(language, en=f"Added {said} to {where}.", de=f"{said} steht jetzt auf {where}."))

    async def read(args: ListArgs, ctx: ToolContext) -> ToolResultData:
        language, items = ctx.language, await book.items(args.name)
        where = _called(args.name, language)
        data = {"list": args.name, "items": items}
        if not items:
            return success(data, pick(language, en=f"There is nothing on {where}.", de=f"Auf {where} steht nichts."))
        said = join(items, language)
        verb = "is" if len(items) == 1 else "are"
        german = "steht" if len(items) == 1 else "stehen"
        return success(data, pick(language, en=f"On {where} {verb} {said}.", de=f"Auf {where} {german} {said}."))

    async def remove(args: RemoveArgs, ctx: ToolContext) -> ToolResultData:
        language = ctx.language
        where = _called(args.name, language)
        gone = await book.remove_item(args.name, args.item)
        if gone is None:
            return failure(
                {"list": args.name, "item": args.item},
                pick(language, en=f"{args.item} is not on {where}.", de=f"{args.item} steht nicht auf {where}."),
            )
        return success(
            {"list": args.name, "removed": gone},
            pick(language, en=f"Removed {gone} from {where}.", de=f"{gone} ist von {where} gestrichen."),
        )

    async def clear(args: ListArgs, ctx: ToolContext) -> ToolResultData:
        language, count = ctx.language, await book.clear_list(args.name)
        where = _called(args.name, language)
        if not count:
            return success({"removed": 0}, pick(language, en=f"{where} was empty.", de=f"Auf {where} stand nichts."))
        things = pick(language, en="1 item" if count == 1 else f"{count} items", de=f"{count} Einträge")
        if count == 1:
            things = pick(language, en="1 item", de="ein Eintrag")
        return success(
            {"removed": count},
            pick(language, en=f"Cleared {where}: {things}.", de=f"Gelöscht auf {where}: {things}."),
        )

    return [
        Tool(
            "add_to_list", "Add things to the shopping list or another named list.", kept(add), AddArgs, sentences=_ADD
        ),
        Tool("read_list", "Read a list.", kept(read), ListArgs, sentences=_READ),
        Tool("remove_from_list", "Take one thing off a list.", kept(remove), RemoveArgs, sentences=_REMOVE),
        Tool("clear_list", "Empty a list.", kept(clear), ListArgs, sentences=_CLEAR),
    ]


def _called(name: str, language: str) -> str:
    if name == SHOPPING:
        return pick(language, en="the shopping list", de="der Einkaufsliste")
    return pick(language, en=f"the {name} list", de=f"der Liste {name}")
