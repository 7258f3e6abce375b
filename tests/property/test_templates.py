"""Templates round-trip: text stays text, values keep their types, nothing is scanned twice."""

from __future__ import annotations

import json
from contextlib import suppress

from hypothesis import example, given
from hypothesis import strategies as st

from tests.strategies import json_values, texts_with_marks
from tests.unit.plan.scopes import PlainScope
from workflow_runtime.plan.encoding import dumps
from workflow_runtime.plan.expressions import ExpressionError, find_end, parse_query
from workflow_runtime.plan.paths import Path, match_path
from workflow_runtime.plan.reading import Reader, parse_text, repair, scan
from workflow_runtime.plan.templates import escape, render

NAMES = frozenset({"a"})


def rendered(text, value=None):
    return render(Reader(NAMES).value(text), PlainScope({"a": value}))


@given(texts_with_marks)
@example("$${")
@example("$$${x}")
def test_escaped_text_renders_to_itself(text):
    if "{{" not in text:  # `{{a.result}}` is refused, and there is no escape for it
        assert rendered(escape(text)) == text


@given(json_values)
def test_a_whole_value_keeps_its_type(value):
    found = rendered("${a}", value)
    assert found == value
    assert type(found) is type(value)


@given(json_values, texts_with_marks.filter(lambda text: "{" not in text and text[-1:] != "$"))
def test_a_value_inside_text_goes_in_as_json(value, text):
    shown = rendered(f"{text} ${{a}}", value)
    shown = shown.removeprefix(f"{text} ")
    assert shown == value if isinstance(value, str) else json.loads(shown) == value


@given(texts_with_marks)
def test_inserted_text_is_never_scanned_again(text):
    assert rendered("<${a}>", text) == f"<{text}>"
    assert rendered(["${a}", {"k": "x${a}"}], text) == [text, {"k": f"x{text}"}]


@given(texts_with_marks)
def test_the_pieces_of_a_text_are_all_of_it(text):
    spots = [(start, end) for start, end, _ in scan(text, NAMES)]
    assert "".join(text[start:end] for start, end in spots) == text


@given(texts_with_marks)
def test_a_repaired_text_has_fewer_problems_or_none_to_repair(text):
    _, problems = parse_text(text, NAMES)
    _, left = parse_text(repair(text, problems), NAMES)
    if any(problem.right is not None for problem in problems):
        assert len(left) < len(problems) or not any(p.right for p in left)


@given(st.text(max_size=10), st.text(max_size=10))
def test_an_expression_ends_behind_its_quotes_whatever_they_hold(one, other):
    literal = dumps({one: other}).replace("`", "\\`")
    raw = one.replace("\\", "").replace("'", "\\'")
    text = f"a == `{literal}` || b == '{raw}'"
    assert find_end(text + "} rest }", 0) == len(text)


@given(st.text(max_size=30))
def test_any_text_is_an_expression_or_is_refused_as_one(text):
    with suppress(ExpressionError):
        assert all(isinstance(path, Path) for path in parse_query(text, NAMES).paths)


segments = st.one_of(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,8}", fullmatch=True),
    st.integers(-99, 99),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5).filter(
        lambda text: not text.isdigit()
    ),
)


@given(st.lists(segments, max_size=5))
def test_a_path_that_is_written_out_is_read_back(parts):
    path = Path("a", tuple(parts))
    found = match_path(str(path))
    assert found is not None
    assert found == (path, len(str(path)))
