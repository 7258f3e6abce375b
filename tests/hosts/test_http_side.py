"""What the local host promises over HTTP."""

import logging

import pytest

PROBLEM = "application/problem+json"


async def test_route_parameters_reach_the_function(running):
    answer = await running.http.get("/toy/items/a%20b")
    assert answer.json()["parameters"] == {"id": "a b"}


@pytest.mark.parametrize("rest", ["app.js", "deep/er/app.js"])
async def test_a_catch_all_takes_the_rest_of_the_path(running, rest):
    answer = await running.http.get(f"/toy/assets/{rest}")
    assert answer.json()["parameters"] == {"rest": rest}


async def test_a_slash_at_the_end_is_the_functions_to_see(running):
    answer = await running.http.get("/toy/items/7/")
    assert answer.json() == {"path": "/toy/items/7/", "parameters": {"id": "7"}}


async def test_an_unknown_path_is_a_404_problem(running):
    answer = await running.http.get("/nowhere")
    assert (answer.status_code, answer.headers["content-type"]) == (404, PROBLEM)
    assert answer.json()["detail"] == "no function answers at '/nowhere'"


async def test_a_wrong_method_is_a_405_problem_that_names_the_right_ones(running):
    answer = await running.http.get("/toy/start")
    assert (answer.status_code, answer.headers["content-type"]) == (405, PROBLEM)
    assert answer.headers["allow"] == "POST"


async def test_a_function_that_fails_is_a_500_problem_without_its_words(running, caplog):
    with caplog.at_level(logging.ERROR):
        answer = await running.http.get("/toy/boom")
    assert (answer.status_code, answer.headers["content-type"]) == (500, PROBLEM)
    assert "secret" not in answer.text
    assert answer.json()["correlation_id"] in caplog.text
    assert "the secret is 42" in caplog.text


WELCOME = [
    {"host": "localhost:7071"},
    {"host": "[::1]:7071"},
    {"host": "127.0.0.1:7071", "origin": "http://127.0.0.1:7071"},
    {
        "host": "localhost:7071",
        "origin": "https://x.tunnel.example",
        "x-forwarded-host": "x.tunnel.example",
    },
]
STRANGERS = [
    {"host": "evil.example"},
    {"host": "127.0.0.1.evil.example:7071"},
    {"host": "localhost:7071", "origin": "https://evil.example"},
    {"host": "localhost:7071", "origin": "http://localhost:9999"},
    {"host": "localhost:7071", "origin": "null"},
    {"host": "["},
]


@pytest.mark.parametrize("headers", WELCOME)
async def test_this_machine_and_its_own_pages_are_welcome(running, headers):
    answer = await running.http.get("/toy/items/7", headers=headers)
    assert answer.status_code == 200


@pytest.mark.parametrize("headers", STRANGERS)
async def test_other_names_and_other_pages_are_refused(running, headers):
    answer = await running.http.get("/toy/items/7", headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (403, PROBLEM)
