"""The page about faces says what is so: its examples run, and its tables are complete."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from agents.base.clock import run_virtual
from avatars import contract
from avatars.anam.passthrough import AnamPassthroughAdapter
from avatars.livekit.anam import AnamLiveKitAvatar
from avatars.livekit.tavus import TavusLiveKitAvatar
from avatars.tavus.echo import TavusEchoAdapter
from tests.avatars.bench import Bench, Page, tavus_echo
from tests.avatars.tavus_service import TavusService
from tests.docs import pages

PAGE = pages.Page("avatars.md")
ADAPTERS = (TavusEchoAdapter, AnamPassthroughAdapter, TavusLiveKitAvatar, AnamLiveKitAvatar)


def _bench() -> Bench:
    page = Page()
    return Bench(tavus_echo(TavusService(), page), page.messages)


@pytest.mark.parametrize("section", PAGE.sections, ids=lambda section: section.title)
def test_the_examples_print_what_the_page_says(section: pages.Section) -> None:
    async def run() -> None:
        names: dict[str, Any] = {"avatar": _bench().avatar, "make_bench": _bench}
        for example, printed in await pages.printed_by(PAGE, section, names):
            assert printed == example.output, f"{PAGE.path}:{example.line}"

    run_virtual(run())


def test_every_adapter_is_listed() -> None:
    listed = [(pages.quoted(row[0])[0], pages.quoted(row[1])[0]) for row in PAGE.table("adapter")]
    assert listed[:4] == [(adapter.__name__, adapter.provider) for adapter in ADAPTERS]


def test_every_event_is_listed_with_its_fields() -> None:
    known = {
        kind.type: [field.name for field in dataclasses.fields(kind)]
        for kind in contract.AvatarEvent.__subclasses__()
        if kind.__module__ == contract.__name__
    }
    assert {pages.quoted(row[0])[0]: pages.quoted(row[1]) for row in PAGE.table("event")} == known


def test_every_code_is_listed_and_no_other() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (pages.ROOT / "avatars").rglob("*.py"))
    listed = [pages.quoted(row[0])[0] for row in PAGE.table("code")]
    assert set(listed) == set(re.findall(r'"(ERR_AVATAR_\w+)"', source))
    assert len(set(listed)) == len(listed)
