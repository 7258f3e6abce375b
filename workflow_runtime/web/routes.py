"""
Every HTTP route of the app, as values: a host registers them and calls their handlers.

This package knows starlette's requests and responses, and no host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response

from ..agents.chat import Chat
from ..service import WorkflowService
from ..skills import Catalog
from .api import Handler, SkillApi, Timings, WorkflowHandler, answering, with_workflows
from .encoding import json_response
from .page import Page, load_assets, make_page
from .turns import Turns

type Method = Literal["GET", "POST"]
type HostAuth = Literal["function", "admin", "anonymous"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One route.

    ``path`` is written as Azure Functions writes it, without a leading slash and with parameters
    in braces; it holds with a slash at its end too. ``auth`` is the host's authorization level.
    ``handler`` gets the workflow service where ``uses_workflows`` is set, and None elsewhere.
    """

    name: str
    method: Method
    path: str
    auth: HostAuth
    uses_workflows: bool
    handler: Handler


def routes(
    *,
    catalog: Catalog,
    chat: Chat,
    clock: Callable[[], datetime],
    easy_auth: bool = False,
    timings: Timings | None = None,
) -> tuple[Route, ...]:
    """Return the routes of all skills that have an endpoint, and ``healthz``.

    *easy_auth* says that App Service authentication is on (``WEBSITE_AUTH_ENABLED``); while it is
    off, skills with ``auth: entra`` answer 401 to everybody.
    """
    turns, assets = Turns(), load_assets()
    made: list[Route] = [_health(clock)]
    for skill in catalog.fronts():
        api = SkillApi(
            skill=skill,
            chat=chat,
            turns=turns,
            timings=timings or Timings(),
            easy_auth=easy_auth,
        )
        made.extend(_api_routes(api))
        if skill.endpoints.page:
            made.extend(_page_routes(make_page(skill, assets)))
    return tuple(made)


def _api_routes(api: SkillApi) -> Iterator[Route]:
    slug = api.skill.slug
    auth = api.skill.endpoints.auth
    level: HostAuth = "anonymous" if auth == "entra" else auth
    table: tuple[tuple[str, Method, str, WorkflowHandler], ...] = (
        ("chat", "POST", "chat", api.post_chat),
        ("stream", "POST", "chat/stream", api.post_chat_stream),
        ("workflows", "GET", "workflows", api.get_workflows),
        ("status", "GET", "workflows/{id}", api.get_workflow),
        ("cancel", "POST", "workflows/{id}/cancel", api.post_cancel),
        ("terminate", "POST", "workflows/{id}/terminate", api.post_terminate),
        ("rerun", "POST", "workflows/{id}/rerun", api.post_rerun),
        ("approval", "POST", "workflows/{id}/approvals/{task}", api.post_approval),
        ("event", "POST", "workflows/{id}/events/{name}", api.post_event),
    )
    for name, method, path, handler in table:
        yield Route(
            name=f"{name}_{slug}",
            method=method,
            path=f"skills/{slug}/{path}",
            auth=level,
            uses_workflows=True,
            handler=answering(with_workflows(handler)),
        )
    yield Route(
        name=f"history_{slug}",
        method="GET",
        path=f"skills/{slug}/history",
        auth=level,
        uses_workflows=False,
        handler=answering(api.get_history),
    )


def _page_routes(page: Page) -> Iterator[Route]:
    for name, path, handler in (
        ("page", "", page.get_page),
        ("asset", "/assets/{file}", page.get_asset),
    ):
        yield Route(
            name=f"{name}_{page.slug}",
            method="GET",
            path=f"skills/{page.slug}{path}",
            auth="anonymous",
            uses_workflows=False,
            handler=answering(handler),
        )


def _health(clock: Callable[[], datetime]) -> Route:
    async def healthz(_: Request, __: WorkflowService | None) -> Response:
        return json_response({"status": "ok", "time": clock().isoformat()})

    return Route(
        name="healthz",
        method="GET",
        path="healthz",
        auth="anonymous",
        uses_workflows=False,
        handler=healthz,
    )
