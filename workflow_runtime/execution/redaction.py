"""
Secrets out of texts that leave the process: messages, history and logs.

Only the secret goes, not the words around it, so that a message still says what went wrong. The
patterns are those of the things that cloud tools put into their errors: connection strings, SAS
URLs, authorization headers, provider keys. Each matches in linear time.
"""

from __future__ import annotations

import re

MASK = "***"

_NAMES = (
    r"pass(?:word|wd|phrase)?|pwd|secret|token|credentials?|signature|sig"
    r"|account[_-]?key|shared[_-]?access[_-]?(?:key|signature)|(?:api|access|secret|private|function"
    r"|functions|subscription|master|host|storage|signing|encryption)[_-]?key"
    r"|(?:client|app|user|db)[_-]?(?:secret|password|pwd)|(?:access|refresh|id|auth|session|bearer|sas)"
    r"[_-]?token|connection[_-]?string"
)
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"-----BEGIN ([A-Z ]{0,40}KEY)-----[^-]*(?:-----END [A-Z ]{0,40}KEY-----)?"),
        MASK,
    ),
    # Authorization: Bearer abc
    (re.compile(r"\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE), rf"\1 {MASK}"),
    # "password": "abc", password='a b'
    (
        re.compile(
            rf"""((?<![A-Za-z])[\w-]{{0,40}}?(?:{_NAMES})\\?["']?\s*[:=]\s*)"""
            r"""(\\?["'])(?:(?!\2).)+""",
            re.IGNORECASE,
        ),
        rf"\1\2{MASK}",
    ),
    # AccountKey=abc;  password=abc  api_key: abc
    (
        re.compile(
            rf"""((?<![A-Za-z])[\w-]{{0,40}}?(?:{_NAMES})["']?\s*[:=]\s*)(?!\*\*\*)"""
            r"""[^\s;,&"'<>(){}\[\]]+""",
            re.IGNORECASE,
        ),
        rf"\1{MASK}",
    ),
    # https://user:password@host
    (re.compile(r"\b([a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,200}):[^\s/@]{1,500}@"), rf"\1:{MASK}@"),
    # an Azure Functions key in a URL
    (re.compile(r"([?&]code=)[^\s&\"']+"), rf"\1{MASK}"),
    # keys that show what they are
    (
        re.compile(
            r"\b(?:sk-[A-Za-z0-9_-]{8,}|gh[opsur]_[A-Za-z0-9]{16,}|github_pat_\w{16,}"
            r"|xox[a-z]-[A-Za-z0-9-]{8,}|AKIA[A-Z0-9]{12,}|AIza[\w-]{20,}"
            r"|eyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*)"
        ),
        MASK,
    ),
)
_LONGEST = 20_000


def redact(text: str, *, limit: int = 2_000) -> str:
    """Return *text* without secrets and not longer than *limit* characters."""
    shown = text[:_LONGEST]
    for pattern, replacement in _RULES:
        shown = pattern.sub(replacement, shown)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
