"""Arguments and exit codes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from ..errors import (
    ConflictError,
    InvalidRequestError,
    WorkflowNotFoundError,
    WorkflowRuntimeError,
)
from ..hosts.local import serve as local
from ..plan.times import parse_duration
from . import operate, plans, serving
from .output import INTERRUPTED, Output

USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = _parser().parse_args(arguments)
    out = Output(as_json=options.json)
    try:
        return int(options.run(options, out))
    except (ConflictError, InvalidRequestError, WorkflowNotFoundError) as error:
        out.problem(str(error))
        return USAGE
    except WorkflowRuntimeError as error:
        out.problem(str(error))
        return 1
    except KeyboardInterrupt:
        out.say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="workflow-runtime", description="Durable workflows for hosted skills."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _serve(commands)
    _plans(commands)
    _workflows(commands)
    return parser


type _Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001


def _command(
    commands: _Commands, name: str, help_: str, *, data: bool = False
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=help_, description=help_)
    command.add_argument(
        "--app-root", type=Path, default=Path(), metavar="DIR", help="the app's folder (default .)"
    )
    if data:
        command.add_argument(
            "--data", type=Path, metavar="DIR", help="default: <app root>/.workflow_runtime"
        )
    command.add_argument("--json", action="store_true", help="answer in JSON on stdout")
    return command


def _serve(commands: _Commands) -> None:
    command = _command(commands, "serve", "serve the function app on this machine", data=True)
    command.add_argument("--port", type=_port, default=7071, help="default 7071; 0 takes any")
    command.add_argument(
        "--retention",
        type=_duration,
        default=local.RETENTION,
        metavar="DURATION",
        help="forget runs that ended longer ago (ISO 8601, default P30D)",
    )
    command.set_defaults(run=serving.serve)


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text[:6]) < 65536:
        return int(text)
    message = f"{text!r} is not a port from 0 to 65535"
    raise argparse.ArgumentTypeError(message)


def _duration(text: str) -> timedelta:
    length = parse_duration(text)
    if length is None:
        message = f"{text!r} is not an ISO 8601 duration such as P30D"
        raise argparse.ArgumentTypeError(message)
    return length


def _plans(commands: _Commands) -> None:
    check = _command(commands, "check", "say everything that is wrong with a plan")
    check.set_defaults(run=plans.check_plan)
    run = _command(commands, "run", "run a plan on the local task hub", data=True)
    for command in (check, run):
        command.add_argument(
            "--context", metavar="TEXT|@FILE", help="used where the plan names none"
        )
        command.add_argument("--input", metavar="JSON|@FILE", help="used where the plan names none")
    run.set_defaults(run=plans.run_plan)
    graph = _command(commands, "graph", "show a plan as a picture")
    graph.add_argument("--format", choices=("mermaid", "text"), default="mermaid")
    graph.set_defaults(run=plans.draw_plan)
    for command in (check, run, graph):
        command.add_argument("plan", metavar="PLAN.json", help="a file, or - for standard input")
    for command, needed in ((check, True), (run, True), (graph, False)):
        command.add_argument(
            "--skill", metavar="SLUG", required=needed, help="whose tools, agents and limits hold"
        )


def _workflows(commands: _Commands) -> None:
    group = commands.add_parser("workflows", help="look at and stop the runs of a data directory")
    actions = group.add_subparsers(required=True, metavar="ACTION")
    listing = _command(actions, "list", "list the newest runs of all sessions", data=True)
    listing.add_argument("--limit", type=_limit, default=20)
    listing.add_argument("--status", help="only runs with this status, such as Running")
    listing.set_defaults(run=operate.list_runs)
    show = _command(actions, "show", "show one run", data=True)
    show.add_argument("--task", metavar="ID", help="one task's record")
    show.add_argument("--path", help="a path into it, such as result.items[0]")
    show.set_defaults(run=operate.show_run)
    cancel = _command(actions, "cancel", "ask a run to stop, and let it settle", data=True)
    cancel.set_defaults(run=operate.cancel_run)
    terminate = _command(actions, "terminate", "end a run at once", data=True)
    terminate.set_defaults(run=operate.terminate_run)
    rerun = _command(actions, "rerun", "run an ended one again, with what still holds", data=True)
    rerun.add_argument("--plan", metavar="PLAN.json", help="an edited plan instead of the same")
    rerun.set_defaults(run=operate.rerun_run)
    approve = _command(actions, "approve", "say yes to what a task asks", data=True)
    approve.set_defaults(run=operate.approve_run)
    reject = _command(actions, "reject", "say no to what a task asks", data=True)
    reject.set_defaults(run=operate.reject_run)
    event = _command(actions, "event", "tell a run that something has happened", data=True)
    event.set_defaults(run=operate.send_event)
    for command in (show, cancel, terminate, rerun, approve, reject, event):
        command.add_argument("id", help="the run's id")
    for command in (cancel, terminate):
        command.add_argument("--reason", default="")
    for command in (approve, reject):
        command.add_argument("task", help="the task that asks, as the status shows it")
        command.add_argument(
            "--digest", help="that of what you were shown; default: what is asked now"
        )
        command.add_argument("--comment", default="")
        command.add_argument("--by", default="operator", help="who decides, for the record")
    event.add_argument("name", help="the name of the event")
    event.add_argument("payload", nargs="?", metavar="JSON|@FILE", help="default null")
    event.add_argument("--event-id", help="a second event with the same id changes nothing")


def _limit(text: str) -> int:
    if text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= 1000:
        return int(text)
    message = f"{text!r} is not a whole number from 1 to 1000"
    raise argparse.ArgumentTypeError(message)
