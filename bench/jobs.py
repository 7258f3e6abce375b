"""
The two bundled jobs, done by a plan and done by direct tool calls, and what the model is sent.

Each goes through the real loop: a real client of a model talks to a server on this machine whose
answers are those of the built-in demo model. Tokens are o200k_base, of the text of the messages and
of the tools' JSON; what a provider adds for each message is left out.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from bpe_openai import get_encoding

from tests.agents.fakes import FakeWorkflows
from tests.fake_openai import FakeOpenAI, Reply, fake_openai
from tests.hosts.conftest import local_host
from workflow_runtime.agents import Chat, ModelSettings, SessionStore, TurnDone, make_models
from workflow_runtime.agents.demo import DemoCall, DemoMessage, DemoReply, DemoRequest, demo_reply
from workflow_runtime.agents.demo.specialists import specialist
from workflow_runtime.agents.demo.summaries import summary
from workflow_runtime.app import create_function_app
from workflow_runtime.execution import ToolPool
from workflow_runtime.plan.encoding import dumps
from workflow_runtime.service import Owner
from workflow_runtime.settings import Settings
from workflow_runtime.skills import Catalog, load_catalog

ROOT = Path(__file__).parents[1]
NOW = datetime(2026, 5, 4, 14, 30, tzinfo=UTC)
INCIDENT = "checkout is returning 5xx since 14:10, what happened?"
REVIEW = "review the open pull requests of contoso/shop"

_encoding = get_encoding("o200k_base")


def tokens(text: str) -> int:
    return len(_encoding.encode(text))


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What one job took: ``sent`` and ``written`` are summed up over all requests."""

    requests: int
    sent: int
    written: int
    largest: int
    of_front: int

    @property
    def total(self) -> int:
        return self.sent + self.written


class Meter:
    """Answers a provider's requests by a model of ours and counts both."""

    def __init__(self, model: Callable[[DemoRequest], DemoReply]) -> None:
        self._model = model
        self._sent: list[tuple[bool, int]] = []
        self._written: list[int] = []

    def __call__(self, body: dict[str, Any]) -> Reply:
        request = _request(body)
        sent = sum(tokens(dumps(tool["function"])) for tool in body.get("tools", []))
        sent += sum(tokens(text) for message in body["messages"] for text in _texts(message))
        reply = self._model(request)
        calls = tuple((call.name, call.arguments) for call in reply.calls)
        self._sent.append((bool(request.tools), sent))
        self._written.append(
            tokens(reply.text) + sum(tokens(name) + tokens(text) for name, text in calls)
        )
        return Reply(text=reply.text, calls=calls)

    def spent(self) -> Spent:
        sizes = [sent for _, sent in self._sent]
        front = [
            sent + written
            for (is_front, sent), written in zip(self._sent, self._written, strict=True)
            if is_front
        ]
        return Spent(
            requests=len(sizes),
            sent=sum(sizes),
            written=sum(self._written),
            largest=max(sizes),
            of_front=sum(front),
        )


def _texts(message: dict[str, Any]) -> list[str]:
    functions = [call["function"] for call in message.get("tool_calls") or []]
    calls = [text for each in functions for text in (each["name"], each["arguments"])]
    return [_content(message), *calls]


def _content(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _request(body: dict[str, Any]) -> DemoRequest:
    told = [m for m in body["messages"] if m["role"] != "system"]
    return DemoRequest(
        instructions="\n".join(_content(m) for m in body["messages"] if m["role"] == "system"),
        messages=tuple(
            DemoMessage(
                role=m["role"],
                text="" if m["role"] == "tool" else _content(m),
                calls=tuple(
                    DemoCall(c["function"]["name"], c["function"]["arguments"])
                    for c in m.get("tool_calls") or []
                ),
                results=(_content(m),) if m["role"] == "tool" else (),
            )
            for m in told
        ),
        tools=tuple(tool["function"]["name"] for tool in body.get("tools", [])),
    )


async def by_plan(root: Path, skill: str, message: str) -> Spent:
    """Have the app do the job: a turn, a run, and the turn in which its end is told."""
    meter = Meter(demo_reply)
    with fake_openai([meter]) as server, tempfile.TemporaryDirectory() as data:
        app = create_function_app(root, settings=_settings(server, Path(data)))
        async with local_host(app, directory=Path(data) / "hub") as running:
            headers = {"x-ms-session-id": "one"}
            url = f"/skills/{skill}"
            body = {"message": message}
            said = await running.http.post(f"{url}/chat", json=body, headers=headers)
            said.raise_for_status()
            while True:
                history = (await running.http.get(f"{url}/history", headers=headers)).json()
                if len(history["messages"]) == 3:
                    break
                await asyncio.sleep(0.1)
    assert "Completed" in history["messages"][-1]["text"], history["messages"][-1]
    return meter.spent()


def _settings(server: FakeOpenAI, data: Path) -> Settings:
    return Settings(
        data=data,
        provider="openai",
        model="scripted",
        openai_api_key="unused",
        openai_base_url=server.url,
        owner_key="k" * 32,
        log_level="ERROR",
    )


async def directly(root: Path, skill: str, message: str, *, at_once: bool) -> Spent | None:
    """Have the model call the tools itself, and keep all that they answer in its context.

    None where the turn reaches the bound of requests before the job is done.
    """
    direct = incident if skill == "incident_triage" else portfolio
    meter = Meter(direct if at_once else one_by_one(direct))
    pool = ToolPool(4)
    with fake_openai([meter]) as server, tempfile.TemporaryDirectory() as data:
        settings = ModelSettings(
            provider="openai", model="scripted", openai_api_key="x", openai_base_url=server.url
        )
        chat = Chat(
            catalog=_without_workflows(load_catalog(root), skill),
            models=make_models(settings),
            sessions=SessionStore(Path(data)),
            pool=pool,
            clock=lambda: NOW,
        )
        owner = Owner(principal="", skill=skill, session="one")
        turn = chat.stream(owner, message, context=None, workflows=FakeWorkflows())
        ended = [event async for event in turn][-1]
    pool.close()
    assert isinstance(ended, TurnDone), ended
    return meter.spent() if "Completed" in ended.response else None


def _without_workflows(catalog: Catalog, slug: str) -> Catalog:
    grants = catalog.grants(slug)
    tools = {name: catalog.workflow_tools[name] for name in grants.tools}
    skill = replace(catalog.skills[slug], workflows=None)
    return replace(
        catalog,
        skills={slug: skill},
        chat_tools={**catalog.chat_tools_of(slug), **tools},
    )


# -- the demo model, if it had to call the tools itself ------------------------------------------


def incident(request: DemoRequest) -> DemoReply:
    found = _results(request)
    which = {"service": "checkout"}
    args = {**which, "window_minutes": 20}
    if not found:
        return _calls(("fetch_logs", args), ("fetch_metrics", args), ("fetch_deploys", which))
    names = ("logs", "metrics", "deploys")
    return _answer("Triage of checkout", dict(zip(names, found, strict=True)))


def portfolio(request: DemoRequest) -> DemoReply:
    where = {"repository": "contoso/shop"}
    listed, *details = _results(request) or [None]
    if listed is None:
        return _calls(("list_pull_requests", where))
    if not details:
        each = [("fetch_pull_request", {"number": one["number"], **where}) for one in listed]
        return _calls(*each)
    texts: list[Any] = [specialist(dumps(one)) for one in details[: len(listed)]]
    summed = specialist(dumps(texts))
    if len(details) == len(listed):
        args = {"title": "Pull requests of contoso/shop", "summary": summed, "sections": texts}
        return _calls(("render_report", args))
    return _answer("Portfolio review", {**details[-1], "summary": summed})


def one_by_one(
    model: Callable[[DemoRequest], DemoReply],
) -> Callable[[DemoRequest], DemoReply]:
    """Make the same calls, each in a request of its own."""
    left: list[DemoCall] = []

    def reply(request: DemoRequest) -> DemoReply:
        if not left:
            whole = model(request)
            if len(whole.calls) < 2:
                return whole
            left.extend(whole.calls)
        return DemoReply(calls=(left.pop(0),))

    return reply


def _results(request: DemoRequest) -> list[Any]:
    return [json.loads(text) for message in request.messages for text in message.results]


def _calls(*calls: tuple[str, Any]) -> DemoReply:
    return DemoReply(calls=tuple(DemoCall(name, dumps(args)) for name, args in calls))


def _answer(name: str, output: dict[str, Any]) -> DemoReply:
    return DemoReply(text=summary({"status": "Completed", "name": name, "output": output}, {}))


def app_with(items: int, directory: Path) -> Path:
    """Copy the bundled app, with so many pull requests: those that there are, again and again."""
    shutil.copytree(ROOT / "skills", directory / "skills")
    path = directory / "skills" / "tools" / "pull_requests.json"
    known = json.loads(path.read_text("utf-8"))
    known = [one for one in known if one["repository"] == "contoso/shop"]
    made = [
        {**one, "number": number} for number, one in enumerate(islice(cycle(known), items), start=1)
    ]
    path.write_text(json.dumps(made), encoding="utf-8")
    return directory
