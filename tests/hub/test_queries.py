"""What a query costs, by its plan."""

from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hub.support import completed, started
from workflow_runtime.hosts.local.hub import queries
from workflow_runtime.hosts.local.hub.queries import Criteria, prefix_end
from workflow_runtime.hosts.local.hub.retention import _EXPIRED
from workflow_runtime.hosts.local.hub.schema import DATABASE_FILE, open_reader

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@given(prefix=text, rest=text, other=text)
def test_the_range_of_a_prefix_holds_what_starts_with_it_and_nothing_else(prefix, rest, other):
    def inside(value):
        encoded, end = value.encode(), prefix_end(prefix)
        return prefix.encode() <= encoded and (end is None or encoded < end.encode())

    assert inside(prefix + rest)
    assert inside(other) == other.startswith(prefix)


@pytest.fixture
async def reader(hub, tmp_path):
    with closing(open_reader(tmp_path / DATABASE_FILE)) as connection:
        yield connection


def plan(reader, statement, arguments):
    return [row[3] for row in reader.execute(f"EXPLAIN QUERY PLAN {statement}", arguments)]


@pytest.mark.parametrize(
    "criteria",
    [
        Criteria(prefix="mine-"),
        Criteria(prefix="mine-", after="mine-3"),
        Criteria(prefix="mine-", statuses=(0, 6), created_from=1, created_to=9),
    ],
)
async def test_a_page_by_prefix_is_a_range_of_the_index_on_ids(reader, criteria):
    steps = plan(reader, *queries.select(criteria, 10, payloads=False))
    assert steps == ["SEARCH i USING INDEX sqlite_autoindex_instances_1 (id>? AND id<?)"]


async def test_payloads_are_read_only_when_asked_for(reader):
    bare, _ = queries.select(Criteria(prefix="mine-"), 10, payloads=False)
    assert "payloads" not in bare
    full = plan(reader, *queries.select(Criteria(prefix="mine-"), 10, payloads=True))
    assert full[1] == "SEARCH p USING INTEGER PRIMARY KEY (rowid=?)"


async def test_nothing_on_the_hot_path_scans_a_table(hub, worker, tmp_path):
    """Record what a start, a turn and an activity run, and ask for the plan of each."""
    statements = set()
    connection = hub._writer._connection
    connection.set_trace_callback(statements.add)
    await hub.start(started())
    await hub.raise_event("one", "go", None)
    turn = await worker.turn()
    await worker.answer(turn, completed())
    await hub.terminate("one", None, recurse=True)
    await hub.purge(["one"], recursive=True)
    connection.set_trace_callback(None)
    with closing(open_reader(tmp_path / DATABASE_FILE)) as reader:
        for statement in statements:
            if statement.startswith(("BEGIN", "COMMIT", "--")):
                continue
            for step in plan(reader, statement, ()):
                assert "SCAN" not in step, (statement, step)
    assert len(statements) > 15


async def test_old_runs_are_found_by_the_index_on_completion(reader):
    steps = plan(reader, _EXPIRED, (1, 10))
    assert "USING INDEX instances_by_completion" in steps[0]
    assert not any("SCAN" in step for step in steps)


async def test_a_page_ends_before_a_message_gets_too_big(hub):
    big = '"' + "x" * 900_000 + '"'
    for n in range(6):
        await hub.start(started(f"big{n}", given=big))
    states, after = await hub.read(
        lambda reader: queries.page(reader, Criteria(), 100, payloads=True)
    )
    assert 1 <= len(states) < 6
    assert sum(state.ByteSize() for state in states) < 4 * 1024 * 1024
    assert after == states[-1].instanceId
