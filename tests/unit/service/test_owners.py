"""Whose a run is can be told from its id, and only with the key."""

from datetime import UTC, datetime, timedelta

from tests.fakes import OWNER
from workflow_runtime.service import Owner, OwnerKeys

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEYS = OwnerKeys([b"new" * 11, b"old" * 11])


def test_an_owner_owns_what_is_made_for_it_and_nobody_else_does():
    made = KEYS.new_id(OWNER, NOW)
    assert KEYS.owns(OWNER, made)
    for other in (
        Owner(principal="bob", skill="lab", session="s1"),
        Owner(principal="ann", skill="lab", session="s2"),
        Owner(principal="ann", skill="other", session="s1"),
    ):
        assert not KEYS.owns(other, made)


def test_fields_do_not_run_into_each_other():
    one, two = (Owner(principal=p, skill="x", session=s) for p, s in (("ab", "c"), ("a", "bc")))
    assert KEYS.prefixes(one) != KEYS.prefixes(two)


def test_the_newest_id_sorts_first():
    ids = [KEYS.new_id(OWNER, NOW + timedelta(milliseconds=n)) for n in range(5)]
    assert sorted(ids) == ids[::-1]


def test_a_run_made_with_the_previous_key_is_still_the_owners():
    made = OwnerKeys([b"old" * 11]).new_id(OWNER, NOW)
    assert KEYS.owns(OWNER, made)
    assert not OwnerKeys([b"new" * 11]).owns(OWNER, made)


def test_one_key_gives_one_id_at_any_time():
    first = KEYS.new_id(OWNER, NOW, key="message-1")
    assert first == KEYS.new_id(OWNER, NOW + timedelta(days=9), key="message-1")
    assert first in KEYS.keyed_ids(OWNER, "message-1")
    assert first != KEYS.new_id(OWNER, NOW, key="message-2")
    assert "message-1" not in first


def test_odd_ids_and_keys_raise_nothing():
    for odd in ("", "x", "\ud800", "é" * 300):
        assert not KEYS.owns(OWNER, odd)
        assert KEYS.prefixes(Owner(principal=odd, skill=odd, session=odd))
        assert KEYS.keyed_ids(OWNER, odd)
