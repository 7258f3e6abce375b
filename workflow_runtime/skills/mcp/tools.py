"""From what a server offers to a tool of plans, called ``server.tool``."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import ConfigurationError
from ...execution import Tool
from ...plan.policies import SideEffects, WorkPolicy
from ...plan.types import Json
from .schemas import read_schema

_NAME = re.compile(r"[A-Za-z0-9_./-]{1,128}")
_DESCRIPTION_LIMIT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One tool as its server describes it."""

    name: str
    description: str = ""
    arguments: object = None
    output: object = None
    read_only: bool = False
    idempotent: bool = False

    @property
    def repeatable(self) -> bool:
        """Whether a call that may have been made can be made again."""
        return self.read_only or self.idempotent


type Call = Callable[[Offer, dict[str, Json]], Awaitable[Json]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """The usable tools of one server by their whole names, and why others are not there."""

    tools: Mapping[str, Tool] = field(default_factory=dict)
    unloaded: Mapping[str, str] = field(default_factory=dict)


def build_tools(server: str, offers: Iterable[Offer], call: Call) -> Built:
    """Build the tools of one server; *call* makes a call of one of them."""
    tools: dict[str, Tool] = {}
    unloaded: dict[str, str] = {}
    for offer in offers:
        name = f"{server}.{offer.name}"
        if not _NAME.fullmatch(offer.name):
            shown = re.sub(r"[^A-Za-z0-9_./-]", "_", offer.name)[:128]
            unloaded[f"{server}.{shown}"] = (
                f"its name {offer.name[:80]!r} must be letters, digits, '_', '-', '.' and '/'"
            )
            continue
        try:
            tools[name] = _tool(name, offer, call)
        except ConfigurationError as error:
            unloaded[name] = str(error)
    return Built(tools=tools, unloaded=unloaded)


def _tool(name: str, offer: Offer, call: Call) -> Tool:
    async def make(arguments: dict[str, Json]) -> Any:
        return await call(offer, arguments)

    output = offer.output
    return Tool(
        name=name,
        call=make,
        description=_first_line(offer.description),
        arguments=read_schema("its inputSchema", offer.arguments, of_object=True),
        output=None if output is None else read_schema("its outputSchema", output, of_object=False),
        policy=WorkPolicy(side_effects=_side_effects(offer)),
        is_async=True,
    )


def _side_effects(offer: Offer) -> SideEffects:
    if offer.read_only:
        return "none"
    return "idempotent" if offer.idempotent else "unknown"


def _first_line(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= _DESCRIPTION_LIMIT else f"{line[: _DESCRIPTION_LIMIT - 1]}…"
