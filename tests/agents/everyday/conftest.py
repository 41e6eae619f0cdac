"""Fixtures: a desk, and the matcher of its tools compiled once."""

from __future__ import annotations

import pytest

from agents.everyday import everyday_tools
from agents.everyday.book import EverydayBook
from agents.everyday.timers import TimerBook
from agents.models.matcher import SentenceMatcher
from tests.agents.everyday.desk import BERLIN, Desk


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture(scope="session")
def matcher() -> SentenceMatcher:
    book = EverydayBook()
    return SentenceMatcher(tool.spec() for tool in everyday_tools(book, TimerBook(book), zone=BERLIN))
