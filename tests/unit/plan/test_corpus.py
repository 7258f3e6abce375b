"""Plans as models write them: each is answered as the corpus says, and can be put right."""

from __future__ import annotations

import pytest

from tests.corpus.loading import NOW, Entry, entries, grants
from tests.corpus.patching import apply
from workflow_runtime.plan import check

CORPUS = entries("plans.json", "trial.json", "decisions.json")
ROUNDS = 3


def answer(entry: Entry, plan):
    return check(plan, grants(entry.skill), NOW)


def put_right(entry: Entry):
    """Apply all fixes and check again, as long as there are any, and at most ROUNDS times."""
    found = answer(entry, entry.plan)
    for _ in range(ROUNDS):
        plan = found.decoded
        for problem in found.problems:
            plan = apply(plan, problem.fix or ())
        if plan == found.decoded:
            break
        found = answer(entry, plan)
    return found


def test_the_corpus_is_large_and_its_names_are_unique():
    assert len(CORPUS) >= 60
    assert len({entry.name for entry in CORPUS}) == len(CORPUS)


@pytest.mark.parametrize("entry", CORPUS, ids=lambda entry: entry.name)
def test_a_plan_is_answered_as_the_corpus_says(entry):
    found = answer(entry, entry.plan)
    assert [(problem.code, problem.path) for problem in found.problems] == list(entry.answer)


@pytest.mark.parametrize(
    "entry", [e for e in CORPUS if e.repaired is None], ids=lambda entry: entry.name
)
def test_the_fixes_alone_make_a_plan_valid_in_three_rounds(entry):
    found = put_right(entry)
    assert found.plan is not None, [str(problem) for problem in found.problems]


@pytest.mark.parametrize(
    "entry", [e for e in CORPUS if e.repaired is not None], ids=lambda entry: entry.name
)
def test_what_is_expected_in_words_leads_a_person_to_a_valid_plan(entry):
    left = put_right(entry)
    assert left.plan is None
    assert any(problem.fix is None and problem.expected for problem in left.problems)
    found = answer(entry, entry.repaired)
    assert found.plan is not None, [str(problem) for problem in found.problems]
