"""Arguments against the tool's JSON Schema: literals fully, references by what they give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError, best_match

from .. import templates
from ..draft import Draft, DraftTask
from ..encoding import dumps
from ..problems import Problem, listed, move, nearest, pointer, quoted, replace
from ..schemas import Absent, conflict, surely_valid, types_of, walk, written
from ..templates import Constant, Whole
from ..types import JsonSchema, type_name
from ..views import Views

_STRING: JsonSchema = {"type": "string"}
# Errors of these keywords hold whatever a reference deeper inside turns out to be.
_ABOUT_SHAPE = frozenset(
    {"type", "required", "additionalProperties", "propertyNames", "minProperties", "maxProperties"}
    | {"minItems", "maxItems"}
)


def arguments(draft: Draft) -> Iterator[Problem]:
    """The arguments of each tool task fit the tool's schema, as far as can be known."""
    views = Views(draft)
    for task in draft.tasks:
        tool = task.raw.get("tool")
        grant = draft.grants.tools.get(tool) if isinstance(tool, str) else None
        args = task.raw.get("args", {})
        if task.kind != "tool" or grant is None or not grant.arguments:
            continue
        if args is None or isinstance(args, dict):
            yield from _check(draft, views, task, args or {}, grant.arguments)


def _check(
    draft: Draft, views: Views, task: DraftTask, args: dict[str, Any], schema: JsonSchema
) -> Iterator[Problem]:
    holes = dict(_holes(args, (), draft.names))
    if holes or not surely_valid(schema, args):
        errors = [e for e in validator(schema).iter_errors(args) if not _is_open(e, holes)]
        yield from _literal_problems(task, args, errors)
    for place, template in holes.items():
        yield from _reference_problem(draft, views, task, schema, place, template)


type _Parts = tuple[str | int, ...]


def _holes(
    value: Any, path: _Parts, names: frozenset[str]
) -> Iterator[tuple[_Parts, templates.Template]]:
    """Yield where references stand in the arguments."""
    match value:
        case str() if "${" in value:
            template, _ = templates.parse_text(value, names)
            if not isinstance(template, Constant) or "$${" in value:
                yield path, template
        case list():
            for index, one in enumerate(value):
                yield from _holes(one, (*path, index), names)
        case dict():
            for key, one in value.items():
                yield from _holes(one, (*path, key), names)


def _is_open(error: ValidationError, holes: Mapping[_Parts, Any]) -> bool:
    """Whether a reference may still make this error go away."""
    at = tuple(error.absolute_path)
    if any(at[: len(hole)] == hole for hole in holes):
        return True
    inside = any(hole[: len(at)] == at for hole in holes)
    return inside and error.validator not in _ABOUT_SHAPE


@lru_cache(maxsize=512)
def _validator(schema_text: str) -> Draft202012Validator:
    from ..encoding import loads  # noqa: PLC0415  keeps the cache's key a plain string

    return Draft202012Validator(loads(schema_text))


def validator(schema: JsonSchema) -> Draft202012Validator:
    """Return the (cached) validator of a schema."""
    return _validator(dumps(schema))  # type: ignore[arg-type]


def schema_error(schema: JsonSchema) -> str | None:
    """Say why *schema* is not a JSON Schema, or return None."""
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return error.message
    return None


def _literal_problems(
    task: DraftTask, args: dict[str, Any], errors: list[ValidationError]
) -> Iterator[Problem]:
    seen: set[tuple[str, str]] = set()
    for error in errors:
        for problem in _literal_problem(task, args, error, errors):
            if (problem.path, problem.message) not in seen:
                seen.add((problem.path, problem.message))
                yield problem


def _literal_problem(
    task: DraftTask, args: dict[str, Any], error: ValidationError, errors: list[ValidationError]
) -> Iterator[Problem]:
    at = tuple(error.absolute_path)
    if error.validator == "required" and isinstance(error.instance, dict):
        yield from _missing(task, args, at, error, errors)
    elif error.validator == "additionalProperties" and isinstance(error.instance, dict):
        yield from _unknown(task, args, at, error)
    else:
        yield _wrong(task, args, at, error)


def _where(task: DraftTask, args: Mapping[str, Any], at: _Parts) -> str:
    return task.path("args", *at) if "args" in task.raw or at else task.path()


def _missing(
    task: DraftTask,
    args: dict[str, Any],
    at: _Parts,
    error: ValidationError,
    errors: list[ValidationError],
) -> Iterator[Problem]:
    spare = _spare(error, errors)
    for name in error.validator_value:
        if name in error.instance or nearest(str(name), spare):
            continue  # the misspelt one is reported, with a fix that gives it this name
        properties = error.schema.get("properties", {})
        wanted = _wanted(properties.get(name, {}))
        message = f"tool {task.raw['tool']!r} needs the argument {_dotted((*at, name))!r}"
        path = _where(task, args, at)
        expected = f"{name}: {wanted}"
        yield Problem("missing_argument", path, message, task.id, expected=expected)


def _spare(error: ValidationError, errors: list[ValidationError]) -> list[str]:
    """Return the unknown names at the place of *error*."""
    at = list(error.absolute_path)
    has_extra = any(
        e.validator == "additionalProperties" and list(e.absolute_path) == at for e in errors
    )
    known = error.schema.get("properties", {})
    return [key for key in error.instance if key not in known] if has_extra else []


def _unknown(
    task: DraftTask, args: dict[str, Any], at: _Parts, error: ValidationError
) -> Iterator[Problem]:
    known = list(error.schema.get("properties", {}))
    free = [name for name in known if name not in error.instance]
    taken: set[str] = set()
    for name in [key for key in error.instance if key not in known]:
        near = nearest(name, [one for one in free if one not in taken])
        taken |= {near} if near else set()
        hint = f"; did you mean {near!r}?" if near else ""
        message = f"tool {task.raw['tool']!r} has no argument {quoted(_dotted((*at, name)))}{hint}"
        path = _where(task, args, (*at, name))
        fix = move(path, _where(task, args, (*at, near))) if near else None
        expected = f"the arguments are {listed(known)}"
        yield Problem("unknown_argument", path, message, task.id, fix=fix, expected=expected)


def _wrong(
    task: DraftTask, args: dict[str, Any], at: _Parts, error: ValidationError
) -> Problem:
    deepest = best_match([error]) if error.context else error
    wanted = _wanted(error.schema) if isinstance(error.schema, Mapping) else "another value"
    found = type_name(error.instance)
    if not isinstance(error.instance, dict | list):
        found = f"{found} ({quoted(error.instance, 40)})"
    message = f"argument {_dotted(at) or 'args'!r} wants {wanted}, and is {found}"
    if deepest is not error and deepest is not None:
        message += f" ({deepest.message[:120]})"
    right = _coerced(error)
    fix = replace(_where(task, args, at), right) if right is not None else None
    path = _where(task, args, at)
    return Problem("invalid_argument", path, message, task.id, fix=fix, expected=wanted)


def _coerced(error: ValidationError) -> Any:
    """Return the value that was meant, where a value of the right type says the same."""
    value, schema = error.instance, error.schema
    if not isinstance(schema, Mapping):
        return None
    types = types_of(schema) or frozenset()
    options = schema.get("enum")
    candidates: list[Any] = []
    if isinstance(value, str) and len(value) < 32:  # noqa: PLR2004
        candidates += _from_text(value, types)
        if isinstance(options, list):
            near = nearest(value, [one for one in options if isinstance(one, str)])
            candidates += [near] if near else []
    elif isinstance(value, int | float) and not isinstance(value, bool) and "string" in types:
        candidates.append(str(value))
    if "array" in types and not isinstance(value, list | dict | None):
        candidates.append([value])
    return next((one for one in candidates if validator(schema).is_valid(one)), None)


def _from_text(text: str, types: frozenset[str]) -> Iterator[Any]:
    if types & {"integer", "number"} and text.isascii():
        try:
            yield int(text)
        except ValueError:
            try:
                yield float(text)
            except ValueError:
                pass
    if "boolean" in types and text.lower() in {"true", "false"}:
        yield text.lower() == "true"


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


def _dotted(parts: _Parts) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return text.removeprefix(".")


def _reference_problem(
    draft: Draft,
    views: Views,
    task: DraftTask,
    schema: JsonSchema,
    place: _Parts,
    template: templates.Template,
) -> Iterator[Problem]:
    wanted = walk(schema, place)
    if isinstance(wanted, Absent):
        return  # the argument itself is unknown, which is said already
    given = _STRING
    if isinstance(template, Whole):
        given = views.of(template.expression, task)
    reason = conflict(given, wanted)
    if reason is not None:
        text = _at(task.raw["args"], place)
        message = f"argument {_dotted(place)!r} {reason} ({quoted(text, 80)})"
        path = task.path("args", *place)
        expected = f"a reference that gives {_wanted(wanted)}"
        yield Problem("mismatched_reference", path, message, task.id, expected=expected)


def _at(value: Any, parts: _Parts) -> Any:
    for part in parts:
        value = value[part]
    return value


__all__ = ["arguments", "pointer", "schema_error", "validator"]
