"""Which attachments each provider is sent, and the note that stands in for the rest."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from agents.core.messages import ContentPart, Message, Source
from agents.core.model import PromptRequest
from agents.models import anthropic_request, bedrock_request, openai_request
from agents.models.provider_table import PROVIDERS

KINDS = ("image", "document", "audio", "video")
TYPES = {"image": "image/jpeg", "document": "application/pdf", "audio": "audio/wav", "video": "video/mp4"}

TAKEN = {
    "openrouter": {"image", "image url", "video", "video url"},
    "vercel": {"image", "image url"},
    "anthropic": {"image", "image url", "document", "document url"},
    "openai": {"image", "image url", "document", "audio"},
    "gemini": {"image", "image url", "audio"},
    "minimax": {"image", "image url"},
    "kimi": {"image", "image url"},
    "glm": {"image", "image url"},
    "mimo": {"image", "image url", "audio"},
    "ollama": {"image", "image url"},
    "lmstudio": {"image", "image url"},
    "openai-compat": {"image", "image url"},
    "bedrock": {"image", "document", "video"},
}
"""What arrives as itself: as data, and by address."""


def part(kind: Any, **fields: Any) -> ContentPart:
    source = {"type": "base64", "media_type": TYPES[kind], "data": "AAAA", **fields}
    return ContentPart(type=kind, name="thing", source=Source(**source))


def sent(provider: str, *parts: ContentPart) -> list[dict[str, Any]]:
    """The parts of the user's message as they go to ``provider``."""
    content = [ContentPart(type="text", text="see"), *parts]
    request = PromptRequest("", [Message(sender="user", text="see", content=content)])
    known = PROVIDERS[provider]
    common: dict[str, Any] = {"model": "m", "max_tokens": 9, "cache": None}
    match known.format:
        case "anthropic":
            wire = anthropic_request.build(request, thinking=None, **common)
        case "bedrock":
            wire = bedrock_request.build(request, thinking=None, **common)
        case _:
            wire = openai_request.build(request, dialect=known.dialect(), **common)
    content = wire["messages"][0]["content"]
    return content[1:] if isinstance(content, list) else [{"text": line} for line in content.split("\n")[1:]]


def test_the_table_is_complete() -> None:
    assert set(TAKEN) == set(PROVIDERS)
    for provider, taken in TAKEN.items():
        assert PROVIDERS[provider].media == {name.split()[0] for name in taken}


@pytest.mark.parametrize("provider", TAKEN)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by_address", [False, True])
def test_an_attachment_or_a_note_arrives(provider: str, kind: str, by_address: bool) -> None:
    given = part(kind, type="url", data=None, url="https://example.org/x") if by_address else part(kind)
    (one,) = sent(provider, given)
    taken = (f"{kind} url" if by_address else kind) in TAKEN[provider]
    note = f"[Attachment omitted: thing ({TYPES[kind]})]"
    assert (one.get("text") == note) == (not taken)
    if taken and provider == "bedrock":
        assert next(iter(one.values()))["source"] == {"bytes": base64.b64decode("AAAA")}
    elif taken:
        assert ("https://example.org/x" if by_address else "AAAA") in str(one)


@pytest.mark.parametrize(
    ("kind", "media_type", "form"),
    [
        ("image", "", "png"),
        ("image", "image/jpg", "jpeg"),
        ("image", "image/svg+xml", None),
        ("document", "", "pdf"),
        ("document", "text/plain; charset=utf-8", "txt"),
        ("document", "text/markdown", "md"),
        ("document", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
        ("document", "application/zip", None),
        ("video", "", "mp4"),
        ("video", "video/quicktime", "mov"),
        ("video", "video/x-matroska", "mkv"),
        ("video", "video/x-msvideo", None),
    ],
)
def test_bedrock_is_told_the_format_of_a_file(kind: str, media_type: str, form: str | None) -> None:
    (one,) = sent("bedrock", part(kind, media_type=media_type))
    assert (one[kind]["format"] if form else "text" in one) == (form or True)


def test_bedrocks_documents_have_names_that_it_allows_and_that_differ() -> None:
    names = ["report.final_v2/é.pdf", "report.final_v2/é.pdf", "…", "a" * 300]
    given = [part("document").model_copy(update={"name": name}) for name in names]
    told = [one["document"]["name"] for one in sent("bedrock", *given)]
    assert told == ["report final v2 pdf", "report final v2 pdf (2)", "document", "a" * 194]


@pytest.mark.parametrize("data", ["", "not base64!", None])
def test_data_that_is_none_becomes_a_note(data: str | None) -> None:
    (one,) = sent("bedrock", part("image", data=data))
    assert one == {"text": "[Attachment omitted: thing (image/jpeg)]"}


def test_claude_reads_text_files_as_text_and_only_the_pictures_it_knows() -> None:
    text = base64.b64encode("Grüße".encode()).decode()
    (one,) = sent("anthropic", part("document", media_type="text/plain", data=text))
    assert one == {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Grüße"}}
    (one,) = sent("anthropic", part("image", media_type="image/tiff"))
    assert one["text"] == "[Attachment omitted: thing (image/tiff)]"
    (one,) = sent("anthropic", part("image", media_type="image/jpg"))
    assert one["source"]["media_type"] == "image/jpeg"
