"""The tables of a file of conversations."""

from __future__ import annotations

from agents.stores.sqlite_file import Schema

COUNTERS = ("tokens_in", "tokens_out", "cache_creation_input_tokens", "cache_read_input_tokens")
"""Columns of ``conversations`` that count tokens; they are called as in ``TokenUsage``."""

_JOURNAL = """
CREATE TABLE IF NOT EXISTS journal (
    position INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, message_id TEXT NOT NULL, body TEXT NOT NULL,
    UNIQUE (session_id, message_id)
);
"""
"""What was said and is not among the messages yet."""

CONVERSATIONS = Schema(
    """
CREATE TABLE IF NOT EXISTS conversations (
    session_id TEXT PRIMARY KEY,
    parent TEXT,
    name TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    tokens_in INTEGER NOT NULL DEFAULT 0,
    tokens_out INTEGER NOT NULL DEFAULT 0,
    cache_creation_input_tokens INTEGER NOT NULL DEFAULT 0,
    cache_read_input_tokens INTEGER NOT NULL DEFAULT 0,
    turns INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS messages (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    message_id TEXT,
    sender TEXT NOT NULL,
    is_compaction INTEGER NOT NULL,
    framework_context TEXT,
    heard TEXT,
    created_at TEXT,
    body TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS messages_by_session ON messages (session_id, position);
CREATE INDEX IF NOT EXISTS summaries ON messages (session_id, position) WHERE is_compaction;
CREATE INDEX IF NOT EXISTS messages_by_id ON messages (session_id, message_id) WHERE message_id IS NOT NULL;
CREATE TABLE IF NOT EXISTS tasks (
    session_id TEXT NOT NULL, id TEXT NOT NULL, position INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (session_id, id)
);
CREATE TABLE IF NOT EXISTS permissions (
    session_id TEXT NOT NULL, tool TEXT NOT NULL, input_key TEXT NOT NULL, status TEXT NOT NULL,
    PRIMARY KEY (session_id, tool, input_key)
);
CREATE TABLE IF NOT EXISTS inbox (
    session_id TEXT NOT NULL, id TEXT NOT NULL, status TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (session_id, id)
);
CREATE INDEX IF NOT EXISTS inbox_by_status ON inbox (session_id, status);
"""
    + _JOURNAL,
    changes=(_JOURNAL,),
)
