"""A tool as execution knows it: two schemas and something to call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..plan.policies import WorkPolicy
from ..plan.types import Json, JsonSchema
from .arguments import ArgumentsCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool. ``call`` takes the arguments object; ``is_async`` says that it gives an awaitable.

    ``arguments`` and ``output`` are JSON Schemas, None where nothing is known; ``policy`` is what
    it says of its attempts.
    """

    name: str
    call: Callable[[dict[str, Json]], Any]
    description: str = ""
    arguments: JsonSchema | None = None
    output: JsonSchema | None = None
    policy: WorkPolicy = field(default_factory=WorkPolicy)
    is_async: bool = False
    check: ArgumentsCheck = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "check", ArgumentsCheck(self.arguments))


type ToolBox = Mapping[str, Tool]
