// The shapes that the modules of this folder exchange. Field names are wire format.

/**
 * @typedef {object} ContentPart
 * @property {"text" | "image" | "video" | "document" | "audio"} type
 * @property {string | null} [text]
 * @property {string | null} [name]
 * @property {{type: "base64" | "url", media_type?: string, data?: string | null, url?: string | null} | null} [source]
 */

/** @typedef {{tool_name: string, input_args: unknown, id?: string | null}} ToolCall */

/**
 * What a tool gave back: `data` is for the model, `renderData` for the screen only.
 * @typedef {object} ToolResultData
 * @property {"success" | "error" | "aborted"} status
 * @property {any} [data]
 * @property {string | null} [message]
 * @property {any} [renderData]
 */

/** @typedef {{tool_name: string, call_id?: string | null, result: ToolResultData, duration_ms?: number | null}} ToolResult */

/**
 * One stored message of a conversation.
 * @typedef {object} Message
 * @property {"user" | "agent"} sender
 * @property {string} text
 * @property {string | null} [id]
 * @property {ContentPart[] | null} [content]
 * @property {ToolCall[] | null} [tool_calls]
 * @property {ToolResult[] | null} [tool_results]
 * @property {string | null} [pre_modified_text]
 * @property {boolean} [is_compaction]
 * @property {boolean} [is_compaction_request]
 * @property {boolean} [is_skill_injection]
 * @property {string | null} [reasoning_content]
 * @property {"runtime" | "inbox" | "event" | "notice" | null} [framework_context]
 * @property {"complete" | "interrupted" | "unconfirmed" | null} [heard]
 * @property {{id: string, source: string, kind: string, text?: string}[] | null} [events]
 */

/** @typedef {{type: string, [field: string]: any}} AgentEvent an event by its wire name, with its fields beside it */

/** @typedef {{data: string, media_type: string}} Image base64 without a `data:` prefix */

/** @typedef {{kind: "user", key: string, text: string, images?: string[], attachments?: string[]}} UserEntry */

/**
 * `text` is what was said or written; `unheard` is the rest of a spoken reply that was cut.
 * @typedef {object} AgentEntry
 * @property {"agent_text"} kind
 * @property {string} key
 * @property {string} text
 * @property {string} [reply_id]
 * @property {"complete" | "interrupted" | "unconfirmed"} [heard]
 * @property {string} [unheard]
 * @property {boolean} [error]
 * @property {boolean} [announcement] spoken, but written by no model
 * @property {boolean} [asking] an announcement that reads a question aloud
 */

/**
 * @typedef {object} ToolEntry
 * @property {"tool"} kind
 * @property {string} key
 * @property {string} id
 * @property {string} name
 * @property {unknown} input
 * @property {"running" | "success" | "error" | "aborted"} status
 * @property {string} [output]
 * @property {unknown} [renderData]
 * @property {string} [subagent] name of the subagent that called it
 */

/**
 * What was put into the conversation by neither side.
 * @typedef {object} NoteEntry
 * @property {"note"} kind
 * @property {string} key
 * @property {"summary" | "skill" | "inbox" | "event" | "context" | "notice"} note
 * @property {string} title
 * @property {string} text
 */

/** @typedef {UserEntry | AgentEntry | ToolEntry | NoteEntry} TimelineEntry */

/** @typedef {"stay" | "hide-on-complete" | "hide-on-new"} DisplayStrategy */

/** @typedef {{id: string, renderer: string, input: any, blocking?: boolean}} Slot */

/**
 * @typedef {Slot & {
 *   toolName: string | null,
 *   toolCallId: string | null,
 *   createdAt: number,
 *   displayStrategy: DisplayStrategy,
 *   status: "pending" | "answered",
 *   fault?: string,
 * }} EnhancedSlot
 */

/** @typedef {{id: string, content: string, activeForm: string, status: "pending" | "in_progress" | "completed"}} Task */

/**
 * @typedef {object} InboxItem
 * @property {string} id
 * @property {string} tag
 * @property {string} request
 * @property {string | null} response
 * @property {"pending" | "resolved" | "consumed"} status
 * @property {boolean} blocking
 * @property {string} created_at
 * @property {string | null} resolved_at
 */

/**
 * @typedef {object} Stats
 * @property {number} turns
 * @property {number} tokens_in
 * @property {number} tokens_out
 * @property {number} cache_creation_input_tokens
 * @property {number} cache_read_input_tokens
 */

/** @typedef {{mode: string, transcript: string, recording?: boolean}} VoiceState */

/**
 * @typedef {object} ClientState
 * @property {boolean} busy
 * @property {boolean} isCompacting
 * @property {TimelineEntry[]} timeline
 * @property {string} streamingText
 * @property {Task[]} tasks
 * @property {InboxItem[]} inbox
 * @property {EnhancedSlot[]} slots
 * @property {Stats} stats
 * @property {VoiceState | null} voice
 */

export {};
