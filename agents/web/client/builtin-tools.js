// The tools that every agent in the browser has: its task list, and its letter box.

import { uuid } from "./uuid.js";

/** @import { Tool } from "./toolbox.js" */
/** @import { Task } from "./types.js" */

/** @type {Tool} */
export const updateTasks = {
  name: "glove_update_tasks",
  description: "Replace the task list that the user sees. Give the whole list every time; an empty list clears it.",
  parameters: {
    type: "object",
    properties: {
      todos: {
        type: "array",
        items: {
          type: "object",
          properties: {
            content: { type: "string", description: "What is to be done" },
            activeForm: { type: "string", description: "What is shown while it is being done" },
            status: { type: "string", enum: ["pending", "in_progress", "completed"] },
          },
          required: ["content", "activeForm", "status"],
        },
      },
    },
    required: ["todos"],
  },
  async do({ todos }, _, { store }) {
    const before = [...(await store.getTasks())];
    /** @type {Task[]} */
    const tasks = todos.map((/** @type {Task} */ todo) => {
      const at = before.findIndex((task) => task.content === todo.content);
      // Each of them once: two tasks may say the same.
      const id = at < 0 ? `task_${uuid()}` : before.splice(at, 1)[0].id;
      return { ...todo, id };
    });
    await store.addTasks(tasks);
    return { status: "success", data: { tasks } };
  },
};

/** @type {Tool} */
export const postToInbox = {
  name: "glove_post_to_inbox",
  description: "Leave a request that somebody outside answers later; the answer arrives in a later turn.",
  parameters: {
    type: "object",
    properties: {
      tag: { type: "string", minLength: 1 },
      request: { type: "string", minLength: 1 },
      blocking: { type: "boolean", default: false, description: "Whether you cannot go on without the answer" },
    },
    required: ["tag", "request"],
  },
  async do({ tag, request, blocking = false }, _, { store }) {
    const id = `inbox_${uuid()}`;
    const created_at = new Date().toISOString();
    await store.addInboxItem({ id, tag, request, response: null, status: "pending", blocking, created_at, resolved_at: null });
    return { status: "success", data: { inbox_item_id: id, message: "Posted. The answer will arrive in a later turn." } };
  },
};
