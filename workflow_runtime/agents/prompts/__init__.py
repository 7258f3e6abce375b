"""The texts that models and users are given; each stands in a file of its own."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template


@cache
def _template(name: str) -> Template:
    return Template(files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8"))


def prompt(name: str, /, **values: str) -> str:
    """Return the text of ``prompts/<name>.md`` with its ``$values`` filled in, once."""
    return _template(name).substitute(values).strip()
