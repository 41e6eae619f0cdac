"""Holds a conversation with every recording and compares the committed turns with the transcripts.

    .venv/bin/python benchmarks/conversations.py [--audio DIR] [--out DIR] [--markdown]

Each recording is spoken to a fresh session (``glove talk --pace fast``, embedded defaults). The words of all committed
turns together are compared with the reference by word error rate (Whisper's English normaliser; characters for
Japanese).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import jiwer
from whisper_normalizer.basic import BasicTextNormalizer
from whisper_normalizer.english import EnglishTextNormalizer

REPO = Path(__file__).resolve().parent.parent


@dataclass
class Row:
    """One recording: what was said and what became of it."""

    name: str
    language: str
    reference: str
    turns: list[str]
    error: float
    answered: bool


def main() -> int:
    """Run over all recordings; exit 1 if one was not answered."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--audio", type=Path, default=REPO.parent / "shared" / "audio")
    parser.add_argument("--out", type=Path, help="keep recordings and events in this folder")
    parser.add_argument("--markdown", action="store_true", help="print a table for the docs")
    arguments = parser.parse_args()
    folder = arguments.out or Path(tempfile.mkdtemp(prefix="glove-conversations-"))
    folder.mkdir(parents=True, exist_ok=True)
    clips = json.loads((arguments.audio / "manifest.json").read_text(encoding="utf-8"))
    rows = [converse(arguments.audio / clip["file"], clip, folder) for clip in clips]
    report(rows, markdown=arguments.markdown)
    return 0 if all(row.answered for row in rows) else 1


def converse(source: Path, clip: dict[str, str], folder: Path) -> Row:
    """Speak one recording to a fresh session."""
    from appliance.commands.conversation import run_talk
    from appliance.commands.talk import TalkOptions
    from appliance.config.file import load

    out, events = folder / f"{clip['id']}.wav", folder / f"{clip['id']}.jsonl"
    run_talk(TalkOptions(source, out, events, "fast"), load(None).config)
    lines = [json.loads(line) for line in events.read_text(encoding="utf-8").splitlines()]
    turns = [line["text"] for line in lines if line["type"] == "user_turn"]
    answered = any(line["type"] == "agent_speech_stopped" and line["heard"] for line in lines)
    error = error_rate(clip["text"], " ".join(turns), clip["language"])
    return Row(clip["id"], clip["language"], clip["text"], turns, error, answered)


def error_rate(reference: str, said: str, language: str) -> float:
    """Word error rate, or character error rate for Japanese, after normalisation."""
    normalise = EnglishTextNormalizer() if language == "en" else BasicTextNormalizer()
    if language == "ja":
        return float(jiwer.cer(normalise(reference).replace(" ", ""), normalise(said).replace(" ", "") or " "))
    return float(jiwer.wer(normalise(reference), normalise(said) or " "))


def report(rows: list[Row], *, markdown: bool) -> None:
    """Print one line per recording and the totals."""
    if markdown:
        print("| recording | language | turns | error % | said |\n|---|---|---|---|---|")
    for row in rows:
        said = " / ".join(row.turns)
        cells = (row.name, row.language, str(len(row.turns)), f"{100 * row.error:.1f}", said)
        print("| " + " | ".join(cells) + " |" if markdown else "  ".join(cells))
    english = [row for row in rows if row.language == "en"]
    normalise = EnglishTextNormalizer()
    total = jiwer.wer([normalise(r.reference) for r in english], [normalise(" ".join(r.turns)) or " " for r in english])
    split = sum(len(row.turns) > 1 for row in rows)
    print(f"\n{len(rows)} recordings, {sum(row.answered for row in rows)} answered, {split} split into several turns")
    print(f"English word error rate of all turns: {100 * float(total):.2f} %")


if __name__ == "__main__":
    sys.exit(main())
