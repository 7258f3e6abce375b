"""From a decorated function to a tool: its schemas, and arguments as the types it asks for."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any, get_origin

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as pydantic_dataclass
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic.fields import FieldInfo

from ..errors import ConfigurationError
from ..execution import InvalidArgumentsError, Tool
from ..execution.arguments import found, pointer
from ..plan.types import Json, JsonSchema
from .decorators import Declaration
from .schemas import UndescribedTypeError, schema_of

_UNKNOWN = (Any, object, inspect.Parameter.empty)


def build_tool(function: Callable[..., Any], declared: Declaration) -> Tool:
    """Build the tool; raises ConfigurationError where an annotation cannot be used."""
    name = declared.name or function.__name__
    hints = _hints(name, function)
    parameters = _parameters(name, function)
    arguments = declared.arguments
    call: Callable[[dict[str, Json]], Any] = function
    if not _takes_object(parameters, hints, arguments):
        adapter = _adapter(name, parameters, hints)
        _agree(name, arguments, parameters)
        if arguments is None:
            described = _schema(name, "its parameters", adapter, "validation")
            # In the order in which the author wrote them, which is how a model reads them.
            properties = described.get("properties", {})
            ordered = {each: properties[each] for each in parameters if each in properties}
            arguments = {**described, "properties": {**ordered, **properties}}
        call = _typed_call(function, adapter, tuple(parameters))
    output = declared.output
    returned = hints.get("return", Any)
    if output is None and returned not in _UNKNOWN:
        output = _schema(name, "what it returns", returned, "serialization")
    return Tool(
        name=name,
        call=call,
        description=declared.description or inspect.getdoc(function) or "",
        arguments=arguments,
        output=output,
        policy=declared.policy,
        is_async=inspect.iscoroutinefunction(function),
    )


def _hints(name: str, function: Callable[..., Any]) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        raise ConfigurationError(
            f"tool {name!r}: an annotation cannot be read: {error}; import it for real, not under"
            " TYPE_CHECKING"
        ) from error


def _parameters(name: str, function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    parameters = dict(inspect.signature(function).parameters)
    for each in parameters.values():
        if each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            raise ConfigurationError(
                f"tool {name!r}: parameter {str(each)!r} cannot be given by name; a tool takes"
                " named parameters, or one 'args: dict'"
            )
    return parameters


def _takes_object(
    parameters: Mapping[str, inspect.Parameter],
    hints: Mapping[str, Any],
    schema: JsonSchema | None,
) -> bool:
    """Tell ``def handler(args: dict)``, which takes the arguments object as it is."""
    if len(parameters) != 1:
        return False
    (name,) = parameters
    kind = hints.get(name, inspect.Parameter.empty)
    is_object = kind in (dict, *_UNKNOWN) or get_origin(kind) in (dict, Mapping)
    return is_object and (
        name == "args" if schema is None else name not in schema.get("properties", {})
    )


def _adapter(
    name: str, parameters: Mapping[str, inspect.Parameter], hints: Mapping[str, Any]
) -> TypeAdapter[Any]:
    """Describe the parameters as one type, which pydantic can check and describe."""
    namespace: dict[str, Any] = {
        "__annotations__": {each: hints.get(each, Any) for each in parameters},
        **{
            each.name: default if isinstance(default := each.default, FieldInfo) else Field(default)
            for each in parameters.values()
            if each.default is not each.empty
        },
    }
    try:
        decorate = pydantic_dataclass(kw_only=True, config=ConfigDict(extra="forbid"))
        return TypeAdapter(decorate(type("Arguments", (), namespace)))
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise _undescribed(name, "its parameters", error) from error


def _schema(name: str, what: str, kind: Any, mode: Any) -> JsonSchema:
    try:
        return schema_of(kind, mode=mode)
    except UndescribedTypeError as error:
        raise _undescribed(name, what, error) from error


def _undescribed(name: str, what: str, error: Exception) -> ConfigurationError:
    said = str(error).splitlines()[0]
    return ConfigurationError(
        f"tool {name!r}: {what} cannot be described as JSON: {said}; use JSON types, dataclasses"
        " or pydantic models"
    )


def _agree(
    name: str, schema: JsonSchema | None, parameters: Mapping[str, inspect.Parameter]
) -> None:
    for each in (schema or {}).get("properties", {}):
        if each not in parameters:
            raise ConfigurationError(
                f"tool {name!r}: arguments= describes {each!r}, which is no parameter of it"
            )


def _typed_call(
    function: Callable[..., Any], adapter: TypeAdapter[Any], names: tuple[str, ...]
) -> Callable[[dict[str, Json]], Any]:
    def call(arguments: dict[str, Json]) -> Any:
        try:
            typed = adapter.validate_python(arguments)
        except ValidationError as error:
            raise InvalidArgumentsError(_say(error)) from None
        return function(**{name: getattr(typed, name) for name in names})

    return call


def _say(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False)
    said = [
        f"{pointer(each['loc']) or 'the arguments'}: {each['msg']}, {found(each['input'])}"
        for each in problems[:5]
    ]
    return "; ".join(said)
