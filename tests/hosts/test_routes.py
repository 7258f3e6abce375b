"""What the local host reads in an Azure route template."""

import pytest

from workflow_runtime.errors import ConfigurationError
from workflow_runtime.hosts.local.routes import compile_route, joined, precedence


@pytest.mark.parametrize(
    ("template", "path", "parameters"),
    [
        ("healthz", "/healthz", {}),
        ("healthz", "/HealthZ/", {}),
        ("skills/{slug}/chat", "/skills/a/chat", {"slug": "a"}),
        ("a.b/{id}.json", "/a.b/7.json", {"id": "7"}),
        ("files/{*rest}", "/files/x/y.js", {"rest": "x/y.js"}),
        ("files/{*rest}", "/files", {"rest": None}),
        ("items/{id?}", "/items", {"id": None}),
        ("items/{id?}", "/items/4", {"id": "4"}),
        ("items/{id:int}", "/items/-4", {"id": "-4"}),
    ],
)
def test_a_template_matches(template, path, parameters):
    found = compile_route(template).fullmatch(path)
    assert found is not None
    assert found.groupdict() == parameters


@pytest.mark.parametrize(
    ("template", "path"),
    [
        ("healthz", "/healthz/x"),
        ("a.b", "/axb"),
        ("skills/{slug}", "/skills/a/b"),
        ("skills/{slug}", "/skills/"),
        ("items/{id:int}", "/items/x"),
    ],
)
def test_a_template_does_not_match(template, path):
    assert compile_route(template).fullmatch(path) is None


@pytest.mark.parametrize("template", ["a/{id:range(1,2)}", "a/{id:decimal}", "a/{", "a/x{*rest}"])
def test_a_template_that_is_not_understood_is_refused(template):
    with pytest.raises(ConfigurationError, match="does not understand"):
        compile_route(template)


def test_the_more_literal_template_comes_first():
    templates = ["a/{*rest}", "a/{id}", "a/{id:int}", "a/b", "{x}/b"]
    assert sorted(templates, key=precedence) == [
        "a/b",
        "a/{id:int}",
        "a/{id}",
        "a/{*rest}",
        "{x}/b",
    ]


@pytest.mark.parametrize(
    ("prefix", "path"), [("", "/a/b"), ("api", "/api/a/b"), ("/api/", "/api/a/b")]
)
def test_the_prefix_stands_in_front(prefix, path):
    assert joined(prefix, "a/b") == path
