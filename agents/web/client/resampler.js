// Band-limited conversion between two sample rates: a windowed sinc, one set of weights per phase.

const ZERO_CROSSINGS = 16;

/** Converts a stream of mono floats from one rate to another, chunk by chunk without seams. */
export class Resampler {
  /**
   * @param {number} from rate of what is pushed, in Hz
   * @param {number} to rate of what comes out, in Hz
   */
  constructor(from, to) {
    const divisor = gcd(from, to);
    this.up = to / divisor;
    this.down = from / divisor;
    const stretch = Math.max(1, from / to);
    this.half = Math.ceil(ZERO_CROSSINGS * stretch);
    this.phases = Array.from({ length: this.up }, (_, phase) => weights(phase / this.up, this.half, stretch));
    this.kept = new Float32Array(2 * this.half - 1);
    this.phase = 0;
  }

  /**
   * @param {Float32Array} input
   * @returns {Float32Array} what can be computed so far
   */
  push(input) {
    const taps = 2 * this.half;
    const data = new Float32Array(this.kept.length + input.length);
    data.set(this.kept);
    data.set(input, this.kept.length);
    const output = [];
    let start = 0;
    while (start + taps <= data.length) {
      const weight = this.phases[this.phase];
      let sum = 0;
      for (let tap = 0; tap < taps; tap++) sum += weight[tap] * data[start + tap];
      output.push(sum);
      this.phase += this.down;
      start += Math.floor(this.phase / this.up);
      this.phase %= this.up;
    }
    this.kept = data.slice(start);
    return Float32Array.from(output);
  }
}

function weights(fraction, half, stretch) {
  const row = new Float32Array(2 * half);
  const cutoff = 0.93 / stretch;
  let total = 0;
  for (let tap = 0; tap < row.length; tap++) {
    const x = tap - (half - 1) - fraction;
    const window = 0.5 + 0.5 * Math.cos((Math.PI * x) / (half + 1));
    row[tap] = window * (x === 0 ? 1 : Math.sin(Math.PI * cutoff * x) / (Math.PI * cutoff * x));
    total += row[tap];
  }
  return row.map((value) => value / total);
}

function gcd(a, b) {
  return b === 0 ? a : gcd(b, a % b);
}
