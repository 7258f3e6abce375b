"""
The chat page: static files, the same for everybody, filled in once per skill at start-up.

The page is anonymous and holds nothing secret. Its policy lets it run its own files and nothing
else; a report that a run made is shown in ``report.html``, an opaque origin with no network.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

from starlette.requests import Request
from starlette.responses import Response

from ..skills import Skill
from .problems import Problem

_FILES = Path(__file__).parent / "page"
_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_INDEX = "index.html"
_REPORT = "report.html"
_REPORT_SCRIPT = "report.js"
_MAX_EXAMPLES = 4
_MAX_EXAMPLE_CHARACTERS = 300

_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
# Inline styles and data: pictures are what a report consists of; nothing can leave the frame. Its
# one script is inline and allowed by its hash: a strict host gives an opaque origin no file.
_REPORT_POLICY = (
    "default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; img-src data:; "
    "font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; "
    "sandbox allow-scripts"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """One file as it is served."""

    body: bytes
    media_type: str
    policy: str

    @property
    def etag(self) -> str:
        """Return the entity tag: the content's hash."""
        return f'"{hashlib.sha256(self.body).hexdigest()[:32]}"'

    def answer(self, request: Request) -> Response:
        """Return the file, or 304 when the caller has it."""
        headers = {
            "etag": self.etag,
            "cache-control": "no-cache",
            "content-security-policy": self.policy,
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
        }
        known = {tag.strip() for tag in request.headers.get("if-none-match", "").split(",")}
        if known & {self.etag, f"W/{self.etag}", "*"}:
            return Response(None, 304, headers)
        return Response(self.body, 200, {**headers, "content-type": self.media_type})


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The page of one skill."""

    slug: str
    index: Asset
    assets: Mapping[str, Asset]

    async def get_page(self, request: Request, _: object) -> Response:
        """Answer with the page; its relative URLs need the slash at the end of its own."""
        if not request.url.path.endswith("/"):
            return Response(None, 308, {"location": f"{self.slug}/", "cache-control": "no-cache"})
        return self.index.answer(request)

    async def get_asset(self, request: Request, _: object) -> Response:
        """Answer with one of the page's files."""
        name = request.path_params["file"]
        asset = self.assets.get(name)
        if asset is not None:
            return asset.answer(request)
        return Problem(
            status=404, code="asset_not_found", detail=f"The page has no file {name[:80]!r}."
        ).to_response()


def load_assets() -> Mapping[str, Asset]:
    """Return the page's files by name, without the index."""
    made_up = {_INDEX, _REPORT, _REPORT_SCRIPT}
    files = {
        path.name: Asset(
            body=path.read_bytes(), media_type=_MEDIA_TYPES[path.suffix], policy=_PAGE_POLICY
        )
        for path in sorted(_FILES.iterdir())
        if path.name not in made_up
    }
    return files | {_REPORT: _report_frame()}


def _report_frame() -> Asset:
    script = (_FILES / _REPORT_SCRIPT).read_text("utf-8")
    text = Template((_FILES / _REPORT).read_text("utf-8")).substitute(script=script)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Asset(
        body=text.encode(),
        media_type=_MEDIA_TYPES[".html"],
        policy=_REPORT_POLICY.format(hash=digest),
    )


def make_page(skill: Skill, assets: Mapping[str, Asset]) -> Page:
    """Return the page of *skill*; all that comes from the skill is escaped."""
    template = Template((_FILES / _INDEX).read_text("utf-8"))
    text = template.substitute(
        slug=html.escape(skill.slug),
        name=html.escape(skill.name),
        description=html.escape(skill.description),
        examples="\n".join(
            f'<li><button type="button" class="example">{html.escape(text)}</button></li>'
            for text in examples_of(skill)
        ),
    )
    index = Asset(body=text.encode(), media_type=_MEDIA_TYPES[".html"], policy=_PAGE_POLICY)
    return Page(slug=skill.slug, index=index, assets=assets)


def examples_of(skill: Skill) -> Sequence[str]:
    """Return the first few texts of the front matter's ``metadata.examples``."""
    given = skill.metadata.get("examples")
    if not isinstance(given, list | tuple):
        return ()
    texts = [" ".join(text.split()) for text in given if isinstance(text, str)]
    fitting = [text for text in texts if 0 < len(text) <= _MAX_EXAMPLE_CHARACTERS]
    return fitting[:_MAX_EXAMPLES]
