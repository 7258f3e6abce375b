"""Tools and sub-agents: named ones exist and are granted."""

from __future__ import annotations

from collections.abc import Iterator

from ..draft import Draft
from ..problems import Problem, listed, nearest, quoted, replace


def tools(draft: Draft) -> Iterator[Problem]:
    """Each tool task names a tool that plans of this skill may use."""
    grants = draft.grants
    for task in draft.tasks:
        name = task.raw.get("tool")
        if task.kind != "tool" or not isinstance(name, str) or name in grants.tools:
            continue
        path = task.path("tool")
        reason = grants.why_unloaded(name)
        if reason is not None:
            message = f"tool {quoted(name)} failed to load: {reason}"
            expected = f"another tool: {listed(grants.tools)}"
            yield Problem("tool_failed_to_load", path, message, task.id, expected=expected)
        elif "${" in name:
            message = "the name of a tool is fixed; use `when` on several tasks to choose"
            expected = f"one of {listed(grants.tools)}"
            yield Problem("template_in_name", path, message, task.id, expected=expected)
        else:
            near = nearest(name.removeprefix("fhs_").removeprefix("functions."), grants.tools)
            is_agent = name in grants.agents
            hint = (
                "; it is a sub-agent" if is_agent else f"; did you mean {near!r}?" if near else ""
            )
            fix = replace(path, near) if near and not is_agent else None
            message = f"no tool is called {quoted(name)}{hint}"
            expected = f"one of {listed(grants.tools)}"
            yield Problem("unknown_tool", path, message, task.id, fix=fix, expected=expected)


def agents(draft: Draft) -> Iterator[Problem]:
    """Each sub-agent task names an agent that this skill may use."""
    granted = draft.grants.agents
    for task in draft.tasks:
        name = task.raw.get("agent")
        if task.kind != "sub_agent" or not isinstance(name, str) or name in granted:
            continue
        path = task.path("agent")
        if "${" in name:
            message = "the name of a sub-agent is fixed; use `when` on several tasks to choose"
            expected = f"one of {listed(granted)}"
            yield Problem("template_in_name", path, message, task.id, expected=expected)
            continue
        near = nearest(name.removesuffix(".agent.md"), granted)
        hint = f"; did you mean {near!r}?" if near else ""
        fix = replace(path, near) if near else None
        message = f"no sub-agent of this skill is called {quoted(name)}{hint}"
        expected = f"one of {listed(granted)}"
        yield Problem("unknown_agent", path, message, task.id, fix=fix, expected=expected)
