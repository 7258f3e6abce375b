"""Runs that began yesterday go on today: recorded histories, turn by turn."""

import json

import pytest

from tests.replay.histories import FOLDER, folded, instance_of, read, run_again, seen, turns
from tests.replay.record import SCENES

HISTORIES = sorted(FOLDER.glob("*.json"))


def test_every_scene_has_a_history():
    assert {path.stem for path in HISTORIES} >= SCENES.keys()


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_todays_orchestrator_does_in_each_turn_what_was_recorded(path):
    events, _ = read(path)
    count = 0
    for past, brought, taken in turns(events):
        assert run_again(instance_of(events), past, brought) == taken
        count += 1
    assert count > 1
    assert taken[-1][1] == "end"


@pytest.mark.parametrize("scene", ["told_again", "told_when_free"])
def test_a_session_that_could_not_be_told_is_told_again_later(scene):
    events, _ = read(FOLDER / f"{scene}.json")
    done = [(name, what) for *_, taken in turns(events) for _, name, what in taken]
    first, pause, second, end = done[-4:]
    assert first == second
    assert [first[0], pause[0], end[0]] == ["workflow_tell", "timer", "end"]


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_the_service_reads_the_run_that_was_recorded(path):
    events, then = read(path)
    now = seen(folded(events))
    assert now == then
    outcome = json.loads(json.loads(events[-1].executionCompleted.result.value))
    assert {key: now[key] for key in outcome} == outcome
