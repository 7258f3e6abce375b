"""What a session is told when one of its runs has ended: the facts, and what to do with them."""

from __future__ import annotations

from collections.abc import Iterator

from ..plan.encoding import dumps
from ..plan.types import Json
from .prompts import prompt


def notification(workflow_id: str, envelope: dict[str, Json], *, can_look: bool) -> str:
    """Return the message.

    *can_look*: the skill has the management tools. One that has not started the run by calling a
    tool for which a person is asked, and is told what came of it at once.
    """
    progress = envelope.get("progress")
    counts = progress if isinstance(progress, dict) else {}
    facts: dict[str, Json] = {
        "workflow_id": workflow_id,
        "name": envelope.get("name"),
        "status": envelope.get("status"),
        **{key: value for key, value in counts.items() if key != "now"},
    }
    then = " ".join(_then(envelope, can_look=can_look))
    return prompt("notification", facts=dumps(facts), then=then)


def _then(envelope: dict[str, Json], *, can_look: bool) -> Iterator[str]:
    error = envelope.get("error")
    if can_look:
        yield prompt("notification_read")
        if envelope.get("status") != "Completed":
            yield prompt("notification_kept")
    else:
        outcome = {key: envelope[key] for key in ("output", "error") if envelope.get(key)}
        yield prompt("notification_outcome", outcome=dumps(outcome))
    if isinstance(error, dict) and error.get("code") == "rejected":
        yield prompt("notification_rejected")
