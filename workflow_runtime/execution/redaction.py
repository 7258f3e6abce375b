"""
Secrets out of texts that leave the process: messages, history and logs.

Only the secret goes, not the words around it, so that a message still says what went wrong. The
patterns are those of the things that cloud tools put into their errors: connection strings, SAS
URLs, authorization headers, provider keys. Each matches in time linear in the text.
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
# From the beginning of a word: begun at each letter of a long one it costs too much.
_KEY = rf"(?<![\w-])[\w-]{{0,40}}?(?:{_NAMES})"
_SCHEMES = (
    "digest|token|api-?key|negotiate|sharedkey(?:lite)?|sharedaccesssignature|aws4-hmac-sha256"
)
# Keys that show what they are, by who gives them out.
_SHAPES = (
    r"\bsk-[A-Za-z0-9_-]{8,}",  # OpenAI, Anthropic
    r"\b[srp]k_(?:live|test)_[A-Za-z0-9]{10,}",  # Stripe
    r"\bgh[opsur]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}",
    r"\bxox[a-z]-[A-Za-z0-9-]{8,}|hooks\.slack\.com/services/[\w/]{10,}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}",  # AWS
    r"\bAIza[\w-]{20,}|\bya29\.[\w-]{20,}",  # Google
    r"\bhf_[A-Za-z0-9]{20,}|\bnpm_[A-Za-z0-9]{30,}|\bpypi-[\w-]{30,}",
    r"\bSG\.[\w-]{16,}\.[\w-]{16,}",  # SendGrid
    r"\beyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*",  # any JSON web token
    # Azure: a key of 64 bytes, a service's key, a Function's key, an Entra application's secret
    r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{86}==",
    r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{33}(?:AIoT|\+ASb|\+AEh|\+ARm)[A-P][A-Za-z0-9+/]{5}=",
    r"\b[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{20,30}",
    r"(?<![\w-])[\w-]{44}AzFu[\w-]{5,8}={0,2}",
    r"(?<![\w.~-])[\w.~-]{3}\dQ~[\w.~-]{31,34}",
)
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"-----BEGIN ([A-Z ]{0,40}KEY(?: BLOCK)?)-----(?:(?!-----)[\s\S])*"
            r"(?:-----END [A-Z ]{0,40}KEY(?: BLOCK)?-----)?"
        ),
        MASK,
    ),
    # Authorization: Bearer abc
    (re.compile(r"\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE), rf"\1 {MASK}"),
    # Authorization: Digest username="a", response="b"
    (
        re.compile(
            rf"""(authorization\\?["']?\s*[:=]\s*["']?(?:{_SCHEMES})\s+)[^\n]+""", re.IGNORECASE
        ),
        rf"\1{MASK}",
    ),
    # Cookie: session=abc; other=def
    (
        re.compile(r"""(cookie\\?["']?\s*[:=]\s*["']?)[^\s"'=;]{1,200}=[^"'\n]+""", re.IGNORECASE),
        rf"\1{MASK}",
    ),
    # Authorization: abc (no scheme before it)
    (
        re.compile(
            rf"""(authorization\\?["']?\s*[:=]\s*)(?!\\?["']?(?:bearer|basic|{_SCHEMES})\s)"""
            r"""(\\?["']?)(?=[^\s\d]{0,200}\d)[^\s;"'\\]{8,}""",
            re.IGNORECASE,
        ),
        rf"\1\2{MASK}",
    ),
    # \"password\": \"abc\", as in JSON within JSON
    (
        re.compile(
            rf"""({_KEY}\\["']\s*[:=]\s*\\["'])(?:\\\\\\["']|(?!\\["']).)+""", re.IGNORECASE
        ),
        rf"\1{MASK}",
    ),
    # "password": "a \"b", password='a b'
    (
        re.compile(rf"""({_KEY}["']?\s*[:=]\s*)(["'])(?:\\.|(?!\2).)+""", re.IGNORECASE),
        rf"\1\2{MASK}",
    ),
    # Pwd={a;b}, the way ODBC quotes
    (re.compile(rf"({_KEY}\s*=\s*)\{{(?:[^}}]|\}}\}})*\}}", re.IGNORECASE), rf"\1{MASK}"),
    # AccountKey=abc;  password=a,b  api_key: abc
    (
        re.compile(rf"""({_KEY}["']?\s*[:=]\s*)(?!\*\*\*)[^\s;"']+""", re.IGNORECASE),
        rf"\1{MASK}",
    ),
    # https://user:password@host
    (re.compile(r"\b([a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,200}):[^\s/]{1,500}@"), rf"\1:{MASK}@"),
    # a key in a URL, such as that of an Azure Function
    (re.compile(r"([?&](?:code|key)=)[^\s&\"']+"), rf"\1{MASK}"),
    (re.compile("|".join(_SHAPES)), MASK),
)
_LONGEST = 20_000


def redact(text: str, *, limit: int = 2_000) -> str:
    """Return *text* without secrets and not longer than *limit* characters."""
    shown = text[:_LONGEST]
    for pattern, replacement in _RULES:
        shown = pattern.sub(replacement, shown)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
