"""
What a function app has registered, read once from the app object itself.

The same questions the production worker asks when it indexes an app: which functions, what
triggers each, which bindings does it want filled in. Nothing here knows this product's functions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from azure.functions import FunctionRegister
from azure.functions.decorators.function_app import Function

from ...errors import ConfigurationError

HTTP, ORCHESTRATION, ACTIVITY = "httpTrigger", "orchestrationTrigger", "activityTrigger"
CLIENT = "durableClient"
METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """One function: ``input_name`` takes what triggered it, ``clients`` the client's JSON."""

    name: str
    trigger: str
    run: Callable[..., Any]
    input_name: str
    clients: tuple[str, ...] = ()
    wants_context: bool = False

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.run)

    @property
    def is_hidden(self) -> bool:
        """Whether it is one of the SDK's own, which ``func start`` does not list either."""
        return self.name.startswith("BuiltIn__")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpFunction:
    """A function behind a route, which is written as Azure writes it, without the prefix."""

    function: Registered
    route: str
    methods: frozenset[str]
    auth: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AppFunctions:
    """Everything an app registered; ``idle`` are those whose trigger this host does not have."""

    http: tuple[HttpFunction, ...]
    orchestrators: Mapping[str, Registered]
    activities: Mapping[str, Registered]
    idle: tuple[Registered, ...]

    @property
    def shown(self) -> tuple[Registered, ...]:
        """The functions to list that have no URL, in the order they were registered."""
        found = (*self.orchestrators.values(), *self.activities.values(), *self.idle)
        return tuple(function for function in found if not function.is_hidden)


def read_app(app: FunctionRegister) -> AppFunctions:
    """Index *app*; raises ConfigurationError for a binding that this host cannot fill in."""
    try:
        functions: Iterable[Function] = app.get_functions()
    except ValueError as error:
        raise ConfigurationError(f"the function app does not index: {error}") from error
    http: list[HttpFunction] = []
    orchestrators: dict[str, Registered] = {}
    activities: dict[str, Registered] = {}
    idle: list[Registered] = []
    for function in functions:
        trigger, registered = function.get_trigger(), _registered(function)
        match registered.trigger:
            case "httpTrigger":
                http.append(_http(registered, trigger))
            case "orchestrationTrigger":
                orchestrators[getattr(trigger, "orchestration", None) or registered.name] = (
                    registered
                )
            case "activityTrigger":
                activities[getattr(trigger, "activity", None) or registered.name] = registered
            case _:
                idle.append(registered)
    return AppFunctions(
        http=tuple(http), orchestrators=orchestrators, activities=activities, idle=tuple(idle)
    )


def _registered(function: Function) -> Registered:
    name, trigger = str(function.get_function_name()), function.get_trigger()
    kind = str(trigger.get_binding_name()) if trigger is not None else ""
    run = function.get_user_function()
    if kind in {HTTP, ORCHESTRATION, ACTIVITY}:
        _refuse_other_bindings(function, name, kind)
    names = {binding.name for binding in function.get_bindings()}
    return Registered(
        name=name,
        trigger=kind,
        run=run,
        input_name=str(trigger.name) if trigger is not None else "",
        clients=tuple(b.name for b in function.get_bindings() if b.type == CLIENT),
        wants_context="context" in inspect.signature(run).parameters and "context" not in names,
    )


def _refuse_other_bindings(function: Function, name: str, trigger: str) -> None:
    for binding in function.get_bindings():
        if binding.type not in {trigger, CLIENT, "http"}:
            message = (
                f"function {name!r} has a binding of the type {binding.type!r}, "
                "which the local host does not have; run this app with `func start`"
            )
            raise ConfigurationError(message)


def _http(function: Registered, trigger: Any) -> HttpFunction:
    methods = {str(getattr(method, "value", method)).upper() for method in trigger.methods or ()}
    level = trigger.auth_level
    return HttpFunction(
        function=function,
        route=str(trigger.route if trigger.route is not None else function.name).strip("/"),
        methods=frozenset(methods) or METHODS,
        auth=str(getattr(level, "value", level)).lower(),
    )
