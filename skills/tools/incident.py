"""
Evidence about a service: logs, metrics and deploys.

The evidence is made up and depends on the service's name alone, so that everybody sees the same
incident. Each tool takes a moment, as the systems that it stands for would.
"""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from workflow_runtime import tool, workflow_tool

Service = Annotated[str, Field(description="Name of the service, such as checkout", min_length=1)]
Minutes = Annotated[int, Field(description="How far to look back", ge=1, le=1_440)]


class LogSummary(BaseModel):
    """What the log of a service says."""

    service: str
    window_minutes: int
    total_lines: int
    error_count: int
    first_error_at: str | None
    top_error: str | None
    lines: list[str]


class Metrics(BaseModel):
    """The golden signals of a service, against the same hour of the week before."""

    service: str
    window_minutes: int
    error_rate: float
    baseline_error_rate: float
    p95_latency_ms: int
    baseline_p95_latency_ms: int
    requests_per_minute: int
    verdict: Literal["healthy", "degraded", "failing"]


class Deploy(BaseModel):
    """One deploy."""

    id: str
    version: str
    at: str
    by: str
    change: str
    rolled_back: bool


class DeployHistory(BaseModel):
    """The latest deploys, newest first."""

    service: str
    hours: int
    deploys: list[Deploy]


class _Incident(BaseModel):
    """What is wrong with a service; ``minute`` is of the day, in UTC."""

    error: str | None
    change: str
    errors_per_minute: int
    error_rate: float
    slowdown: float
    minute: int


_SERVICES = {
    "checkout": _Incident(
        error="HTTP 502 from payments-gateway: connection pool exhausted (limit 10)",
        change="Lower the payments client's connection pool from 50 to 10",
        errors_per_minute=38,
        error_rate=0.127,
        slowdown=7.5,
        minute=14 * 60 + 10,
    ),
    "payments": _Incident(
        error="TimeoutError: ledger-db did not answer within 2000 ms",
        change="Write a ledger entry for each line item",
        errors_per_minute=12,
        error_rate=0.041,
        slowdown=3.2,
        minute=13 * 60 + 55,
    ),
    "search": _Incident(
        error="IndexNotFoundError: products-v12 is not there",
        change="Read the product index products-v12",
        errors_per_minute=64,
        error_rate=0.236,
        slowdown=1.1,
        minute=9 * 60 + 30,
    ),
    "catalog": _Incident(
        error=None,
        change="Translate two help texts",
        errors_per_minute=0,
        error_rate=0.0,
        slowdown=1.0,
        minute=11 * 60,
    ),
}
_PEOPLE = ("ana", "bo", "chen", "dina", "emeka")
_CHANGES = ("Raise log level", "Update base image", "Rename a metric", "Add a health check")
_ERRORS = (
    "TimeoutError: no answer from the database within 2000 ms",
    "HTTP 503 from auth: too many requests",
    "KeyError: 'customer_id'",
    "ConnectionResetError: connection reset by peer",
)


@tool
def list_services() -> list[str]:
    """List the services that are known; evidence can be fetched for any other name too."""
    return sorted(_SERVICES)


@workflow_tool
async def fetch_logs(service: Service, window_minutes: Minutes = 30) -> LogSummary:
    """Fetch the recent log of a service: how many errors, which is the most frequent."""
    incident = await _look_up("logs", service)
    count = incident.errors_per_minute * window_minutes
    every = 6 + _number("every", service) % 20
    return LogSummary(
        service=service,
        window_minutes=window_minutes,
        total_lines=window_minutes * (400 + _number("lines", service) % 600),
        error_count=count,
        first_error_at=_clock(incident.minute) if count else None,
        top_error=incident.error,
        lines=[
            f"{_clock(incident.minute, each * every)} ERROR {service} {incident.error}"
            for each in range(5 if count else 0)
        ],
    )


@workflow_tool
async def fetch_metrics(service: Service, window_minutes: Minutes = 30) -> Metrics:
    """Fetch error rate, 95th percentile latency and traffic of a service, with their baselines."""
    incident = await _look_up("metrics", service)
    latency = 120 + _number("latency", service) % 160
    baseline = round(0.001 + _number("rate", service) % 5 / 1_000, 4)
    return Metrics(
        service=service,
        window_minutes=window_minutes,
        error_rate=max(incident.error_rate, baseline),
        baseline_error_rate=baseline,
        p95_latency_ms=round(latency * incident.slowdown),
        baseline_p95_latency_ms=latency,
        requests_per_minute=250 + _number("traffic", service) % 900,
        verdict=_verdict(incident),
    )


@workflow_tool
async def fetch_deploys(
    service: Service,
    hours: Annotated[int, Field(description="How far to look back", ge=1, le=168)] = 24,
) -> DeployHistory:
    """Fetch the latest deploys of a service, newest first."""
    incident = await _look_up("deploys", service)
    number = 300 + _number("deploys", service) % 600
    latest = _deploy(service, number, incident.minute - 4, incident.change)
    earlier = [
        _deploy(
            service, number - back, incident.minute - 150 * back, _pick(_CHANGES, service, back)
        )
        for back in (1, 2)
    ]
    shown = [each for each, age in zip((latest, *earlier), (0, 3, 5), strict=True) if age < hours]
    return DeployHistory(service=service, hours=hours, deploys=shown)


async def _look_up(kind: str, service: str) -> _Incident:
    await asyncio.sleep(0.3 + _number(kind, service) % 700 / 1_000)
    return _SERVICES.get(service.strip().lower()) or _made_up(service)


def _made_up(service: str) -> _Incident:
    """Give a service without a story one of its own, the same at each call."""
    rate = _number("errors", service) % 120 / 1_000
    return _Incident(
        error=_pick(_ERRORS, service, 1) if rate > 0.01 else None,
        change=_pick(_CHANGES, service, 0),
        errors_per_minute=round(rate * 300) if rate > 0.01 else 0,
        error_rate=rate,
        slowdown=1 + rate * 20,
        minute=6 * 60 + _number("minute", service) % (14 * 60),
    )


def _deploy(service: str, number: int, minute: int, change: str) -> Deploy:
    return Deploy(
        id=f"{service}-{number}",
        version=f"2026.{number // 100}.{number % 100}",
        at=_clock(max(minute, 0)),
        by=_pick(_PEOPLE, service, number),
        change=change,
        rolled_back=False,
    )


def _verdict(incident: _Incident) -> Literal["healthy", "degraded", "failing"]:
    if incident.error_rate > 0.1:
        return "failing"
    return "degraded" if incident.error_rate > 0.01 else "healthy"


def _clock(minute: int, seconds: int = 0) -> str:
    minute += seconds // 60
    return f"{minute // 60 % 24:02}:{minute % 60:02}:{seconds % 60:02}Z"


def _number(kind: str, service: str) -> int:
    return int.from_bytes(sha256(f"{kind}/{service.strip().lower()}".encode()).digest()[:4])


def _pick(choices: tuple[str, ...], service: str, salt: int) -> str:
    return choices[_number(str(salt), service) % len(choices)]
