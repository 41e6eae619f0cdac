"""What a configuration becomes: providers, weights, stores, turn settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.base.abort import AbortToken
from agents.base.credentials import Credentials
from agents.base.errors import ConfigError, GloveError
from agents.core.events import AgentEvent
from agents.core.messages import Message
from agents.core.model import PromptRequest
from agents.models.fallback import FallbackModel
from agents.models.honest import HonestModel
from agents.models.intents import IntentFirst
from agents.models.scripted import ScriptedModel
from appliance.config.schema import GloveConfig
from appliance.daemon.conversations import said
from appliance.session.build import load_parts, voice_settings
from appliance.session.mind import build_mind, build_model, provider_in_force, store_path
from appliance.session.parts import build_partials, build_recogniser, build_vad, build_voices, recogniser_id
from appliance.session.stock import needed_weights, weights_store
from appliance.session.turn_judges import TurnJudges, build_judges
from audio.pcm import silence
from audio.turns.hold import Utterance
from audio.vad.energy import EnergyVad


def config(**sections: dict[str, Any]) -> GloveConfig:
    return GloveConfig(**{"store": {"path": "memory"}, **sections})  # type: ignore[arg-type]


async def _ignore(_event: AgentEvent) -> None:
    pass


def credentials(**environment: str) -> Credentials:
    return Credentials(folders=(), environ=environment)


@pytest.mark.parametrize(
    ("provider", "environment", "expected"),
    [
        ("auto", {}, "none"),
        ("auto", {"ANTHROPIC_API_KEY": "sk-ant-123456"}, "anthropic"),
        ("none", {"ANTHROPIC_API_KEY": "sk-ant-123456"}, "none"),
        ("simulated", {"ANTHROPIC_API_KEY": "sk-ant-123456"}, "simulated"),
    ],
)
def test_nothing_is_sent_anywhere_without_a_key_or_against_the_configuration(
    provider: str, environment: dict[str, str], expected: str
) -> None:
    assert provider_in_force(config(model={"provider": provider}), credentials(**environment)) == expected


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("none", "intents+"),
        ("anthropic", "intents+anthropic:claude-x"),
        ("bedrock", "intents+bedrock:claude-x"),
        ("simulated", ""),
    ],
)
def test_the_model_in_force(provider: str, name: str) -> None:
    chosen = config(model={"provider": provider, "name": "claude-x"})
    model = build_model(chosen, provider, credentials(ANTHROPIC_API_KEY="sk-ant-123456"))
    assert model.name.startswith(name)
    assert model.name.startswith("intents+") == (provider != "simulated")


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"provider": "gemini"}, "intents+gemini:gemini-2.5-flash"),
        ({"provider": "ollama", "name": "qwen3"}, "intents+ollama:qwen3"),
        ({"provider": "openai-compat", "name": "m", "base_url": "http://10.0.0.2/v1"}, "intents+openai-compat:m"),
    ],
)
def test_a_model_by_key_or_server(settings: dict[str, Any], name: str) -> None:
    chosen = config(model=settings)
    assert build_model(chosen, settings["provider"], credentials(GEMINI_API_KEY="k-1234567")).name == name


@pytest.mark.parametrize(("fallback", "other"), [("alone", "alone"), ("smollm", "smollm:smollm2-135m"), ("none", None)])
def test_who_answers_while_the_provider_is_in_trouble(fallback: str, other: str | None) -> None:
    chosen = config(model={"provider": "ollama", "name": "qwen3", "fallback": fallback}, turns={"vad": "energy"})
    model = build_model(chosen, "ollama", credentials())
    assert isinstance(model, IntentFirst)
    inner = model.inner
    assert (inner.fallback.name if isinstance(inner, FallbackModel) else None) == other
    assert ("smollm2-135m" in needed_weights(chosen)) == (fallback == "smollm")


@pytest.mark.parametrize(
    ("settings", "remedy"),
    [
        ({"provider": "openai"}, "OPENAI_API_KEY"),
        ({"provider": "lmstudio"}, r"model\.name"),
        ({"provider": "openai-compat", "name": "m"}, r"model\.base_url"),
    ],
)
def test_what_a_provider_lacks_is_named(settings: dict[str, Any], remedy: str) -> None:
    with pytest.raises(ConfigError, match=remedy):
        build_model(config(model=settings), settings["provider"], credentials())


def test_a_configured_model_without_its_key_says_where_to_put_it() -> None:
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY"):
        build_model(config(), "anthropic", credentials())


async def test_the_everyday_tools_come_with_the_agent_but_not_with_a_simulated_model() -> None:
    for provider, has_tools in (("none", True), ("simulated", False)):
        mind = build_mind(config(model={"provider": provider}), credentials())
        names = {tool.name for tool in mind.agent().tools}
        assert ({"get_time", "set_timer", "calculate"} <= names) == has_tools
        assert bool(names) == has_tools
        await mind.close()


async def test_only_a_model_that_chooses_tools_gets_a_list_of_tasks_and_an_inbox() -> None:
    for provider, chooses in (("anthropic", True), ("none", False), ("smollm", False)):
        mind = build_mind(config(model={"provider": provider}), credentials(ANTHROPIC_API_KEY="k"))
        names = [tool.name for tool in mind.agent().tools]
        assert (names[:2] == ["glove_update_tasks", "glove_post_to_inbox"]) == chooses
        assert any(name.startswith("glove_") for name in names) == chooses
        await mind.close()


async def test_the_small_model_comes_from_the_configured_store_of_weights(tmp_path: Path) -> None:
    chosen = config(model={"provider": "smollm"}, weights={"dir": str(tmp_path / "mine"), "sources": ["cache"]})
    model = build_model(chosen, "smollm")
    with pytest.raises(GloveError, match="mine") as fault:
        await model.prompt(PromptRequest("", [Message(sender="user", text="Tell me more.")]), _ignore, AbortToken())
    assert fault.value.code == "ERR_WEIGHTS_UNAVAILABLE"


class Remote(HonestModel):
    """A model at the other end of a connection."""

    def __init__(self) -> None:
        self.is_open: bool | None = None

    async def warm(self) -> None:
        self.is_open = True

    async def close(self) -> None:
        self.is_open = False


async def test_the_models_connection_opens_and_closes_with_the_mind() -> None:
    remote = Remote()
    mind = replace(build_mind(config(), credentials()), model=IntentFirst(remote))
    await mind.warm()
    assert remote.is_open
    await mind.close()
    assert remote.is_open is False


async def test_the_models_are_let_go_with_the_parts() -> None:
    parts = await load_parts(config(speech={"stt": "simulated", "tts": "simulated"}))
    closed: list[object] = []
    parts.stt.close = lambda: closed.append(parts.stt)  # type: ignore[method-assign]
    await parts.close()
    assert closed == [parts.stt]


async def test_lists_survive_in_a_named_store(tmp_path: Path) -> None:
    kept = config(store={"path": str(tmp_path / "deep" / "glove.db")})
    mind = build_mind(kept, credentials())
    await mind.book.add_item("shopping", "milk")
    await mind.close()
    again = build_mind(kept, credentials())
    assert await again.book.items("shopping") == ["milk"]
    await again.close()


@pytest.mark.parametrize(
    ("path", "expected"),
    [("memory", None), ("/a/b.db", Path("/a/b.db")), ("~/b.db", Path.home() / "b.db")],
)
def test_where_the_store_is(path: str, expected: Path | None) -> None:
    expected = Path("~/b.db").expanduser() if path.startswith("~") else expected
    assert store_path(config(store={"path": path})) == expected


def test_the_usual_store_is_in_the_users_data_folder(tmp_path: Path) -> None:
    assert store_path(GloveConfig()) == tmp_path / "home" / "glove" / "glove.db"


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        ({}, ["silero-vad", "whisper-tiny.en", "whisper-base", "moonshine-tiny-en", "smart-turn-v3.2"]),
        ({"turns": {"vad": "energy"}}, ["whisper-tiny.en", "whisper-base", "moonshine-tiny-en", "smart-turn-v3.2"]),
        ({"speech": {"stt": "whisper-base", "partials": False}}, ["silero-vad", "whisper-base", "smart-turn-v3.2"]),
        ({"speech": {"language": "de"}}, ["silero-vad", "whisper-base", "smart-turn-v3.2"]),
        ({"speech": {"language": "de"}, "turns": {"detector": "rules"}}, ["silero-vad", "whisper-base"]),
        ({"speech": {"language": "de"}, "turns": {"mode": "manual"}}, ["silero-vad", "whisper-base"]),
        ({"speech": {"stt": "simulated"}, "turns": {"vad": "energy"}}, []),
        (
            {"speech": {"stt": "simulated"}, "model": {"provider": "smollm"}},
            ["silero-vad", "smollm2-135m"],
        ),
    ],
)
def test_which_weights_are_needed(sections: dict[str, dict[str, Any]], expected: list[str]) -> None:
    assert needed_weights(config(**sections)) == expected


def test_the_configured_folder_and_sources_of_weights(tmp_path: Path) -> None:
    store = weights_store(config(weights={"dir": str(tmp_path), "sources": ["cache"]}))
    assert store.root == tmp_path
    assert store.status("whisper-base").state == "missing"


@pytest.mark.parametrize("speech", [{"stt": "whisper-tiny.en"}, {"language": "de"}])
def test_a_recogniser_is_chosen_without_measuring_where_there_is_no_choice(speech: dict[str, str]) -> None:
    expected = "whisper-tiny.en" if "stt" in speech else "whisper-base"
    assert recogniser_id(config(speech=speech)) == expected


@pytest.mark.parametrize("speech", [{"partials": False}, {"language": "de"}, {"stt": "simulated"}])
def test_no_partials_where_they_would_be_wrong(speech: dict[str, Any]) -> None:
    assert build_partials(config(speech=speech)) is None


def test_simulated_parts_keep_their_configured_latencies() -> None:
    simulated = config(
        speech={"stt": "simulated", "tts": "simulated"},
        simulated={"stt_ms": 70, "transcript": "Hello.", "tts_first_audio_ms": 30},
    )
    stt = build_recogniser(simulated)
    assert stt.cost_s == 0.07
    assert [stt.transcribe(silence(16_000)).text for _ in range(3)] == ["Hello."] * 3
    assert build_voices(simulated).first_audio_s == 0.03  # type: ignore[attr-defined]


def test_turn_settings_reach_the_engine() -> None:
    chosen = config(turns={"mode": "manual", "preroll_ms": 300, "vad": "energy"}, speech={"language": "de-AT"})
    settings = voice_settings(chosen)
    assert (settings.turn_mode, settings.turns.preroll_ms) == ("manual", 300)
    assert (settings.language, settings.reply_language) == ("de", "de")
    assert isinstance(build_vad(chosen), EnergyVad)


@pytest.mark.parametrize(
    ("provider", "wanted", "preemptive"),
    [
        ("anthropic", "auto", True),
        ("anthropic", "off", False),
        ("none", "auto", False),
        ("smollm", "auto", False),
        ("smollm", "on", True),
    ],
)
def test_a_model_on_this_machine_is_not_asked_in_vain(provider: str, wanted: str, preemptive: bool) -> None:
    chosen = config(model={"provider": provider}, turns={"preemptive": wanted})
    assert voice_settings(chosen).turns.preemptive is preemptive


async def test_holds_reach_the_detector() -> None:
    chosen = config(
        turns={
            "command_hold_ms": 1,
            "question_hold_ms": 2,
            "statement_hold_ms": 3,
            "unfinished_hold_ms": 4,
            "dictation_hold_ms": 5,
        }
    )
    mind = build_mind(chosen, credentials())
    assert isinstance(mind.model, IntentFirst)
    mind.model.warm(mind.tools)
    detector = TurnJudges().detector(chosen, mind)
    said = ["What time is it?", "Is the sky blue?", "The sky is blue.", "The sky is", "0 0 7"]
    assert [(await detector.judge(Utterance(text))).ms for text in said] == [1, 2, 3, 4, 5]
    await mind.close()


@pytest.mark.parametrize("detector", ["rules", "combined", "smart-turn"])
def test_turns_end_by_their_words_where_the_ear_is_missing_or_not_wanted(detector: str, tmp_path: Path) -> None:
    nowhere = {"dir": str(tmp_path), "sources": ["cache"]}
    judges = build_judges(config(turns={"detector": detector}, weights=nowhere))
    assert (judges.ear, judges.scorer) == (None, None)
    assert (judges.trouble is not None) == (detector != "rules")


def test_a_scorer_of_texts_needs_an_address() -> None:
    with pytest.raises(ConfigError, match=r"turns\.scorer_url"):
        build_judges(config(turns={"detector": "text"}))
    with pytest.raises(ConfigError, match=r"neither http nor https"):
        build_judges(config(turns={"detector": "text", "scorer_url": "ftp://x"}))
    judges = build_judges(config(turns={"detector": "text", "scorer_url": "http://x"}))
    assert judges.scorer is not None and judges.ear is None


def skills(folder: Path) -> str:
    (folder / "heating").mkdir(parents=True)
    (folder / "heating" / "SKILL.md").write_text("---\ndescription: How to heat.\n---\nTurn the knob.", "utf-8")
    return str(folder)


async def test_skills_of_a_folder_are_offered_to_a_model_that_chooses_tools_and_can_be_called_by_name(
    tmp_path: Path,
) -> None:
    folder = {"folder": skills(tmp_path / "skills")}
    for provider, chooses in (("anthropic", True), ("none", False), ("smollm", False)):
        mind = build_mind(config(model={"provider": provider}, skills=folder), credentials(ANTHROPIC_API_KEY="k"))
        glove = mind.agent()
        lists = [tool.description for tool in glove.tools if tool.name == "glove_read_skill"]
        assert [text.count('<skill name="heating">How to heat.</skill>') for text in lists] == [1] * chooses
        glove.set_model(model := ScriptedModel(["Warm."]))
        await glove.process_request("/heating it is cold")
        read = [message.text for message in model.requests[0].messages[:-1]]
        assert read == ["[Skill: heating]\nTurn the knob."] * chooses
        await mind.close()


async def test_transcripts_show_what_was_typed_and_not_what_a_skill_added(tmp_path: Path) -> None:
    folder = {"folder": skills(tmp_path / "skills")}
    mind = build_mind(config(model={"provider": "anthropic"}, skills=folder), credentials(ANTHROPIC_API_KEY="k"))
    glove = mind.agent()
    glove.set_model(ScriptedModel(["Warm."]))
    await glove.process_request("/heating it is cold")
    assert said(await glove.store.get_messages()) == [("user", "/heating it is cold"), ("agent", "Warm.")]
    await mind.close()


def test_a_folder_of_skills_that_is_not_there_is_named_with_its_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere.*skills\.folder") as fault:
        build_mind(config(skills={"folder": str(tmp_path / "nowhere")}), credentials())
    assert fault.value.code == "ERR_SKILLS_FOLDER"
