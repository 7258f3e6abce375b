"""What a tool says of its attempts, and what it may not say."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_runtime.errors import ConfigurationError
from workflow_runtime.plan.policies import RetryPolicy, WorkPolicy
from workflow_runtime.skills import tool, workflow_tool
from workflow_runtime.skills.decorators import declaration_of
from workflow_runtime.skills.options import retry_of, timeout_of


def policy_of(**options):
    @workflow_tool(**options)
    def f(): ...

    declared = declaration_of(f)
    assert declared is not None
    return declared.policy


def test_every_option_reaches_the_policy():
    assert policy_of(
        retry={"max_attempts": 5, "initial": "PT2S", "multiplier": 3, "max": "PT30S"},
        timeout="PT1M",
        approval="always",
        side_effects="idempotent",
        concurrency=4,
    ) == WorkPolicy(
        retry=RetryPolicy(
            max_attempts=5,
            initial=timedelta(seconds=2),
            multiplier=3.0,
            max=timedelta(seconds=30),
        ),
        timeout=timedelta(minutes=1),
        approval=True,
        side_effects="idempotent",
        concurrency=4,
    )


def test_what_is_left_out_of_a_retry_is_its_default():
    assert policy_of(retry={}).retry == RetryPolicy()
    assert policy_of(retry=RetryPolicy(max_attempts=2)).retry == RetryPolicy(max_attempts=2)


@pytest.mark.parametrize("timeout", ["PT1.5S", 1.5])
def test_a_timeout_is_a_duration_or_seconds(timeout):
    assert policy_of(timeout=timeout).timeout == timedelta(seconds=1.5)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"retry": 3}, "must be a mapping such as {'max_attempts': 3}, not 3"),
        ({"retry": {"attempts": 3}}, "no key 'attempts'; did you mean 'max_attempts'?"),
        ({"retry": {"until": "result.ok"}}, "'until' belongs into a plan's task"),
        ({"retry": {"max_attempts": 0}}, "'max_attempts' must be 1 to 10, not 0"),
        ({"retry": {"max_attempts": 11}}, "must be 1 to 10, not 11"),
        ({"retry": {"max_attempts": True}}, "must be 1 to 10, not True"),
        ({"retry": {"max_attempts": "3"}}, "must be 1 to 10, not '3'"),
        ({"retry": {"multiplier": 0.5}}, "'multiplier' must be 1 to 100, not 0.5"),
        ({"retry": {"multiplier": float("nan")}}, "must be 1 to 100, not nan"),
        ({"retry": {"initial": 5}}, "such as 'PT30S', at most 'P30D', not 5; did you mean 'PT5S'?"),
        ({"retry": {"initial": "5s"}}, "did you mean 'PT5S'?"),
        ({"retry": {"max": "P31D"}}, "at most 'P30D'"),
        ({"retry": {"initial": "PT2M"}}, "'initial' is longer than 'max', which is PT1M"),
        ({"timeout": 0}, "or a number of seconds, not 0"),
        ({"timeout": -1}, "not -1"),
        ({"timeout": float("inf")}, "not inf"),
        ({"timeout": True}, "not True"),
        ({"timeout": "30s"}, "did you mean 'PT30S'?"),
        ({"timeout": "PT0S"}, "not 'PT0S'"),
        ({"timeout": 1e-9}, "not 1e-09"),
        ({"approval": "never"}, "must be 'always', not 'never'; leave it out"),
        ({"approval": True}, "must be 'always', not True"),
        ({"concurrency": 0}, "must be a whole number from 1, not 0"),
        ({"concurrency": 2.0}, "must be a whole number from 1, not 2.0"),
        ({"concurrency": True}, "must be a whole number from 1, not True"),
        ({"side_effects": ["once"]}, "must be one of none, idempotent, once"),
    ],
)
def test_a_wrong_value_is_told_at_import(options, said):
    with pytest.raises(ConfigurationError) as caught:
        workflow_tool(**options)
    (option,) = options
    assert str(caught.value).startswith(f"@workflow_tool, option {option!r}")
    assert said in str(caught.value)


def test_a_tool_that_acts_once_has_no_retry():
    with pytest.raises(ConfigurationError, match="side_effects='once' is never tried again"):

        @tool(retry={"max_attempts": 2})
        @workflow_tool(side_effects="once")
        def f(): ...


def test_two_spellings_of_one_value_do_not_contradict_each_other():
    @tool(timeout=90, retry={"max": "PT60S"})
    @workflow_tool(timeout="PT1M30S", retry={"max": "PT1M"})
    def f(): ...

    declared = declaration_of(f)
    assert declared is not None
    assert declared.timeout == timedelta(seconds=90)
    with pytest.raises(ConfigurationError, match="says timeout differently"):

        @tool(timeout=1)
        @workflow_tool(timeout=2)
        def g(): ...


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("PT5S"),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["max_attempts", "initial", "multiplier", "max", "x"]), inner
        )
    ),
    max_leaves=5,
)


@given(ANYTHING)
def test_any_retry_is_read_or_refused_and_then_has_finite_pauses(value):
    try:
        policy = retry_of("retry", value)
    except ConfigurationError:
        return
    assert RetryPolicy.from_json(policy.to_json()) == policy
    for attempt in range(1, policy.max_attempts + 1):
        assert policy.delay_after(attempt) <= policy.max


@given(ANYTHING)
def test_any_timeout_is_read_or_refused(value):
    try:
        assert timeout_of("timeout", value) > timedelta(0)
    except ConfigurationError:
        return
