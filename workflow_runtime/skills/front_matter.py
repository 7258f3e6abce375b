"""
YAML front matter, read strictly: an unknown key, a doubled key or a wrong type is an error.

What is not refused here would be a setting that somebody believes in and that does nothing:
``enabled: "false"`` is a text, and every text counts as true.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Any, NoReturn

import yaml

from ..errors import ConfigurationError
from .spelling import known_or_near


class _Loader(yaml.SafeLoader):
    """Refuses a key that stands twice, of which YAML would keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - PyYAML's own signature
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} is not text; quote it", key_node.start_mark
                )
            if key in seen and key != "<<":
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands here twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def split_front_matter(text: str, file: str) -> tuple[Mapping[str, Any], str]:
    """Return the front matter and the Markdown body; raises ConfigurationError."""
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != "---":
        raise ConfigurationError(f"{file} must begin with front matter: a line '---', keys, '---'")
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        raise ConfigurationError(f"{file}: the front matter has no closing line '---'")
    values = _load("\n".join(lines[1:end]), file)
    if not isinstance(values, dict):
        raise ConfigurationError(f"{file}: the front matter must be keys and values")
    return values, "\n".join(lines[end + 1 :]).strip()


def _load(text: str, file: str) -> Any:
    try:
        return yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader that is stricter still
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 2}" if mark is not None else ""
        said = getattr(error, "problem", None) or str(error)
        raise ConfigurationError(f"{file}{line}: {said}") from error
    except (RecursionError, ValueError) as error:
        raise ConfigurationError(f"{file}: the front matter is no YAML: {error}") from error


class Section:
    """One mapping of front matter, whose values are asked for by key and type."""

    def __init__(
        self, values: object, *, file: str, known: Collection[str], name: str = ""
    ) -> None:
        self._file, self._name = file, name
        if not isinstance(values, Mapping):
            raise ConfigurationError(f"{file}: {name!r} must be keys and values, {_found(values)}")
        self._values = values
        for key in values:
            if key not in known:
                self.fail(key, f"is not a key that is known here; {known_or_near(key, known)}")

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def fail(self, key: str, why: str) -> NoReturn:
        """Raise ConfigurationError about *key*."""
        raise ConfigurationError(f"{self._file}: {self._path(key)!r} {why}")

    def _path(self, key: str) -> str:
        return f"{self._name}.{key}" if self._name else key

    def raw(self, key: str) -> Any:
        """Return the value as it stands, None where there is none."""
        return self._values.get(key)

    def section(self, key: str, known: Collection[str]) -> Section:
        """Return the mapping under *key*, an empty one where there is none."""
        values = self._values.get(key, {})
        return Section(values, file=self._file, known=known, name=self._path(key))

    def sections(self, key: str, known: Collection[str]) -> list[Section]:
        """Return the mappings of the list under *key*."""
        values = self._values.get(key, [])
        if not isinstance(values, list):
            self.fail(key, f"must be a list, {_found(values)}")
        return [
            Section(each, file=self._file, known=known, name=f"{self._path(key)}[{i}]")
            for i, each in enumerate(values)
        ]

    def text(self, key: str) -> str | None:
        """Return a text that is not blank."""
        value = self._values.get(key)
        if key not in self._values:
            return None
        if not isinstance(value, str) or not value.strip():
            self.fail(key, f"must be text, {_found(value)}")
        return value.strip()

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        value = self._values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(v, str) and v for v in value):
            self.fail(key, "must be a list of names, such as [fetch_logs]")
        return tuple(value)

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return a boolean; the text ``"false"`` is none."""
        value = self._values.get(key, default)
        if not isinstance(value, bool):
            self.fail(key, f"must be true or false, {_found(value)}")
        return value

    def number(self, key: str, *, low: float, high: float, whole: bool = False) -> float | None:
        """Return a number within the bounds, None where there is none."""
        if key not in self._values:
            return None
        value = self._values[key]
        fits = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        if not fits or not low <= value <= high:
            kind = "a whole number" if whole else "a number"
            self.fail(key, f"must be {kind} from {low:g} to {high:g}, {_found(value)}")
        return float(value)

    def choice(self, key: str, choices: Collection[str], default: str) -> str:
        """Return one of *choices*."""
        value = self._values.get(key, default)
        if not isinstance(value, str) or value not in choices:
            self.fail(key, f"must be one of {', '.join(choices)}, {_found(value)}")
        return value


def _found(value: object) -> str:
    match value:
        case None:
            return "not left empty"
        case str() if not value.strip():
            return "not left empty"
        case str():
            return f"not the text {value[:60]!r}"
        case bool() | int() | float():
            return f"not {value!r:.60}".replace("True", "true").replace("False", "false")
        case list():
            return "not a list"
        case dict():
            return "not keys and values"
    return f"not a {type(value).__name__}"
