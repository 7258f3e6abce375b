"""
Sample pull requests, and a report made of texts.

The pull requests stand in ``pull_requests.json`` beside this file, the page in ``report.html``.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from workflow_runtime import TerminalError, tool, workflow_tool

_DATA = Path(__file__).with_name("pull_requests.json")
_PAGE = Path(__file__).with_name("report.html")
_LATENCY = 0.3
Repository = Annotated[str, Field(description="owner/name of the repository")]
Number = Annotated[int, Field(description="Number of the pull request", ge=1)]


class PullRequestSummary(BaseModel):
    """One line of the list."""

    number: int
    title: str
    author: str
    draft: bool
    age_days: int


class Review(BaseModel):
    """What one reviewer said."""

    by: str
    verdict: Literal["approved", "changes_requested", "commented"]
    text: str


class PullRequest(PullRequestSummary):
    """All that is known about a pull request."""

    repository: str
    description: str
    additions: int
    deletions: int
    files: list[str]
    checks: dict[str, Literal["passed", "failed", "running"]]
    mergeable: bool
    requested_reviewers: list[str]
    reviews: list[Review]
    days_since_update: int


class Report(BaseModel):
    """A report; ``missing`` counts the sections that were null."""

    title: str
    sections: int
    missing: int
    html: str


@tool
@workflow_tool
async def list_pull_requests(repository: Repository = "contoso/shop") -> list[PullRequestSummary]:
    """List the open pull requests of a repository, oldest first."""
    await asyncio.sleep(_LATENCY)
    found = [each for each in _pull_requests() if each.repository == repository]
    if not found:
        known = ", ".join(sorted({each.repository for each in _pull_requests()}))
        raise TerminalError(f"There is no repository {repository[:80]!r}; known are {known}")
    found.sort(key=lambda each: -each.age_days)
    return [PullRequestSummary(**each.model_dump(include=_SUMMARY)) for each in found]


@tool
@workflow_tool
async def fetch_pull_request(
    number: Number, repository: Repository = "contoso/shop"
) -> PullRequest:
    """Fetch all details of one pull request: checks, reviews, files, age."""
    await asyncio.sleep(_LATENCY + number % 7 / 10)
    for each in _pull_requests():
        if (each.repository, each.number) == (repository, number):
            return each
    raise TerminalError(f"{repository[:80]!r} has no pull request {number}")


@workflow_tool
def render_report(
    title: Annotated[str, Field(description="Heading of the report")],
    summary: Annotated[str, Field(description="Text that stands first")],
    sections: Annotated[
        list[str | None], Field(description="One text for each part; null where there is none")
    ],
) -> Report:
    """Combine texts into one HTML page. Text stays text: nothing in it is taken as HTML."""
    texts = [text for text in sections if text and text.strip()]
    missing = len(sections) - len(texts)
    parts = [f"<section>\n{_as_html(text)}\n</section>" for text in texts]
    if missing:
        parts.append(f"<p><em>{missing} of {len(sections)} could not be assessed.</em></p>")
    page = Template(_PAGE.read_text("utf-8")).substitute(
        title=escape(title), summary=_as_html(summary), parts="\n".join(parts)
    )
    return Report(title=title, sections=len(texts), missing=missing, html=page)


_SUMMARY = set(PullRequestSummary.model_fields)
_BULLET = re.compile(r"\s*(?:[-*•]|\d+\.)\s+")


@cache
def _pull_requests() -> tuple[PullRequest, ...]:
    loaded: list[dict[str, Any]] = json.loads(_DATA.read_text("utf-8"))
    return tuple(PullRequest.model_validate(each) for each in loaded)


def _as_html(text: str) -> str:
    """Write headings, lists and paragraphs; everything else of the text is escaped."""
    return "\n".join(_blocks(text.splitlines()))


def _blocks(lines: list[str]) -> Iterator[str]:
    in_list = False
    for line in lines:
        is_item = _BULLET.match(line) is not None
        if is_item != in_list:
            yield "<ul>" if is_item else "</ul>"
            in_list = is_item
        if is_item:
            yield f"<li>{escape(_BULLET.sub('', line, count=1))}</li>"
        elif re.match(r"#+\s", line):
            yield f"<h2>{escape(line.lstrip('#').strip())}</h2>"
        elif line.strip():
            yield f"<p>{escape(line.strip())}</p>"
    if in_list:
        yield "</ul>"
