"""The agent's own list of what it has to do, written anew as a whole each time."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from agents.core.messages import Task, ToolResultData
from agents.core.tool import Tool, ToolContext

DESCRIPTION = (
    "Keep a list of the steps of a longer piece of work. Call it when you begin something that takes several steps, and"
    " again as soon as a step is begun or done. Always give the whole list: what you leave out is forgotten, and an"
    " empty list clears it. Have one step in progress at a time. Do not use it for what a single step can do."
)


class Todo(BaseModel):
    """One step of the list."""

    content: str = Field(min_length=1, description="What is to be done, as a command: 'Book the table'.")
    activeForm: str = Field(default="", description="The same while it is being done: 'Booking the table'.")
    status: Literal["pending", "in_progress", "completed"] = "pending"


class Todos(BaseModel):
    """Arguments of ``glove_update_tasks``."""

    todos: list[Todo] = Field(description="The whole list, in order.")


async def update_tasks(args: Todos, context: ToolContext) -> ToolResultData:
    """Replace the list in the store; a step that says the same as before keeps its id."""
    store = context.glove.store
    tasks = _identified(args.todos, await store.get_tasks())
    await store.add_tasks(tasks)
    return ToolResultData(data={"tasks": [task.model_dump() for task in tasks]})


def _identified(todos: Sequence[Todo], known: Sequence[Task]) -> list[Task]:
    ids: dict[str, list[str]] = {}
    for task in known:
        ids.setdefault(task.content, []).append(task.id)
    tasks: list[Task] = []
    for todo in todos:
        same = ids.get(todo.content)
        task_id = same.pop(0) if same else f"task_{uuid.uuid4().hex}"
        tasks.append(Task(id=task_id, **todo.model_dump()))
    return tasks


UPDATE_TASKS: Tool[Todos] = Tool("glove_update_tasks", DESCRIPTION, update_tasks, Todos)
