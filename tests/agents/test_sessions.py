"""The session files: what was acknowledged stays, whatever happens to the process."""

from __future__ import annotations

import stat
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agents.fakes import OWNER
from workflow_runtime.agents.sessions import Record, SessionStore, ToolCall
from workflow_runtime.errors import DataDirectoryError

AT = "2026-05-04T14:30:00+00:00"


def said(text: str) -> Record:
    return Record(kind="user", text=text, at=AT)


@pytest.fixture
def store(tmp_path):
    return SessionStore(tmp_path / "sessions")


async def test_records_come_back_in_their_order(store):
    call = ToolCall(name="start_workflow", arguments="{}", result='{"workflow_id":"w"}')
    answer = Record(kind="assistant", text="Grüße\n→", at=AT, workflow_id="w", calls=(call,))
    await store.append(OWNER, said("one"), said("two"))
    await store.append(OWNER, answer)
    assert await store.read(OWNER) == (said("one"), said("two"), answer)


async def test_a_new_session_is_empty(store):
    assert await store.read(OWNER) == ()


async def test_owners_do_not_see_each_other(store):
    await store.append(OWNER, said("mine"))
    for other in ({"principal": "p"}, {"session": "s2"}, {"skill": "writer"}):
        assert await store.read(replace(OWNER, **other)) == ()


async def test_the_file_says_nothing_of_the_owner_and_only_its_user_may_read_it(store, tmp_path):
    owner = replace(OWNER, principal="alice", session="../../etc/passwd")
    await store.append(owner, said("hello"))
    (path,) = (tmp_path / "sessions").iterdir()
    assert path.name.removesuffix(".jsonl").isalnum()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("torn", [b"{", b'{"kind":"user","text":"half', b"\x00\x00", b"x" * 9000])
async def test_a_torn_last_line_is_ignored_and_cut_off(store, torn):
    await store.append(OWNER, said("one"))
    path = store._path(OWNER)
    path.write_bytes(path.read_bytes() + torn)
    assert await store.read(OWNER) == (said("one"),)
    await store.append(OWNER, said("two"))
    assert await store.read(OWNER) == (said("one"), said("two"))


async def test_a_file_of_nothing_but_a_torn_line_begins_anew(store):
    path = store._path(OWNER)
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"kind":"us')
    await store.append(OWNER, said("one"))
    assert await store.read(OWNER) == (said("one"),)


async def test_a_damaged_line_in_the_middle_costs_that_line_only(store, caplog):
    await store.append(OWNER, said("one"))
    path = store._path(OWNER)
    path.write_bytes(path.read_bytes() + b'not JSON\n{"kind":"dance"}\n')
    await store.append(OWNER, said("two"))
    assert await store.read(OWNER) == (said("one"), said("two"))
    assert "line 2" in caplog.text


async def test_a_directory_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "sessions").write_text("a file, not a directory")
    with pytest.raises(DataDirectoryError, match="data directory"):
        await SessionStore(tmp_path / "sessions").append(OWNER, said("one"))


@given(st.text(st.characters(codec=None)))
def test_any_text_is_one_line(text):
    import json

    from workflow_runtime.plan.encoding import dumps

    line = dumps(said(text).to_json())
    assert "\n" not in line
    assert Record.from_json(json.loads(line)).at == AT
