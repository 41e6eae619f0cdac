"""SmolLM2 135M on this machine: very small, often wrong, and it says so. An option, never a default."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from agents.base.abort import AbortToken
from agents.base.errors import ConfigError, GloveError
from agents.base.language import translated
from agents.base.weights import WeightsStore
from agents.core.events import ModelResponseComplete, TextDelta
from agents.core.messages import Message, ModelResult, TokenUsage
from agents.core.model import Notify, PromptRequest
from agents.models import alone

WEIGHTS = "smollm2-135m"

_MARK = "smollm"
_CONTEXT_TOKENS = 2048
_HISTORY_MESSAGES = 6
_MESSAGE_CHARS = 600
_SAMPLING: dict[str, Any] = {
    "max_tokens": 80,
    "temperature": 0.2,
    "repeat_penalty": 1.15,  # without it the model repeats one sentence until the limit
    "stream": True,
    "stream_options": {"include_usage": True},
}
_SYSTEM = (
    "You are a very small language model inside a voice appliance. You make mistakes. Answer in one or two short, "
    "plain sentences. If you are not sure, say that you do not know."
)
_LABELS = {
    "en": "A very small model is answering, and it makes mistakes.",
    "de": "Hier antwortet ein sehr kleines Modell, das Fehler macht.",
    "es": "Responde un modelo muy pequeño que comete errores.",
    "fr": "C'est un très petit modèle qui répond, et il se trompe.",
    "it": "Risponde un modello molto piccolo, che fa errori.",
    "pt": "Responde um modelo muito pequeno, que comete erros.",
    "ja": "とても小さなモデルがお答えします。間違えることがあります。",
}


class Runtime(Protocol):
    """What is needed of xllamacpp's server object."""

    def handle_chat_completions(self, request: dict[str, Any], callback: Callable[[dict[str, Any]], bool]) -> Any:
        """Stream chunks to ``callback`` until it returns True or the reply ends."""
        ...


class SmolLmModel:
    """A model adapter around SmolLM2. Weights are loaded on the first turn, off the loop.

    It sees the last few messages and no tools. The first answer of a conversation begins with a sentence that says who
    answers.

    Args:
        threads: how many threads compute.
        store: where the weights come from; the machine's own store when None.
        load: makes the runtime; xllamacpp with the weights of ``store`` when None.

    Raises:
        ConfigError: ``ERR_MODEL_PACKAGE`` when xllamacpp is not installed.
    """

    def __init__(
        self, threads: int = 2, *, store: WeightsStore | None = None, load: Callable[[], Runtime] | None = None
    ) -> None:
        if load is None and importlib.util.find_spec("xllamacpp") is None:
            raise ConfigError(
                "ERR_MODEL_PACKAGE",
                "The model smollm needs the package xllamacpp, which is not installed.",
                "scripts/setup --dev installs it; or choose another model.provider than smollm in glove.toml.",
            )
        self._load = load or (lambda: _load_runtime(store or WeightsStore(), threads))
        self._runtime: Runtime | None = None
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="smollm")

    @property
    def name(self) -> str:
        """``smollm:`` and the id of its weights."""
        return f"smollm:{WEIGHTS}"

    async def prompt(self, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
        """Answer ``request``.

        Raises:
            Aborted: stopped; the computation ends before its next token.
            GloveError: ``ERR_MODEL_FAILED`` when the runtime fails; faults of the weights store.
        """
        abort.check()
        if not alone.asked(request):
            return await alone.say(request, notify, alone.known(request), alone.TOLD)
        pieces: list[str] = []

        async def say(text: str) -> None:
            pieces.append(text)
            await notify(TextDelta(text, request.reply_id))

        for sentence in (*alone.known(request), _label(request)):
            if sentence:
                await say(f"{sentence} ")
        usage = await self._stream(_chat(request), say, abort)
        text = "".join(pieces).strip()
        await notify(ModelResponseComplete(text, request.reply_id, (), "end_turn"))
        message = Message(sender="agent", id=request.reply_id, text=text, provider_options={_MARK: True})
        return ModelResult(messages=[message], usage=usage, stop_reason="end_turn")

    async def _stream(self, chat: list[dict[str, str]], say: Callable[[str], Any], abort: AbortToken) -> TokenUsage:
        """Generate on the worker thread and ``say`` each piece on the loop."""
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[str | None] = asyncio.Queue()
        stopped = threading.Event()
        counts = TokenUsage()

        def hand_over(chunk: dict[str, Any]) -> bool:
            if stopped.is_set():
                return True
            text = _text(chunk, counts)
            if text:
                loop.call_soon_threadsafe(pieces.put_nowait, text)
            return False

        def work() -> None:
            if self._runtime is None:
                self._runtime = self._load()
            if stopped.is_set():
                return
            self._runtime.handle_chat_completions({**_SAMPLING, "messages": chat}, hand_over)

        remove = abort.on_abort(stopped.set)
        running = loop.run_in_executor(self._executor, work)
        running.add_done_callback(lambda _: pieces.put_nowait(None))
        try:
            while (piece := await abort.race(pieces.get())) is not None:
                await say(piece)
            await running
        except GloveError:
            raise
        except (RuntimeError, ValueError, OSError) as fault:
            raise GloveError(
                "ERR_MODEL_FAILED", f"The small model failed: {fault}", "Try again, or choose another model.", fault
            ) from fault
        finally:
            stopped.set()
            remove()
            # An outcome that nobody waits for any more is still looked at, so that it is never reported as lost.
            running.add_done_callback(lambda done: done.cancelled() or done.exception())
        return counts


def _load_runtime(store: WeightsStore, threads: int) -> Runtime:
    folder = store.ensure(WEIGHTS)
    xllamacpp: Any = importlib.import_module("xllamacpp")  # its names are made at run time
    params: Any = xllamacpp.CommonParams()
    params.model.path = str(next(folder.glob("*.gguf")))
    params.n_ctx = _CONTEXT_TOKENS
    params.cpuparams.n_threads = threads
    params.verbosity = 0
    params.cache_ram_mib = 0
    # The runtime opens a port on the loopback interface; nobody but this object knows the key to it.
    params.api_keys = [secrets.token_urlsafe(32)]
    server: Any = xllamacpp.Server(params)
    return server


def _label(request: PromptRequest) -> str:
    """The sentence that introduces the model, or nothing once it was said in this conversation."""
    if any((message.provider_options or {}).get(_MARK) for message in request.messages):
        return ""
    return translated(_LABELS, request.language)


def _chat(request: PromptRequest) -> list[dict[str, str]]:
    chat = [{"role": "system", "content": _SYSTEM}]
    spoken = [message for message in request.messages if message.text.strip()]
    for message in spoken[-_HISTORY_MESSAGES:]:
        text = message.text
        for label in _LABELS.values():
            text = text.removeprefix(label).strip()
        if text:
            role = "user" if message.sender == "user" else "assistant"
            chat.append({"role": role, "content": text[:_MESSAGE_CHARS]})
    return chat


def _text(chunk: dict[str, Any], counts: TokenUsage) -> str:
    """The text of one chunk; its token counts go to ``counts``. Raises ``RuntimeError`` for an error chunk."""
    if "error" in chunk:
        raise RuntimeError(str(chunk["error"]))
    usage = chunk.get("usage") or {}
    counts.tokens_in = int(usage.get("prompt_tokens", counts.tokens_in))
    counts.tokens_out = int(usage.get("completion_tokens", counts.tokens_out))
    choices = chunk.get("choices") or [{}]
    return str((choices[0].get("delta") or {}).get("content") or "")
