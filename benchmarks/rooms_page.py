"""What the benchmark of rooms does in the page: it times what the microphone hears and what the page plays."""

from __future__ import annotations

TAPS = """
(() => {
  const taps = (window.taps = { microphone: null, speaker: null, onsets: { microphone: [], speaker: [] } });
  const analyser = (node) => {
    const tap = node.context.createAnalyser();
    tap.fftSize = 256;
    connect.call(node, tap);
    return tap;
  };
  const { connect } = AudioNode.prototype;
  AudioNode.prototype.connect = function (target, ...rest) {
    if (target instanceof AudioDestinationNode && !taps.called) taps.speaker = analyser(this);
    if (this instanceof MediaStreamAudioSourceNode && !this.mediaStream.remote) taps.microphone = analyser(this);
    return connect.call(this, target, ...rest);
  };
  const element = Object.getOwnPropertyDescriptor(HTMLMediaElement.prototype, "srcObject");
  Object.defineProperty(HTMLMediaElement.prototype, "srcObject", {
    get() { return element.get.call(this); },
    set(stream) {
      element.set.call(this, stream);
      if (!stream) return;
      stream.remote = taps.called = true;
      const context = new AudioContext({ latencyHint: "interactive" });
      taps.speaker = analyser(context.createMediaStreamSource(stream));
    },
  });
  const block = new Float32Array(256);
  const quiet = { microphone: 0, speaker: 0 };
  setInterval(() => {
    for (const side of ["microphone", "speaker"]) {
      if (!taps[side]) continue;
      if (taps[side].context.state === "suspended") taps[side].context.resume(); // made before the page was touched
      taps[side].getFloatTimeDomainData(block);
      const peak = block.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
      const now = performance.now();
      if (peak > 0.05 && now - quiet[side] > 300) taps.onsets[side].push(now);
      if (peak > 0.02) quiet[side] = now;
    }
  }, 2);
})();
"""


def delays_ms(onsets: dict[str, list[float]], most_ms: float = 900.0) -> list[float]:
    """Time from each onset at the microphone to the first one at the speaker after it."""
    pairs = [
        (said, next((heard for heard in onsets["speaker"] if heard > said), None)) for said in onsets["microphone"]
    ]
    return [heard - said for said, heard in pairs if heard is not None and heard - said < most_ms]
