"""The whole app, started as a user starts it."""

import json
import shlex
import time

import pytest

from tests.e2e.served import QUESTION, command, serving, started, until

ENDED = {"Completed", "CompletedWithErrors", "Failed", "Canceled", "Terminated"}


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("data")) as host:
        yield host


def summary(host, session, skill="incident_triage"):
    """Return the third message: what the skill says when the run has ended."""
    messages = host.history(session, skill)
    return messages[2] if len(messages) > 2 else None


def test_a_question_starts_a_workflow_and_its_summary_comes_back_by_itself(host):
    answer = host.ask(QUESTION)
    session, (run,) = answer["session_id"], answer["workflows"]
    seen = set()

    def ended():
        envelope = host.envelope(session, run["workflow_id"])
        seen.update(task["status"] for task in envelope["tasks"])
        return envelope["status"] in ENDED and envelope

    envelope = until(ended)
    at = time.monotonic()
    told = until(lambda: summary(host, session), seconds=5)
    assert time.monotonic() - at < 5
    assert envelope["status"] == "Completed"
    assert {"running", "completed"} <= seen
    assert told["role"] == "assistant"
    assert "checkout" in told["text"]


def test_specialists_work_in_parallel_and_their_report_comes_back(host):
    answer = host.ask("Report on all open pull requests", skill="pr_portfolio")
    session, (run,) = answer["session_id"], answer["workflows"]
    told = until(lambda: summary(host, session, "pr_portfolio"))
    envelope = host.envelope(session, run["workflow_id"], "pr_portfolio")
    assert envelope["status"] == "Completed"
    assert envelope["usage"]["agent_runs"] > 2
    assert told["text"]


def test_another_session_sees_nothing_of_a_run(host):
    answer = host.ask(QUESTION)
    (run,) = answer["workflows"]
    stranger = {"x-ms-session-id": "somebody-else"}
    path = f"/skills/incident_triage/workflows/{run['workflow_id']}"
    assert host.client.get(path, headers=stranger).status_code == 404
    assert host.client.post(f"{path}/cancel", headers=stranger).status_code == 404
    listed = host.client.get("/skills/incident_triage/workflows", headers=stranger)
    assert listed.json() == {"workflows": []}
    assert host.envelope(answer["session_id"], run["workflow_id"])["status"] != "Canceled"


def test_a_canceled_run_settles_and_the_session_is_told(host):
    answer = host.ask(QUESTION)
    session, (run,) = answer["session_id"], answer["workflows"]
    path = f"/skills/incident_triage/workflows/{run['workflow_id']}/cancel"
    canceled = host.client.post(
        path, json={"reason": "not needed"}, headers={"x-ms-session-id": session}
    )
    assert canceled.json()["status"] == "Canceling"
    told = until(lambda: summary(host, session))
    assert host.envelope(session, run["workflow_id"])["status"] == "Canceled"
    assert "Canceled" in told["text"] or "cancel" in told["text"].lower()


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/skills/incident_triage/chat", "not json", 400),
        ("/skills/incident_triage/chat", json.dumps({"message": ""}), 400),
        ("/skills/incident_triage/chat", json.dumps(["message"]), 400),
        ("/skills/nobody/chat", json.dumps({"message": "hi"}), 404),
        ("/nowhere", "{}", 404),
    ],
)
def test_bad_requests_get_one_problem_and_no_traceback(host, path, body, status):
    response = host.client.post(path, content=body, headers={"content-type": "application/json"})
    assert response.status_code == status
    assert response.headers["content-type"].startswith("application/problem+json")
    assert response.json()["detail"]
    assert "Traceback" not in response.text


def test_a_host_killed_in_the_middle_goes_on_where_it_was(tmp_path):
    with serving(tmp_path) as host:
        answer = host.ask(QUESTION)
        session, (run,) = answer["session_id"], answer["workflows"]
        until(lambda: host.envelope(session, run["workflow_id"])["progress"].get("completed"))
        host.kill()
    with serving(tmp_path) as again:
        told = until(lambda: summary(again, session))
        assert again.envelope(session, run["workflow_id"])["status"] == "Completed"
        assert len(again.history(session)) == 3
        assert told["text"]


def test_ctrl_c_stops_within_five_seconds_and_the_run_ends_after_the_next_start(tmp_path):
    with serving(tmp_path) as host:
        answer = host.ask(QUESTION)
        session, (run,) = answer["session_id"], answer["workflows"]
        code, seconds = host.stop()
        assert code == 0
        assert seconds < 5
    with serving(tmp_path) as again:
        until(lambda: again.envelope(session, run["workflow_id"])["status"] == "Completed")


def test_a_data_directory_is_served_by_one_process_and_the_second_says_who_holds_it(host, tmp_path):
    with serving(tmp_path) as first:
        second = command("serve", "--port", "0", "--data", tmp_path)
        assert second.returncode == 1
        assert str(first.process.pid) in second.stderr
        assert "Traceback" not in second.stderr


def test_a_port_in_use_is_one_clear_line(host, tmp_path):
    port = host.base.rsplit(":", 1)[1]
    second = command("serve", "--port", port, "--data", tmp_path)
    assert second.returncode == 1
    assert port in second.stderr
    assert "Traceback" not in second.stderr


def test_run_prints_the_final_envelope_alone_on_stdout(tmp_path):
    done = command(
        "run", "examples/incident.json", "--skill", "incident_triage", "--json", "--data", tmp_path
    )
    assert done.returncode == 0, done.stderr
    envelope = json.loads(done.stdout)
    assert envelope["status"] == "Completed"
    assert envelope["output"]["logs"]["service"] == "checkout"
    assert "logs  completed" in done.stderr


def test_a_broken_plan_gives_all_its_problems_and_exit_code_1(tmp_path):
    plan = tmp_path / "plan.json"
    tasks = [{"id": "a", "tool": "fetch_log", "args": {"svc": "x"}}, {"type": "wait", "id": "w"}]
    plan.write_text(json.dumps({"tasks": tasks}))
    for arguments in (("check",), ("run", "--data", str(tmp_path / "data"))):
        done = command(*arguments, plan, "--skill", "incident_triage", "--json")
        assert done.returncode == 1
        codes = {problem["code"] for problem in json.loads(done.stdout)["problems"]}
        assert {"unknown_tool", "invalid_wait"} <= codes
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "nowhere.json", "--skill", "incident_triage"),
        ("check", "examples/incident.json", "--skill", "incident"),
        ("run", "examples/incident.json", "--skill", "incident_triage", "--input", "{"),
        ("workflows", "show", "no-such-run"),
        ("workflows", "cancel", "no-such-run"),
        ("workflows", "list"),
        ("workflows", "list", "--app-root", "nowhere"),
        ("run", "examples/incident.json", "--skill", "incident"),
        ("serve", "--port", "70000"),
        ("serve", "--app-root", "docs"),
        (),
    ],
)
def test_wrong_usage_is_one_clear_line(arguments, tmp_path):
    data = ("--data", tmp_path) if arguments[:1] in {("run",), ("workflows",), ("serve",)} else ()
    done = command(*arguments, *data)
    assert done.returncode in {1, 2}
    assert "Traceback" not in done.stderr
    assert done.stderr.strip()


def test_a_plan_is_drawn_as_mermaid_and_as_text():
    drawn = command("graph", "examples/incident.json")
    assert drawn.returncode == 0, drawn.stderr
    assert drawn.stdout.startswith("flowchart TD")
    assert "t_logs --> t_settle" in drawn.stdout
    text = command("graph", "examples/incident.json", "--format", "text", "--json")
    assert "after logs" in json.loads(text.stdout)["graph"]


def test_an_operator_sees_and_stops_the_runs_of_a_served_directory(tmp_path):
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"tasks": [{"id": "w", "type": "wait", "duration": "P1D"}]}))
    data = tmp_path / "data"
    with serving(data), started("run", plan, "--skill", "incident_triage", "--data", data) as run:

        def running():
            listed = command("workflows", "list", "--json", "--data", data)
            return json.loads(listed.stdout)["workflows"]

        (one,) = until(running)
        ended = command("workflows", "terminate", one["workflow_id"], "--json", "--data", data)
        assert json.loads(ended.stdout)["status"] == "Terminated"
        shown = command("workflows", "show", one["workflow_id"], "--data", data)
        assert "Terminated" in shown.stdout
        assert run.wait(timeout=20) == 1


def test_an_operator_is_shown_what_a_run_asks_and_answers_it_with_the_command_beside_it(tmp_path):
    plan = tmp_path / "plan.json"
    ask = {"id": "ok", "type": "approval", "message": "Send it?"}
    plan.write_text(json.dumps({"tasks": [ask], "output": "${ok.result.comment}"}))
    data = ("--data", tmp_path / "data")
    running = ("run", plan, "--skill", "incident_triage", *data)
    with serving(tmp_path / "data"), started(*running) as run:

        def asked():
            found = json.loads(command("workflows", "list", "--json", *data).stdout)["workflows"]
            shown = [command("workflows", "show", one["workflow_id"], *data) for one in found]
            return next((one.stdout for one in shown if "Send it?" in one.stdout), None)

        (line,) = [line.strip() for line in until(asked).splitlines() if " approve " in line]
        typed = shlex.split(line)[3:]
        digest = typed[typed.index("--digest") + 1]
        other = ["0" * 32 if word == digest else word for word in typed]
        assert "has changed" in command(*other).stderr
        done = command(*typed, "--comment", "fine")
        assert (done.returncode, done.stderr) == (0, "")
        assert run.wait(timeout=20) == 0


def test_an_operator_is_told_that_nobody_works_on_a_run_now(tmp_path):
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"tasks": [{"id": "w", "type": "wait", "duration": "P1D"}]}))
    data = ("--data", tmp_path / "data")
    running = ("run", plan, "--skill", "incident_triage", *data)
    with serving(tmp_path / "data") as host, started(*running):
        until(lambda: json.loads(command("workflows", "list", "--json", *data).stdout)["workflows"])
        host.kill()
    (one,) = json.loads(command("workflows", "list", "--json", *data).stdout)["workflows"]
    canceled = command("workflows", "cancel", one["workflow_id"], *data)
    assert "Canceling" in canceled.stdout
    assert "No host serves" in canceled.stderr


def test_a_run_that_another_command_worked_on_is_gone_on_with_when_that_is_killed(tmp_path):
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"tasks": [{"id": "w", "type": "wait", "event": "go"}]}))
    data = ("--data", tmp_path / "data")
    running = ("run", plan, "--skill", "incident_triage", *data)

    def ids():
        listed = command("workflows", "list", "--json", *data)
        return [one["workflow_id"] for one in json.loads(listed.stdout).get("workflows", ())]

    with started(*running) as first:
        (early,) = until(ids)
        with started(*running) as second:
            (late,) = until(lambda: set(ids()) - {early})
            first.kill()
            first.wait(timeout=20)
            command("workflows", "event", late, "go", *data)
            assert second.wait(timeout=40) == 0
