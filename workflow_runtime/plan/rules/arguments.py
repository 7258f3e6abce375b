"""Arguments against the tool's JSON Schema: literals fully, references by what they give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from jsonschema.exceptions import ValidationError, best_match

from .. import templates
from ..draft import Draft
from ..draft_task import DraftTask
from ..fitting import conflict
from ..problems import Problem, listed, move, nearest, quoted, replace
from ..schemas import as_schema, types_of, written
from ..templates import Constant, Whole
from ..types import JsonSchema, type_name
from ..validation import Parts, errors, is_valid
from ..walking import Absent, walk

_STRING: JsonSchema = {"type": "string"}


def arguments(draft: Draft) -> Iterator[Problem]:
    """The arguments of each tool task fit the tool's schema, as far as can be known."""
    for task in draft.tasks:
        tool = task.raw.get("tool")
        grant = draft.grants.tools.get(tool) if isinstance(tool, str) else None
        args = task.raw.get("args", {})
        if task.kind != "tool" or grant is None or not grant.arguments:
            continue
        if args is None or isinstance(args, dict):
            yield from _check(draft, task, args or {}, grant.arguments)


def _check(
    draft: Draft, task: DraftTask, args: dict[str, Any], schema: JsonSchema
) -> Iterator[Problem]:
    holes = dict(_holes(draft, args, ()))
    yield from _literal_problems(task, errors(schema, args, holes))
    for place, template in holes.items():
        yield from _reference_problem(draft, task, schema, place, template)


def _holes(draft: Draft, value: Any, path: Parts) -> Iterator[tuple[Parts, templates.Template]]:
    """Yield where references stand in the arguments."""
    match value:
        case str() if "${" in value:
            template, _ = draft.reader.text(value)
            if not isinstance(template, Constant) or "$${" in value:
                yield path, template
        case list():
            for index, one in enumerate(value):
                yield from _holes(draft, one, (*path, index))
        case dict():
            for key, one in value.items():
                yield from _holes(draft, one, (*path, key))


def _literal_problems(task: DraftTask, found: list[ValidationError]) -> Iterator[Problem]:
    seen: set[tuple[str, str]] = set()
    for error in found:
        for problem in _literal_problem(task, error, found):
            if (problem.path, problem.message) not in seen:
                seen.add((problem.path, problem.message))
                yield problem


def _literal_problem(
    task: DraftTask, error: ValidationError, others: list[ValidationError]
) -> Iterator[Problem]:
    at = tuple(error.absolute_path)
    if error.validator == "required" and isinstance(error.instance, dict):
        yield from _missing(task, at, error, others)
    elif error.validator == "additionalProperties" and isinstance(error.instance, dict):
        yield from _unknown(task, at, error)
    else:
        yield _wrong(task, at, error)


def _where(task: DraftTask, at: Parts) -> str:
    return task.path("args", *at) if isinstance(task.raw.get("args"), dict) else task.path()


def _known(error: ValidationError) -> Mapping[str, Any]:
    """Return the properties of the object that *error* is about."""
    schema = error.schema
    known = schema.get("properties", {}) if isinstance(schema, Mapping) else {}
    return known if isinstance(known, Mapping) else {}


def _members(error: ValidationError) -> dict[str, Any]:
    """Return the object that *error* is about."""
    return error.instance if isinstance(error.instance, dict) else {}


def _missing(
    task: DraftTask, at: Parts, error: ValidationError, others: list[ValidationError]
) -> Iterator[Problem]:
    spare = _spare(error, others)
    known = _known(error)
    wanted: list[str] = list(error.validator_value)  # type: ignore[arg-type]
    for name in wanted:
        if name in _members(error) or nearest(name, spare):
            continue  # the misspelt one is reported, with a fix that gives it this name
        message = f"tool {task.raw['tool']!r} needs the argument {_dotted((*at, name))!r}"
        expected = f"{name}: {_wanted(as_schema(known.get(name)))}"
        yield Problem("missing_argument", _where(task, at), message, task.id, expected=expected)


def _spare(error: ValidationError, others: list[ValidationError]) -> list[str]:
    """Return the unknown names at the place of *error*."""
    has_extra = any(
        other.validator == "additionalProperties" and other.absolute_path == error.absolute_path
        for other in others
    )
    known = _known(error)
    return [key for key in _members(error) if key not in known] if has_extra else []


def _unknown(task: DraftTask, at: Parts, error: ValidationError) -> Iterator[Problem]:
    known = _known(error)
    free = [name for name in known if name not in _members(error)]
    needed = as_schema(error.schema).get("required", ())
    free.sort(key=lambda name: name not in needed)
    for name in [key for key in _members(error) if key not in known]:
        near = nearest(name, free)
        if near is not None:
            free.remove(near)
        hint = f"; did you mean {near!r}?" if near else ""
        message = f"tool {task.raw['tool']!r} has no argument {quoted(_dotted((*at, name)))}{hint}"
        path = _where(task, (*at, name))
        fix = move(path, _where(task, (*at, near))) if near else None
        expected = f"the arguments are {listed(known)}"
        yield Problem("unknown_argument", path, message, task.id, fix=fix, expected=expected)


def _wrong(task: DraftTask, at: Parts, error: ValidationError) -> Problem:
    deepest = best_match([error]) if error.context else error
    wanted = _wanted(error.schema) if isinstance(error.schema, Mapping) else "another value"
    found = type_name(error.instance)
    if not isinstance(error.instance, dict | list):
        found = f"{found} ({quoted(error.instance, 40)})"
    message = f"argument {_dotted(at) or 'args'!r} wants {wanted}, and is {found}"
    if deepest is not error and deepest is not None:
        message += f" ({deepest.message[:120]})"
    right = _coerced(error)
    fix = replace(_where(task, at), right) if right is not None else None
    path = _where(task, at)
    return Problem("invalid_argument", path, message, task.id, fix=fix, expected=wanted)


def _coerced(error: ValidationError) -> Any:
    """Return the value that was meant, where a value of the right type says the same."""
    value, schema = error.instance, error.schema
    if not isinstance(schema, Mapping):
        return None
    types = types_of(schema) or frozenset()
    options = schema.get("enum")
    candidates: list[Any] = []
    if isinstance(value, str) and len(value) < 32:
        candidates += _from_text(value, types)
        if isinstance(options, list):
            near = nearest(value, [one for one in options if isinstance(one, str)])
            candidates += [near] if near else []
    elif isinstance(value, int | float) and not isinstance(value, bool) and "string" in types:
        candidates.append(str(value))
    if "array" in types and not isinstance(value, list | dict | None):
        candidates.append([value])
    return next((one for one in candidates if is_valid(schema, one)), None)


def _from_text(text: str, types: frozenset[str]) -> Iterator[Any]:
    if types & {"integer", "number"} and text.isascii():
        yield from _number(text)
    if "boolean" in types and text.lower() in {"true", "false"}:
        yield text.lower() == "true"


def _number(text: str) -> Iterator[int | float]:
    for kind in (int, float):
        with suppress(ValueError):
            yield kind(text)


def _wanted(schema: JsonSchema) -> str:
    """Say in a few words what a schema takes: ``integer <= 100``."""
    types = types_of(schema)
    if "enum" in schema:
        return f"one of {', '.join(quoted(one, 30) for one in schema['enum'][:10])}"
    if "const" in schema:
        return quoted(schema["const"], 40)
    words = written(types) if types else "another value"
    for keyword, sign in (
        ("minimum", ">="), ("maximum", "<="), ("exclusiveMinimum", ">"), ("exclusiveMaximum", "<"),
        ("minLength", "of length >="), ("maxLength", "of length <="), ("minItems", "of length >="),
        ("maxItems", "of length <="), ("pattern", "matching"), ("format", "in the format"),
    ):  # fmt: skip
        if keyword in schema:
            words += f" {sign} {schema[keyword]}"
    return words


def _dotted(parts: Parts) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return text.removeprefix(".")


def _reference_problem(
    draft: Draft,
    task: DraftTask,
    schema: JsonSchema,
    place: Parts,
    template: templates.Template,
) -> Iterator[Problem]:
    wanted = walk(schema, place)
    if isinstance(wanted, Absent):
        return  # the argument itself is unknown, which is said already
    given = _STRING
    if isinstance(template, Whole):
        given = draft.views.of(template.expression, task)
    reason = conflict(given, wanted)
    if reason is not None:
        text = _at(task.raw["args"], place)
        message = f"argument {_dotted(place)!r} {reason} ({quoted(text, 80)})"
        path = task.path("args", *place)
        expected = f"a reference that gives {_wanted(wanted)}"
        fix = replace(path, as_text) if (as_text := _as_text(template, wanted)) else None
        yield Problem("mismatched_reference", path, message, task.id, fix, expected)


def _as_text(template: templates.Template, wanted: JsonSchema) -> str | None:
    """Return the reference as text, where text is wanted and any text will do."""
    is_free = types_of(wanted) == frozenset({"string"}) and not {"enum", "const"} & wanted.keys()
    if not isinstance(template, Whole) or not is_free:
        return None
    return f"${{to_string({template.expression.source})}}"


def _at(value: Any, parts: Parts) -> Any:
    for part in parts:
        value = value[part]
    return value
