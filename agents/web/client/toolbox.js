// Tools that run in the browser: their definition, and running the calls of one reply in order.

import { aborted, check, isAbort, messageOf } from "./errors.js";

/** @import { DisplayStack } from "./display.js" */
/** @import { AgentEvent, DisplayStrategy, ToolCall, ToolResult, ToolResultData } from "./types.js" */
/** @import { Store } from "./memory-store.js" */
/** @import { SlotRenderer } from "./registry.js" */

/**
 * What a tool may show and ask. Its questions are withdrawn when the request is stopped.
 * @typedef {object} ToolDisplay
 * @property {(slot: any) => string} pushAndForget
 * @property {(slot: any) => Promise<any>} pushAndWait
 * @property {(id: string) => boolean} removeSlot
 * @property {(id: string, input: any) => boolean} update
 */

/** @typedef {{signal?: AbortSignal, store: Store, emit: (event: AgentEvent) => void}} ToolContext */

/**
 * @typedef {object} Tool
 * @property {string} name
 * @property {string} description
 * @property {object} [parameters] JSON Schema of the input; no input without it
 * @property {(input: any, display: ToolDisplay, context: ToolContext) => unknown} do may return any value, or a result
 * @property {boolean | ((input: any) => boolean)} [requiresPermission]
 * @property {boolean} [unAbortable]
 * @property {DisplayStrategy} [displayStrategy]
 * @property {SlotRenderer["render"]} [render] shows the slots that carry the tool's name
 * @property {SlotRenderer["renderResult"]} [renderResult]
 */

/**
 * A tool whose display methods take what is shown directly; the renderer is the tool's own.
 * @param {Tool} config
 * @returns {Tool}
 */
export function defineTool(config) {
  const renderer = config.name;
  return {
    ...config,
    do: (input, display, context) =>
      config.do(
        input,
        {
          ...display,
          pushAndForget: (props) => display.pushAndForget({ renderer, input: props }),
          pushAndWait: (props) => display.pushAndWait({ renderer, input: props }),
        },
        context,
      ),
  };
}

/** @param {Tool} tool @returns {{name: string, description: string, parameters: object}} what a model is told of it */
export function schemaOf({ name, description, parameters = { type: "object", properties: {} } }) {
  return { name, description, parameters };
}

/** Attempts after the first one, for tools that throw. */
export const MOST_RETRIES = 3;

/** Runs tool calls one after the other. */
export class Executor {
  /**
   * @param {Tool[]} tools
   * @param {{display: DisplayStack, store: Store, emit: (event: AgentEvent) => void, maxRetries?: number}} parts
   */
  constructor(tools, { display, store, emit, maxRetries = MOST_RETRIES }) {
    this.tools = tools;
    this.display = display;
    this.store = store;
    this.emit = emit;
    this.maxRetries = maxRetries;
  }

  /**
   * @param {ToolCall[]} calls
   * @param {AbortSignal} [signal]
   * @returns {Promise<ToolResult[]>} one for each call, in order
   */
  async run(calls, signal) {
    const results = [];
    for (const call of calls) {
      const began = performance.now();
      const result = await this.attempt(call, signal);
      const duration_ms = Math.round(performance.now() - began);
      this.emit({
        type: "tool_use_result",
        call_id: call.id,
        id: call.id,
        tool_name: call.tool_name,
        name: call.tool_name,
        result,
        duration_ms,
      });
      results.push({ tool_name: call.tool_name, call_id: call.id, result, duration_ms });
    }
    return results;
  }

  /** @param {ToolCall} call @param {AbortSignal | undefined} signal @returns {Promise<ToolResultData>} */
  async attempt(call, signal) {
    const tool = this.find(call.tool_name);
    if (signal?.aborted && !tool?.unAbortable) return ABORTED;
    if (!tool) return failure(this.unknown(call.tool_name));
    const ends = tool.unAbortable ? undefined : signal;
    try {
      if (!(await this.permitted(tool, call.input_args, ends))) {
        return failure(`The user did not allow ${tool.name}.`);
      }
      return await this.retry(tool, call.input_args, ends);
    } catch (fault) {
      if (isAbort(fault) && signal?.aborted) return ABORTED;
      return failure(`Whether ${tool.name} may run could not be found out: ${messageOf(fault)}`);
    }
  }

  /** @param {Tool} tool @param {unknown} input @param {AbortSignal | undefined} signal @returns {Promise<ToolResultData>} */
  async retry(tool, input, signal) {
    for (let left = this.maxRetries; ; left--) {
      try {
        return asResult(await race(() => tool.do(input, this.displayFor(signal), this.contextFor(signal)), signal));
      } catch (fault) {
        if (signal?.aborted) throw fault;
        if (left <= 0) return failure(`${tool.name} failed after ${this.maxRetries} retries: ${messageOf(fault)}`);
      }
    }
  }

  /** @param {AbortSignal | undefined} signal @returns {ToolContext} */
  contextFor(signal) {
    return { signal, store: this.store, emit: this.emit };
  }

  /** @param {AbortSignal | undefined} signal @returns {ToolDisplay} */
  displayFor(signal) {
    const display = this.display;
    return {
      pushAndForget: (slot) => display.pushAndForget(slot),
      pushAndWait: (slot) => display.pushAndWait(slot, signal),
      removeSlot: (id) => display.removeSlot(id),
      update: (id, input) => display.update(id, input),
    };
  }

  /** @param {Tool} tool @param {unknown} input @param {AbortSignal | undefined} signal */
  async permitted(tool, input, signal) {
    const gate = typeof tool.requiresPermission === "function" ? tool.requiresPermission(input) : tool.requiresPermission;
    if (!gate) return true;
    const known = await this.store.getPermission(tool.name, input);
    if (known !== "unset") return known === "granted";
    const asked = { renderer: "permission_request", toolName: tool.name, toolInput: input };
    const granted = Boolean(await this.display.pushAndWait({ renderer: "permission_request", input: asked }, signal));
    await this.store.setPermission(tool.name, granted ? "granted" : "denied", input);
    return granted;
  }

  /** @param {string} name */
  find(name) {
    return this.tools.find((tool) => tool.name.toLowerCase() === name.toLowerCase());
  }

  /** @param {string} name */
  unknown(name) {
    const names = this.tools.map((tool) => tool.name);
    const near = names.filter((known) => known.includes(name) || name.includes(known));
    const hint = near.length > 0 ? ` Did you mean ${near.join(", ")}?` : "";
    return `There is no tool ${name}.${hint} ${names.length > 0 ? `Tools: ${names.join(", ")}.` : "There are no tools."}`;
  }
}

/** @type {ToolResultData} */
const ABORTED = { status: "aborted", data: null, message: "The user has stopped this." };

/** @type {(message: string) => ToolResultData} */
function failure(message) {
  return { status: "error", data: null, message };
}

/** @param {unknown} value what a tool returned @returns {ToolResultData} */
export function asResult(value) {
  if (typeof value === "object" && value !== null && "status" in value && "data" in value) {
    return /** @type {ToolResultData} */ (value);
  }
  return { status: "success", data: value ?? null };
}

/**
 * Wait for `work`, but no longer than until `signal`; the work itself may go on behind.
 * @template T
 * @param {() => T | Promise<T>} work
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<T>}
 */
async function race(work, signal) {
  check(signal);
  if (!signal) return work();
  const over = new AbortController();
  /** @type {Promise<never>} */
  const stopped = new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(aborted()), { once: true, signal: over.signal });
  });
  try {
    return await Promise.race([work(), stopped]);
  } finally {
    over.abort();
  }
}
