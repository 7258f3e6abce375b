"""The one conversion rule of results."""

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from workflow_runtime.execution import ResultNotJsonError, to_json
from workflow_runtime.plan.encoding import dumps, loads


class Level(Enum):
    HIGH = "high"


class Rank(IntEnum):
    FIRST = 1


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Deploy:
    at: datetime
    by: Level


class Report(BaseModel):
    title: str = Field(serialization_alias="Title")
    cost: Decimal
    seen: set[int] = Field(default_factory=set)
    score: float = 0.0
    blob: bytes = b""


AT = datetime(2026, 3, 1, 14, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (1.5, 1.5),
        ("Zoë 東京", "Zoë 東京"),
        ((1, (2,)), [1, [2]]),
        (Point(1, 2), [1, 2]),
        ({1: "a", "b": 2}, {"1": "a", "b": 2}),
        ({date(2026, 3, 1): 1, Level.HIGH: 2, Rank.FIRST: 3}, {"2026-03-01": 1, "high": 2, "1": 3}),
        (Decimal("1.10"), "1.10"),
        (Decimal("1e400"), "1E+400"),
        (AT, "2026-03-01T14:10:00Z"),
        (date(2026, 3, 1), "2026-03-01"),
        (time(14, 10), "14:10:00"),
        (timedelta(seconds=30), "PT30S"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("a/b"), "a/b"),
        (Level.HIGH, "high"),
        (Rank.FIRST, 1),
        (Deploy(AT, Level.HIGH), {"at": "2026-03-01T14:10:00Z", "by": "high"}),
        (
            Report(title="t", cost=Decimal("1.10"), seen={3}, blob=b"x"),
            {"Title": "t", "cost": "1.10", "seen": [3], "score": 0.0, "blob": "x"},
        ),
        ([Deploy(AT, Level.HIGH)], [{"at": "2026-03-01T14:10:00Z", "by": "high"}]),
        (OrderedDict(a=1), {"a": 1}),
        (MappingProxyType({"a": (1,)}), {"a": [1]}),
        ("a\ud800b", "a\ufffdb"),
        ({"\ud800": 1}, {"\ufffd": 1}),
    ],
)
def test_a_value_is_converted_by_its_own_type(value, expected):
    converted = to_json(value)
    assert converted == expected
    assert loads(dumps(converted)) == expected


@pytest.mark.parametrize(
    ("value", "kind", "path"),
    [
        (float("nan"), "float", "result"),
        ({"a": [0, float("inf")]}, "float", "result.a[1]"),
        (Decimal("NaN"), "Decimal", "result"),
        (Decimal("sNaN"), "Decimal", "result"),
        ({1, 2}, "set", "result"),
        ([{"b": b"x"}], "bytes", "result[0].b"),
        ({"at": object()}, "object", "result.at"),
        ({(1, 2): 3}, "tuple", "result.<key>"),
        ({True: 3}, "bool", "result.<key>"),
        ({1: "a", "1": "b"}, "str", "result"),
        pytest.param(10**5_000, "int", "result", id="huge-integer"),
        (Deploy, "type", "result"),
        ((n for n in range(3)), "generator", "result"),
        (Report(title="t", cost=Decimal(1), score=float("nan")), "float", "result.score"),
        (Report(title="t", cost=Decimal(1), blob=b"\xff"), "Report", "result"),
        (Exception("x"), "Exception", "result"),
    ],
)
def test_what_is_not_json_is_refused_by_type_and_path(value, kind, path):
    with pytest.raises(ResultNotJsonError) as caught:
        to_json(value)
    assert (caught.value.type, caught.value.path) == (kind, path)
    assert kind in str(caught.value)
    assert path in str(caught.value)


def test_nan_is_named():
    with pytest.raises(ResultNotJsonError, match="nan is no JSON number"):
        to_json(float("nan"))


def test_a_value_that_holds_itself_is_refused():
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(ResultNotJsonError, match="or it holds itself") as caught:
        to_json(loop)
    assert len(str(caught.value)) < 700


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=20,
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.binary() | st.decimals()
    | st.datetimes() | st.timedeltas() | st.uuids() | st.text(st.characters())
    | st.text(st.characters(categories=["Cs"])) | st.sampled_from([Level.HIGH, object(), Deploy]),
    lambda children: st.lists(children) | st.tuples(children, children)
    | st.dictionaries(st.integers() | st.text() | st.none() | st.uuids(), children),
    max_leaves=20,
)  # fmt: skip


@given(JSON)
def test_json_stays_what_it_is(value):
    assert to_json(value) == value
    assert loads(dumps(to_json(value))) == value


@given(ANYTHING)
def test_anything_is_either_converted_to_json_or_refused(value):
    try:
        converted = to_json(value)
    except ResultNotJsonError:
        return
    text = dumps(converted)
    text.encode("utf-8")
    assert loads(text) == converted == json.loads(text)
    assert to_json(converted) == converted


def test_a_mapping_of_the_authors_own_is_an_object():
    class Headers(Mapping[str, int]):
        def __getitem__(self, key):
            return {"a": 1}[key]

        def __iter__(self):
            return iter(["a"])

        def __len__(self):
            return 1

    assert to_json(Headers()) == {"a": 1}
