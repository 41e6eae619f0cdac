// How loud both sides are: what you say rises from the line, what is answered hangs below it.

const BAR_PX = 3;
const GAP_PX = 3;
const STEP_MS = 50;
const TOLD_MS = 250;
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

/** @param {number} level root mean square, 0 to 1 @returns {number} 0 to 1, as loud as it seems */
export function loudness(level) {
  const decibels = 20 * Math.log10(Math.max(level, 1e-5));
  return Math.max(0, Math.min(1, (decibels + 60) / 54));
}

/** Draws while there is something to see, and rests otherwise. */
export class Wave {
  /**
   * @param {HTMLElement} meter holds the canvas and a bar for those who want no motion
   * @param {() => number} agentLevel root mean square of what is being played
   * @param {(user: number, agent: number) => void} told loudness of both, 0 to 1
   */
  constructor(meter, agentLevel, told) {
    this.meter = meter;
    this.canvas = meter.querySelector("canvas");
    this.bar = meter.querySelector("i");
    this.agentLevel = agentLevel;
    this.told = told;
    this.bars = [];
    this.user = 0;
    this.steppedAt = this.toldAt = 0;
    this.fit = new ResizeObserver(() => this.resize());
    this.fit.observe(this.canvas);
    setInterval(() => document.hidden || this.step(), STEP_MS);
  }

  /** @param {number} level of the microphone; the loudest of a step counts */
  hear(level) {
    this.user = Math.max(this.user, loudness(level));
  }

  step() {
    const agent = loudness(this.agentLevel());
    const { user } = this;
    this.user = 0;
    this.told(user, agent);
    const most = Math.ceil(this.canvas.clientWidth / (BAR_PX + GAP_PX));
    this.bars.push({ user, agent });
    if (this.bars.length > most) this.bars.splice(0, this.bars.length - most);
    const now = performance.now();
    if (now - this.toldAt > TOLD_MS) {
      this.toldAt = now;
      this.meter.setAttribute("aria-valuenow", String(Math.round(100 * user)));
      this.bar.style.transform = `scaleX(${Math.max(user, agent).toFixed(2)})`;
    }
    if (!STILL.matches) this.draw();
  }

  resize() {
    const scale = Math.min(2, devicePixelRatio);
    this.canvas.width = Math.round(this.canvas.clientWidth * scale);
    this.canvas.height = Math.round(this.canvas.clientHeight * scale);
    this.draw();
  }

  draw() {
    const pen = this.canvas.getContext("2d");
    const { width, height } = this.canvas;
    if (!pen || width === 0) return;
    const scale = width / this.canvas.clientWidth;
    const looks = getComputedStyle(this.canvas);
    const [mine, theirs, line] = ["--accent", "--voice", "--line"].map((name) => looks.getPropertyValue(name));
    const middle = height / 2;
    const full = middle - 2 * scale;
    pen.clearRect(0, 0, width, height);
    for (let index = 0, x = width; x > 0; index += 1, x -= (BAR_PX + GAP_PX) * scale) {
      const { user, agent } = this.bars[this.bars.length - 1 - index] ?? { user: 0, agent: 0 };
      const quiet = user < 0.05 && agent < 0.05;
      pen.fillStyle = line;
      if (quiet) bar(pen, x - BAR_PX * scale, middle - scale, BAR_PX * scale, 2 * scale);
      pen.fillStyle = mine;
      if (user >= 0.05) bar(pen, x - BAR_PX * scale, middle - user * full, BAR_PX * scale, user * full + scale);
      pen.fillStyle = theirs;
      if (agent >= 0.05) bar(pen, x - BAR_PX * scale, middle - scale, BAR_PX * scale, agent * full + scale);
    }
  }
}

function bar(pen, x, y, width, height) {
  pen.beginPath();
  pen.roundRect(x, y, width, height, width / 2);
  pen.fill();
}
