"""
Protobuf framing by hand, for messages that are put together from parts already encoded.

An orchestrator's work item carries its whole history. Its events are stored encoded, and a
repeated field is just its elements one after the other, each with a tag and a length; so a work
item is joined from bytes, and nothing is decoded and encoded again at each turn.
https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Iterable

from durabletask.internal import orchestrator_service_pb2 as pb

_LENGTH_DELIMITED = 2
_PAST_EVENTS = pb.OrchestratorRequest.PASTEVENTS_FIELD_NUMBER
_NEW_EVENTS = pb.OrchestratorRequest.NEWEVENTS_FIELD_NUMBER
_ORCHESTRATOR_REQUEST = pb.WorkItem.ORCHESTRATORREQUEST_FIELD_NUMBER
_ACTIVITY_REQUEST = pb.WorkItem.ACTIVITYREQUEST_FIELD_NUMBER
_COMPLETION_TOKEN = pb.WorkItem.COMPLETIONTOKEN_FIELD_NUMBER


def varint(number: int) -> bytes:
    """Encode a non-negative integer in groups of seven bits, the lowest first."""
    out = bytearray()
    while number > 0x7F:
        out.append((number & 0x7F) | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number: int, body: bytes) -> bytes:
    """One length-delimited field: a message, a string or bytes."""
    return varint(number << 3 | _LENGTH_DELIMITED) + varint(len(body)) + body


def past_events(events: Iterable[bytes]) -> bytes:
    """Encoded history events as the ``pastEvents`` of an orchestrator request."""
    return b"".join(field(_PAST_EVENTS, event) for event in events)


def orchestrator_item(
    head: bytes, past: bytes | bytearray, new: Iterable[bytes], token: str
) -> bytes:
    """A ``WorkItem`` for one turn: ``head`` is an encoded request without events."""
    request = b"".join((head, past, *(field(_NEW_EVENTS, event) for event in new)))
    return field(_ORCHESTRATOR_REQUEST, request) + field(_COMPLETION_TOKEN, token.encode())


def activity_item(request: bytes, token: str) -> bytes:
    """A ``WorkItem`` for one activity."""
    return field(_ACTIVITY_REQUEST, request) + field(_COMPLETION_TOKEN, token.encode())
