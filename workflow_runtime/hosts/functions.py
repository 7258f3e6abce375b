"""
Registration: what the Functions host (and the local host) is told about the app.

One orchestrator, its activities and the HTTP routes are put on a DFApp, and nothing else happens
here: each registered function is a thin shell that hands its work on. What it must look like is
the production worker's law, not ours: real functions (no callable objects), plain annotations,
the FastAPI extension imported when the app is indexed, every response a Response.

The durable-client binding is declared by its type and not by ``durable_client_input``: the
metadata is the same, but that decorator turns the binding's JSON into a client that it closes when
the function returns, which is before a streamed body has begun.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from azure.durable_functions import DFApp
from azurefunctions.extensions.http.fastapi import Request, Response
from durabletask.task import OrchestrationContext

type Orchestrator = Callable[[OrchestrationContext, str], Generator[Any, Any, str]]
type Services = Callable[[str], Any]
"""Gives the service for a durable-client binding's JSON, made once per process and JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """One activity: ``run(payload, service)`` takes and returns one JSON string each.

    The service is None unless ``uses_client``.
    """

    name: str
    run: Callable[[str, Any], Awaitable[str]]
    uses_client: bool = False


class RouteLike(Protocol):
    """What is needed of a route; ``web.Route`` is one."""

    @property
    def name(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def auth(self) -> str: ...
    @property
    def uses_workflows(self) -> bool: ...
    @property
    def handler(self) -> Callable[[Request, Any], Awaitable[Response]]: ...


def register(
    app: DFApp,
    *,
    orchestrator_name: str,
    orchestrator: Orchestrator,
    activities: Sequence[Activity],
    routes: Sequence[RouteLike],
    services: Services,
) -> None:
    """Put the whole app on *app*: call it once, with everything built and checked."""
    trigger = app.orchestration_trigger(context_name="context", orchestration=orchestrator_name)
    app.function_name(orchestrator_name)(trigger(orchestrator))
    for activity in activities:
        _register_activity(app, activity, services)
    for route in routes:
        _register_route(app, route, services)


def _register_activity(app: DFApp, activity: Activity, services: Services) -> None:
    trigger = app.activity_trigger(input_name="payload", activity=activity.name)
    if activity.uses_client:
        builder = _with_client(app, trigger(_activity_with_service(activity, services)))
    else:
        builder = trigger(_activity_alone(activity))
    app.function_name(activity.name)(builder)


def _register_route(app: DFApp, route: RouteLike, services: Services) -> None:
    trigger = app.route(
        route=route.path,
        trigger_arg_name="request",
        methods=[route.method],
        auth_level=route.auth.upper(),
    )
    if route.uses_workflows:
        builder = _with_client(app, trigger(_route_with_service(route, services)))
    else:
        builder = trigger(_route_alone(route))
    app.function_name(route.name)(builder)


def _with_client(app: DFApp, function: Any) -> Any:
    bind = app.generic_input_binding(
        arg_name="client", type="durableClient", durableRequiresGrpc=True
    )
    return bind(function)


def _activity_alone(activity: Activity) -> Callable[[str], Coroutine[Any, Any, str]]:
    async def run(payload: str) -> str:
        return await activity.run(payload, None)

    return run


def _activity_with_service(
    activity: Activity, services: Services
) -> Callable[[str, str], Coroutine[Any, Any, str]]:
    async def run(payload: str, client: str) -> str:
        return await activity.run(payload, services(client))

    return run


def _route_alone(route: RouteLike) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    async def answer(request: Request) -> Response:
        return await route.handler(request, None)

    return answer


def _route_with_service(
    route: RouteLike, services: Services
) -> Callable[[Request, str], Coroutine[Any, Any, Response]]:
    async def answer(request: Request, client: str) -> Response:
        return await route.handler(request, services(client))

    return answer
