"""Lists whose length is known before a run: those in the plan, and those in its input."""

from __future__ import annotations

from ..errors import TemplateError
from .paths import Path, look_up
from .templates import Constant, Expression, Template, Whole
from .types import Json


def known_items(each: Template, data: Json) -> list[Json] | None:
    """Return the items of a ``for_each``, *data* being the plan's input; None where a run tells."""
    match each:
        case Constant(value=list(items)):
            return items
        case Whole(expression=Expression(body=Path(head="input") as path)):
            try:
                found = look_up(data, path)
            except TemplateError:
                return None
            return found if isinstance(found, list) else None
        case _:
            return None
