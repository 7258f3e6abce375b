"""What models write, and what they mean by it."""

from __future__ import annotations

TYPE_WORDS = {
    "agent": "sub_agent", "subagent": "sub_agent", "sub-agent": "sub_agent", "llm": "sub_agent",
    "function": "tool", "tool_call": "tool", "call": "tool", "action": "tool", "task": "tool",
    "sleep": "wait", "delay": "wait", "timer": "wait", "pause": "wait", "event": "wait",
    "approve": "approval", "human": "approval", "confirm": "approval", "confirmation": "approval",
    "review": "approval", "ask": "approval",
}  # fmt: skip
# What models write for a field, where one name is meant whatever the type.
SYNONYMS = {
    "dependson": "depends_on", "depends": "depends_on", "dependencies": "depends_on",
    "needs": "depends_on", "after": "depends_on", "requires": "depends_on",
    "if": "when", "condition": "when", "foreach": "for_each", "loop": "for_each",
    "items": "for_each", "map": "for_each", "max_parallel": "concurrency",
    "max_parallelism": "concurrency", "parallelism": "concurrency",
    "max_concurrency": "concurrency",
    "onerror": "on_error", "on_failure": "on_error", "kind": "type",
}  # fmt: skip
SYNONYMS_OF = {
    "tool": {
        "arguments": "args", "params": "args", "parameters": "args", "inputs": "args",
        "input": "args", "with": "args", "function": "tool", "tool_name": "tool", "name": "tool",
        "uses": "tool",
    },
    "sub_agent": {
        "prompt": "task", "instruction": "task", "instructions": "task", "message": "task",
        "input": "task", "description": "task", "request": "task", "sub_agent": "agent",
        "agent_name": "agent", "name": "agent",
    },
    "wait": {
        "for": "duration", "delay": "duration", "seconds": "duration", "time": "duration",
        "sleep": "duration", "wait_until": "until", "at": "until", "timestamp": "until",
        "event_name": "event", "signal": "event", "wait_for_event": "event",
    },
    "approval": {
        "task": "message", "text": "message", "prompt": "message", "question": "message",
        "description": "message", "title": "message", "reason": "message", "name": "message",
    },
}  # fmt: skip
PLAN_SYNONYMS = {
    "title": "name", "steps": "tasks", "plan": "tasks", "nodes": "tasks", "result": "output",
    "outputs": "output", "return": "output", "inputs": "input", "description": "name",
}  # fmt: skip
NOTES = frozenset({"description", "title", "comment", "note", "notes", "reason", "label", "name"})
TYPES_NOT_OFFERED = {
    "group": "groups are not offered in this version: use several tasks with for_each; the"
    " element of a list result is at the same index as its item",
}
ON_ERROR = {"ignore": "continue", "skip": "continue", "abort": "fail", "stop": "fail"}
# What the status of a finished task is called elsewhere.
STATUSES = {
    "success": "completed", "succeeded": "completed", "successful": "completed", "ok": "completed",
    "done": "completed", "complete": "completed", "finished": "completed", "passed": "completed",
    "error": "failed", "errored": "failed", "failure": "failed", "fail": "failed",
    "skip": "skipped", "ignored": "skipped",
}  # fmt: skip
