"""Log lines name what they are about."""

import logging
import threading
from contextvars import copy_context

import pytest

from workflow_runtime.logs import bound, get_logger

LOG = get_logger("workflow_runtime.test")


@pytest.fixture(autouse=True)
def level(caplog):
    caplog.set_level(logging.INFO)


def test_a_line_ends_with_the_ids_of_its_block(caplog):
    with bound(workflow_id="wf", task_id="inspect[12]"), bound(attempt=2, correlation_id="c0ffee"):
        LOG.info("called %s", "t")
    assert caplog.messages == [
        "called t [workflow_id=wf task_id=inspect[12] attempt=2 correlation_id=c0ffee]"
    ]
    record = caplog.records[0]
    assert (record.workflow_id, record.task_id, record.attempt) == ("wf", "inspect[12]", 2)


def test_a_line_outside_of_all_blocks_is_as_it_was(caplog):
    with bound(workflow_id="wf"):
        pass
    LOG.info("100 %")
    assert caplog.messages == ["100 %"]


def test_extra_wins_and_keeps_what_is_no_id(caplog):
    with bound(workflow_id="outer", attempt=1):
        LOG.info("x", extra={"workflow_id": "inner", "attempt": None, "bytes": 3})
    assert caplog.messages == ["x [workflow_id=inner attempt=1]"]
    assert caplog.records[0].bytes == 3


def test_ids_stand_at_the_end_of_the_first_line(caplog):
    LOG.warning("failed\n%s", "Traceback", extra={"task_id": "a"})
    assert caplog.messages == ["failed [task_id=a]\nTraceback"]


def test_an_id_can_neither_forge_a_line_nor_break_the_format(caplog):
    LOG.info("%s", "x", extra={"workflow_id": "a\nERROR %s %d forged " + "b" * 500})
    (message,) = caplog.messages
    assert "\n" not in message
    assert message.startswith("x [workflow_id=a_ERROR_%s_%d_forged_b")
    assert len(message) < 300


def test_the_record_names_the_line_that_called(caplog):
    LOG.info("x")
    LOG.error("x")
    assert {record.funcName for record in caplog.records} == {
        "test_the_record_names_the_line_that_called"
    }


def test_a_level_that_is_off_costs_nothing(caplog):
    class Costly:
        def __str__(self):
            raise AssertionError

    LOG.debug(Costly())
    assert caplog.messages == []


def test_a_thread_with_the_callers_context_has_its_ids(caplog):
    with bound(workflow_id="wf"):
        context = copy_context()
    thread = threading.Thread(target=context.run, args=(LOG.info, "x"))
    thread.start()
    thread.join()
    assert caplog.messages == ["x [workflow_id=wf]"]
