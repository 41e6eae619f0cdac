"""The mind of a configuration: model, everyday tools, and the agents they make."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.base.errors import ConfigError, InputError

if TYPE_CHECKING:
    from agents.base.credentials import Credentials
    from agents.core.display import DisplayManager
    from agents.core.extensions.content_skills import ContentSkill
    from agents.core.glove import Glove
    from agents.core.model import ConnectedModel, ModelAdapter
    from agents.core.preparers import TurnPreparers
    from agents.core.runtime_context import ContextProviders
    from agents.core.store import StoreAdapter
    from agents.core.tool import Tool
    from agents.everyday.book import EverydayBook
    from agents.everyday.timers import TimerBook
    from agents.models.intents import IntentFirst
    from appliance.config.schema import GloveConfig

AUTO_PROVIDER = "anthropic"
"""The provider that ``auto`` takes when its key is present."""

WITHOUT_TOOLS = frozenset({"none", "smollm", "simulated"})
"""Providers whose models call no tool by themselves; the sentences that tools declare are all that calls one."""

SENTENCES_COST_S = 0.1
"""Declared time of compiling the sentences of the tools, on the virtual clock."""

INSTRUCTIONS = (
    "You are the voice of a small appliance in somebody's home. Everything you write is spoken aloud, so answer in one "
    "to three short sentences of plain speech: no lists, no headings, no symbols, no web addresses. Answer in the "
    "language of the last question. The question was recognised from speech and may contain a wrong word; take the "
    "likeliest meaning, and ask back only if there is none. Use a tool whenever one fits, and say what came of it. "
    "What you ask with a tool is read aloud, so do not ask it in your own words as well. "
    "Say so when you do not know something."
)


@dataclass(frozen=True)
class Mind:
    """What all conversations of a process share: the model, the tools and what they keep.

    Attributes:
        model: answers.
        tools: what every agent is given.
        book: lists and notes.
        timers: runs timers and emits ``TimerDue``.
        timer_book: where timers are stored: ``book``, or memory when they shall not outlive the process.
        path: the file of conversations, or None for memory.
        instructions: the model's system prompt.
        calls_tools: whether the model chooses tools by itself.
        skills: what such a model can read, and what its user may call by name.
    """

    model: ModelAdapter
    tools: tuple[Tool[Any], ...]
    book: EverydayBook
    timers: TimerBook
    timer_book: EverydayBook
    path: Path | None
    instructions: str
    calls_tools: bool = True
    skills: tuple[ContentSkill, ...] = ()

    def agent(
        self,
        conversation_id: str | None = None,
        *,
        display: DisplayManager | None = None,
        store: StoreAdapter | None = None,
        providers: ContextProviders | None = None,
        preparers: TurnPreparers | None = None,
    ) -> Glove:
        """An agent with the shared model and tools, and a record of its own; close its ``store`` when it is done.

        Args:
            conversation_id: the record to go on with, or the name of a new one; generated when None.
            display: where its questions and cards go; a stack of its own when None.
            store: the record itself, instead of one in ``path``.
            providers: context providers that it shares with other agents.
            preparers: turn preparers, likewise.
        """
        from agents.core.glove import Glove

        record = store or conversation_store(self.path, conversation_id or new_conversation_id())
        glove = Glove(
            model=self.model,
            system_prompt=self.instructions,
            store=record,
            display=display,
            builtin_tools=self.calls_tools,
            providers=providers,
            preparers=preparers,
        )
        for tool in self.tools:
            glove.fold(tool)
        if self.skills and self.calls_tools:
            from agents.core.extensions.content_skills import use_read_skill

            use_read_skill(glove, self.skills)
        return glove.build()

    @property
    def intents(self) -> IntentFirst | None:
        """What answers sentences before the model, where there is such a thing."""
        from agents.models.intents import IntentFirst

        model = self.model
        return model if isinstance(model, IntentFirst) else None

    async def warm(self) -> None:
        """Do what the first answer would wait for: compile the sentences, load what the model's connection needs.

        Raises:
            ConfigError: ``ERR_SENTENCES`` for a malformed sentence of a tool.
        """
        from agents.base.clock import infer

        intents = self.intents
        if intents is not None:
            await infer(lambda: intents.warm(self.tools), cost_s=SENTENCES_COST_S)
        connection = self._connection()
        if connection is not None:
            await connection.warm()

    async def close(self) -> None:
        """Stop the timers (they stay stored), close the model's connection and the files; idempotent."""
        connection = self._connection()
        if connection is not None:
            await connection.close()
        await self.timers.close()
        await self.timer_book.close()
        await self.book.close()

    def _connection(self) -> ConnectedModel | None:
        from agents.core.model import ConnectedModel

        model = self.model if self.intents is None else self.intents.inner
        return model if isinstance(model, ConnectedModel) else None


def new_conversation_id() -> str:
    """A fresh name for a conversation."""
    return f"conversation_{uuid.uuid4().hex}"


def provider_in_force(config: GloveConfig, credentials: Credentials | None = None) -> str:
    """``model.provider`` with ``auto`` resolved: ``AUTO_PROVIDER`` when its key is present, else ``none``."""
    if config.model.provider != "auto":
        return config.model.provider
    from agents.base.credentials import Credentials

    keys = credentials or Credentials()
    present = all(keys.get(name) is not None for name in model_secrets(AUTO_PROVIDER))
    return AUTO_PROVIDER if present else "none"


def model_secrets(*providers: str) -> tuple[str, ...]:
    """Names of the secrets that models of ``providers`` take, each once; some take none."""
    from agents.models.provider_table import PROVIDERS

    names = [name for provider in providers if provider in PROVIDERS for name in PROVIDERS[provider].secrets]
    return tuple(dict.fromkeys(names))


def build_mind(config: GloveConfig, credentials: Credentials | None = None, *, lasting_timers: bool = True) -> Mind:
    """Make what conversations share. Call it on a running loop; nothing but the folder of skills is read yet.

    Args:
        config: what kind of mind.
        credentials: where keys come from.
        lasting_timers: whether timers are stored; otherwise they end with the process, as they must where nothing can
            ring afterwards.

    Raises:
        ConfigError: the configured model cannot be used (no key, a missing package), or there is no folder of skills.
    """
    from agents.everyday import everyday_tools
    from agents.everyday.book import EverydayBook
    from agents.everyday.timers import TimerBook

    provider = provider_in_force(config, credentials)
    model = build_model(config, provider, credentials)
    path = store_path(config)
    book = EverydayBook(None if path is None else path.with_name(f"{path.stem}-everyday{path.suffix}"))
    timer_book = book if lasting_timers else EverydayBook(None)
    timers = TimerBook(timer_book)
    # A simulated provider stands for a model alone: a tool that answered first would spoil the measurement.
    # A realtime model calls tools, whatever stands in for it.
    calls_tools = provider not in WITHOUT_TOOLS or config.engine.kind != "cascade"
    asking = _asking_tools() if calls_tools else ()
    tools = () if provider == "simulated" else (*everyday_tools(book, timers), *asking)
    instructions = config.model.system_prompt or INSTRUCTIONS
    return Mind(
        model,
        tools,
        book,
        timers,
        timer_book,
        path,
        instructions,
        calls_tools=calls_tools,
        skills=_skills(config),
    )


def _asking_tools() -> list[Tool[Any]]:
    """Tools with which a language model asks the user something; without one nothing would call them."""
    from agents.web.tools.ready_made import ready_made_tools

    return ready_made_tools()


def build_model(config: GloveConfig, provider: str, credentials: Credentials | None = None) -> ModelAdapter:
    """The model adapter of ``provider``; all but the simulated one let sentences declared on tools go first.

    Raises:
        ConfigError: ``ERR_CREDENTIALS_MISSING`` without a key, a missing optional package, or a name or an address that
            the provider needs and the configuration lacks.
    """
    if provider == "simulated":
        return _simulated(config)
    from agents.models.honest import HonestModel
    from agents.models.intents import IntentFirst

    if provider == "none":
        return IntentFirst(HonestModel())
    if provider == "smollm":
        return IntentFirst(_small(config))
    return IntentFirst(_with_fallback(config, _provided(config, provider, credentials)))


def store_path(config: GloveConfig) -> Path | None:
    """The file of conversations, or None for memory."""
    if config.store.path == "memory":
        return None
    if config.store.path == "auto":
        import platformdirs

        return platformdirs.user_data_path("glove", appauthor=False) / "glove.db"
    return Path(config.store.path).expanduser()


def conversation_store(path: Path | None, conversation_id: str) -> StoreAdapter:
    """The record of one conversation in the file ``path``, or in memory."""
    if path is None:
        from agents.stores.memory import MemoryStore

        return MemoryStore(conversation_id)
    from agents.stores.sqlite import SqliteStore

    return SqliteStore(path, conversation_id)


def _skills(config: GloveConfig) -> tuple[ContentSkill, ...]:
    if not config.skills.folder:
        return ()
    from agents.core.extensions.skill_folder import load_skill_folder

    try:
        return tuple(load_skill_folder(Path(config.skills.folder).expanduser()))
    except InputError as fault:
        raise ConfigError(fault.code, fault.message, "Change skills.folder.", fault) from fault


def _provided(config: GloveConfig, provider: str, credentials: Credentials | None) -> ModelAdapter:
    from agents.models.providers import create_adapter

    settings = config.model
    return create_adapter(
        provider,
        settings.name or None,
        base_url=settings.base_url or None,
        max_tokens=settings.max_tokens,
        reasoning_effort=settings.reasoning_effort or None,
        # One more attempt is for a connection that went stale; longer trouble is for whoever answers instead.
        max_retries=2 if settings.fallback == "none" else 1,
        credentials=credentials,
    )


def _with_fallback(config: GloveConfig, model: ModelAdapter) -> ModelAdapter:
    if config.model.fallback == "none":
        return model
    from agents.models.alone import AloneModel
    from agents.models.fallback import FallbackModel

    other = _small(config) if config.model.fallback == "smollm" else AloneModel()
    return FallbackModel(model, other, first_token_s=config.model.first_token_ms / 1000)


def _small(config: GloveConfig) -> ModelAdapter:
    from agents.models.smollm import SmolLmModel
    from appliance.session.stock import weights_store

    return SmolLmModel(store=weights_store(config))


def _simulated(config: GloveConfig) -> ModelAdapter:
    from agents.models.scripted import ScriptedModel

    pace = config.simulated
    return ScriptedModel(
        lambda request: pace.reply, first_token_s=pace.llm_first_token_ms / 1000, tokens_per_s=pace.llm_tokens_per_s
    )
