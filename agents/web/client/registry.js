// Who shows what: renderers by name.

import { toolRenderers } from "./tools.js";

/** @import { Tool } from "./toolbox.js" */
/** @import { DisplayStrategy, EnhancedSlot, ToolEntry } from "./types.js" */
/** @import { Words } from "./words.js" */

/**
 * @typedef {object} SlotProps
 * @property {any} input what the slot shows
 * @property {any} props the same, under the name that tools written for components use
 * @property {EnhancedSlot} slot
 * @property {(value: any) => void} resolve answers
 * @property {(reason?: string) => void} reject refuses
 * @property {(text: string) => void} say sends `text` as the user's next message, and closes the slot
 * @property {Words} words
 */

/**
 * @typedef {object} SlotRenderer
 * @property {(props: SlotProps) => Node} [render]
 * @property {(props: {data: any, entry: ToolEntry, words: Words}) => Node} [renderResult] shows the `renderData` of a finished call
 * @property {DisplayStrategy} [displayStrategy] `stay` without it
 */

/** Knows the ready-made renderers, those of the page, and those of its tools; the later ones win. */
export class Registry {
  /**
   * @param {Record<string, SlotRenderer>} [renderers]
   * @param {Tool[]} [tools]
   */
  constructor(renderers = {}, tools = []) {
    /** @type {Map<string, SlotRenderer>} */
    this.renderers = new Map([...Object.entries(toolRenderers), ...Object.entries(renderers)]);
    for (const tool of tools) {
      const { render, renderResult, displayStrategy } = tool;
      if (render || renderResult || displayStrategy) {
        this.register(tool.name, { ...this.renderers.get(tool.name), ...given({ render, renderResult, displayStrategy }) });
      }
    }
  }

  /** @param {string} name @param {SlotRenderer} renderer */
  register(name, renderer) {
    this.renderers.set(name, renderer);
  }

  /** @param {string} name @returns {DisplayStrategy} */
  strategyOf(name) {
    return this.renderers.get(name)?.displayStrategy ?? "stay";
  }

  /** @param {string} name @returns {SlotRenderer["render"]} of `name`, or the one for anything */
  rendererOf(name) {
    return this.renderers.get(name)?.render ?? this.renderers.get("generic")?.render;
  }

  /** @param {string} name @returns {SlotRenderer["renderResult"]} */
  resultRendererOf(name) {
    return this.renderers.get(name)?.renderResult;
  }
}

/** @type {(fields: Record<string, any>) => SlotRenderer} */
function given(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
