"""Short ways to check plans in tests."""

from __future__ import annotations

from typing import Any

from tests.corpus.loading import NOW
from tests.corpus.patching import apply
from workflow_runtime.plan import AgentGrant, Checked, Grants, Limits, Problem, ToolGrant, check
from workflow_runtime.plan.policies import WorkPolicy


def tool(name: str, arguments: Any = None, output: Any = None, **policy: Any) -> ToolGrant:
    return ToolGrant(name=name, arguments=arguments, output=output, policy=WorkPolicy(**policy))


def granted(*tools: ToolGrant, agents: tuple[str, ...] = ("writer",), **options: Any) -> Grants:
    return Grants(
        tools={one.name: one for one in tools},
        agents={name: AgentGrant(name=name) for name in agents},
        **options,
    )


FREE = granted(*(tool(name) for name in ("fetch", "say", "notify")))


def checked(*tasks: Any, grants: Grants = FREE, **plan: Any) -> Checked:
    return check({"tasks": list(tasks)} | plan, grants, NOW)


def problems(*tasks: Any, grants: Grants = FREE, **plan: Any) -> list[tuple[str, str]]:
    """Return the codes and paths of what is wrong."""
    return [(p.code, p.path) for p in checked(*tasks, grants=grants, **plan).problems]


def only(*tasks: Any, grants: Grants = FREE, **plan: Any) -> Problem:
    """Return the one thing that is wrong."""
    (problem,) = checked(*tasks, grants=grants, **plan).problems
    return problem


def small(**limits: Any) -> Grants:
    return granted(*FREE.tools.values(), limits=Limits(**limits))


def fetch(name: str = "a", **more: Any) -> dict[str, Any]:
    return {"id": name, "tool": "fetch"} | more


def say(text: Any, **more: Any) -> dict[str, Any]:
    return {"id": "s", "tool": "say", "args": {"m": text}} | more


def wait(**more: Any) -> dict[str, Any]:
    return {"id": "w", "type": "wait"} | more


def approval(**more: Any) -> dict[str, Any]:
    return {"id": "ok", "type": "approval", "message": "Go?"} | more


def mended(problem: Problem, *tasks: Any, grants: Grants = FREE) -> Checked:
    """Apply the problem's fix to a plan of these tasks, and check again."""
    assert problem.fix is not None
    return check(apply({"tasks": list(tasks)}, problem.fix), grants, NOW)
