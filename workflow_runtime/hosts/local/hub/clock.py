"""
Time as the hub keeps it: whole microseconds since the epoch, UTC, in one integer.

The hub reads the clock at its edges (a call, a timer, a dispatch) and passes the time on, so that
transitions and decisions get it as an argument.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from google.protobuf import timestamp_pb2

type Micros = int
type Clock = Callable[[], Micros]

SECOND: Micros = 1_000_000


def system_clock() -> Micros:
    """The wall clock."""
    return time.time_ns() // 1000


def to_timestamp(moment: Micros) -> timestamp_pb2.Timestamp:
    """The protobuf timestamp of a moment."""
    return timestamp_pb2.Timestamp(seconds=moment // SECOND, nanos=moment % SECOND * 1000)


def from_timestamp(timestamp: timestamp_pb2.Timestamp) -> Micros:
    """The moment of a protobuf timestamp, rounded up so that nothing fires early."""
    return int(timestamp.seconds) * SECOND + -(-int(timestamp.nanos) // 1000)
