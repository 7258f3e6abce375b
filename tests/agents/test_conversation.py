"""What a model is told of a long session: the newest turns, whole, and no more than fits."""

from __future__ import annotations

from workflow_runtime.agents.conversation import (
    MAX_CALL_CHARACTERS,
    MAX_CHARACTERS,
    TURNS_WITH_CALLS,
    entries,
    kept,
)
from workflow_runtime.agents.sessions import Record, ToolCall

AT = "2026-05-04T14:30:00Z"
CALL = ToolCall(name="list_workflows", arguments="{}", result="[]")


def user(text: str, **more) -> Record:
    return Record(kind="user", text=text, at=AT, **more)


def assistant(text: str, *calls: ToolCall) -> Record:
    return Record(kind="assistant", text=text, at=AT, calls=calls)


def test_the_newest_turns_that_fit_are_told():
    turns = [
        record
        for number in range(20)
        for record in (user(f"{number} " + "x" * 5_000), assistant(f"answer {number}"))
    ]
    told = entries([*turns, user("now")])
    assert told[-1].text == "now"
    assert told[0].role == "user"
    assert sum(len(entry.text) for entry in told) <= MAX_CHARACTERS
    assert len(told) > 10


def test_the_turn_that_is_going_on_is_always_told():
    (entry,) = entries([user("old"), assistant("yes"), user("y" * (MAX_CHARACTERS + 1))])
    assert entry.text.startswith("yyy")


def test_only_the_newest_turns_are_told_with_their_calls():
    records = []
    for number in range(TURNS_WITH_CALLS + 2):
        records += [user(f"m{number}"), assistant(f"a{number}", CALL)]
    told = entries([*records, user("now")])
    assert [bool(e.calls) for e in told if e.role == "assistant"] == [False] * 2 + [
        True
    ] * TURNS_WITH_CALLS


def test_a_failed_turn_tells_its_calls_and_no_words():
    failed = Record(kind="failed", text="It broke.", at=AT, code="model_failed", calls=(CALL,))
    told = entries([user("one"), failed, user("two")])
    assert [(e.role, e.text, len(e.calls)) for e in told] == [
        ("user", "one", 0),
        ("assistant", "", 1),
        ("user", "two", 0),
    ]


def test_users_that_follow_each_other_are_one_message():
    failed = Record(kind="failed", text="It broke.", at=AT, code="model_failed")
    (entry,) = entries([user("one"), failed, user("two")])
    assert entry.text == "one\n\ntwo"


def test_the_callers_context_is_told_with_the_message():
    (entry,) = entries([user("look", context="5xx since 14:10")])
    assert entry.text == "look\n\n<context>\n5xx since 14:10\n</context>"


def test_calls_with_arguments_that_are_no_object_are_left_out():
    broken = ToolCall(name="start_workflow", arguments="[1", result="{}")
    told = entries([user("one"), assistant("a", broken, CALL), user("two")])
    assert told[1].calls == (CALL,)


def test_a_large_call_is_stored_short():
    large = ToolCall(name="t", arguments="x" * 100_000, result="y" * 100_000)
    short = kept(large)
    assert short.arguments == '{"omitted":"100000 characters"}'
    assert len(short.result) < MAX_CALL_CHARACTERS + 20
