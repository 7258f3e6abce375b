"""JMESPath as plans use it: what is rewritten, what is read, what is refused."""

from __future__ import annotations

import jmespath
import pytest

from workflow_runtime.errors import TemplateError
from workflow_runtime.plan.expressions import ExpressionError, find_end, parse_query
from workflow_runtime.plan.reading import bare
from workflow_runtime.plan.rewriting import rewrite

NAMES = frozenset({"a", "b", "c"})
VALUES = {
    "a": {
        "ok": False, "n": 5, "s": "high", "d": 0.5, "none": None, "true": 1, "and": 2,
        "rows": [{"id": 1, "ok": True, "s": "x"}, {"id": 4, "ok": False, "s": "y"}],
        "text with space": 7,
    },
    "b": {"ok": True, "n": -3, "rows": []},
    "c": [10, 20, 30],
}  # fmt: skip


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a.ok == false", "a.ok == `false`"),
        ("a.ok == False", "a.ok == `false`"),
        ("a.none == None", "a.none == `null`"),
        ("false == a.ok", "`false` == a.ok"),
        ("a.n > 3", "a.n > `3`"),
        ("a.n>=5", "a.n>=`5`"),
        ("b.n == -3", "b.n == `-3`"),
        ("a.d < 0.75", "a.d < `0.75`"),
        ("a.d > -0.5", "a.d > `-0.5`"),
        ("3 < a.n", "`3` < a.n"),
        ('a.s == "high"', "a.s == 'high'"),
        ('"high" == a.s', "'high' == a.s"),
        ("a.s == 'high'", "a.s == 'high'"),
        ("a.ok == false and b.ok == true", "a.ok == `false` && b.ok == `true`"),
        ("a.ok or b.ok", "a.ok || b.ok"),
        ("not a.ok", "!(a.ok)"),
        ("not a.ok and b.ok", "(!(a.ok)) && b.ok"),
        ("not a.ok == true", "!(a.ok == `true`)"),
        ("not (a.ok or b.ok)", "!(a.ok || b.ok)"),
        ("not not b.ok", "!(!(b.ok))"),
        ("!a.ok", "!(a.ok)"),
        ("!a.ok && b.ok", "(!(a.ok)) && b.ok"),
        ("!(a.ok) == true", "(!(a.ok)) == `true`"),
        ("len(a.rows) == 2", "length(a.rows) == `2`"),
        ("a.rows[?id > 3].s", "a.rows[?id > `3`].s"),
        ("a.rows[?ok == true and id < 2].s", "a.rows[?ok == `true` && id < `2`].s"),
        ("a.rows[?not ok].id", "a.rows[?!(ok)].id"),
        ('a.rows[?s == "y"].id', "a.rows[?s == 'y'].id"),
        ('a.rows[?s == "b"].id', "a.rows[?s == 'b'].id"),
        ("a.rows[0].id == 1", "a.rows[0].id == `1`"),
        ("c[0:2]", "c[0:2]"),
        ("c[-1]", "c[-1]"),
        ("c[::2]", "c[::2]"),
        ('[a.n, 3, true, "x"]', "[a.n, `3`, `true`, 'x']"),
        ("{n: a.n, t: true, k: 2}", "{n: a.n, t: `true`, k: `2`}"),
        ('a."text with space"', 'a."text with space"'),
        ("a.true", 'a."true"'),
        ("a.and", 'a."and"'),
        ("contains(a.s, 'ig')", "contains(a.s, 'ig')"),
        ("max([a.n, 9])", "max([a.n, `9`])"),
        ("sort_by(a.rows, &id)[-1].s", "sort_by(a.rows, &id)[-1].s"),
        ("a.none || 'no'", "a.none || 'no'"),
        ("a.rows | [0].id", "a.rows | [0].id"),
        ("join(', ', a.rows[*].s)", "join(', ', a.rows[*].s)"),
    ],
)
def test_what_models_write_means_what_they_mean(written, meant):
    assert parse_query(written, NAMES).evaluate(VALUES) == jmespath.search(meant, VALUES)


@pytest.mark.parametrize(
    "text",
    ["'a and true'", '`"not 3"`', 'a."b and c"', "a.rows[?s == 'not or 3']", "'it\\'s 3 > true'"],
)
def test_nothing_inside_quotes_is_rewritten(text):
    assert rewrite(text, NAMES) == text


def test_a_quoted_operand_that_names_a_task_stays_a_name():
    assert parse_query('"b".n == -3', NAMES).evaluate(VALUES) is True
    assert parse_query('b.n == "b"', NAMES).evaluate({"b": {"n": 1}}) is False


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("a.b}", 3),
        ("{x: a}} tail", 6),
        ("a['}']}", 6),
        ('`{"a": "}"}`}', 12),
        ('a."}"}', 5),
        ("'it\\'s }' || a}", 14),
        ("a.{x: b, y: {z: c}}}", 19),
        ("a", -1),
        ("a'}", -1),
        ("{a}", -1),
        ("", -1),
    ],
)
def test_the_closing_brace_is_found_outside_of_quotes_and_pairs(text, end):
    assert find_end(text, 0) == end


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("@", "expression_hides_dependencies"),
        ("*", "expression_hides_dependencies"),
        ("[*].x", "expression_hides_dependencies"),
        ("keys(@)", "expression_hides_dependencies"),
        ("a.rows[?id == b.result]", "reference_in_filter"),
        ("a.rows[?id == input.x]", "reference_in_filter"),
        ("a.rows[?item.x == id]", "reference_in_filter"),
        ("a.rows[*].{x: b.result}", "reference_in_filter"),
        ("a.result[*].[input.x]", "reference_in_filter"),
        ("a.rows | b.result", "reference_in_filter"),
        ("nofn(a)", "expression_unknown_function"),
        ("length(a, b)", "expression_invalid"),
        ("length()", "expression_invalid"),
        ("a.b[", "expression_invalid"),
        ("a ==", "expression_invalid"),
        ("'open", "expression_invalid"),
        ("`nope`", "expression_invalid"),
        ("`1e999`", "expression_invalid"),
        ("a" * 1_001, "expression_too_long"),
        ("!" * 60 + "a", "expression_too_deep"),
        ("(" * 400 + "a" + ")" * 400, None),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_code(text, code):
    if code is None:
        assert parse_query(text, NAMES).paths  # parentheses alone are no depth
        return
    with pytest.raises(ExpressionError) as refused:
        parse_query(text, NAMES)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("a.rows[?id > 3].s", {"a.rows"}),
        ("a.n > b.n", {"a.n", "b.n"}),
        ("length(a.rows)", {"a.rows"}),
        ("a.result[*].x", {"a.result"}),
        ("a.result[].x", {"a.result"}),
        ("a.result.rows[?x == `1`][].y | [0]", {"a.result.rows"}),
        ("a.result.*.x", {"a.result"}),
        ("a.[n, s]", {"a"}),
        ("sort_by(a.rows, &id)[0]", {"a.rows"}),
        ("{x: a.n, y: [b.ok, c[0]]}", {"a.n", "b.ok", "c[0]"}),
        ("a.rows | [0]", {"a.rows"}),
        ("map(&id, a.rows)", {"a.rows"}),
        ("a.rows[*].{i: id}", {"a.rows"}),
        ("not a.ok or b.ok", {"a.ok", "b.ok"}),
        ("a.items[?item.x > 3]", {"a.items"}),
    ],
)
def test_the_paths_that_are_read_are_known_before_the_run(text, paths):
    assert {str(path) for path in parse_query(text, NAMES).paths} == paths


def test_what_is_missing_is_null_and_a_wrong_type_fails_with_its_code():
    assert parse_query("a.nothing.at.all == 3", NAMES).evaluate(VALUES) is False
    with pytest.raises(TemplateError) as failed:
        parse_query("length(a.n)", NAMES).evaluate(VALUES)
    assert failed.value.code == "expression_type"


def test_what_has_no_order_fails_with_a_hint_to_convert_it():
    with pytest.raises(TemplateError, match="different types in order; see to_number") as failed:
        parse_query("a.s > 3", NAMES).evaluate(VALUES)
    assert failed.value.code == "expression_type"


@pytest.mark.parametrize(
    ("text", "inner"),
    [("${a.b}", "a.b"), (" ${ a.b } ", "a.b"), ("a.b", "a.b"), ("${a} == ${b}", "${a} == ${b}")],
)
def test_braces_are_taken_off_only_where_they_hold_everything(text, inner):
    assert bare(text) == inner
