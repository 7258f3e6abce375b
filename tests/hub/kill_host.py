"""
A host that is to be killed: hub, durabletask's worker and a load of mixed workflows.

    python kill_host.py DATA_DIRECTORY LOG LIFE [--finish]

Each life starts a few workflows of every kind and goes on with those of the lives before. What
was acknowledged goes to LOG, one line each, written straight to the kernel so that it outlives
the process: `run LABEL NONCE` before an activity's effect, `ack LABEL NONCE` after the hub
took its result, `started ID`, `raised ID` and `terminated ID` after the hub said so. With
--finish it waits for every workflow and prints their states.
"""

import asyncio
import json
import logging
import os
import sys
import threading
from datetime import timedelta
from pathlib import Path

import grpc
from durabletask import client as dt_client
from durabletask import task
from durabletask import worker as dt_worker

from workflow_runtime.hosts.local.hub import SqliteTaskHub

QUIET = logging.getLogger("quiet")
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False

NONCES = iter(range(1_000_000))
LOG = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def log(*words):
    os.write(LOG, (" ".join(words) + "\n").encode())


def step(ctx, label):
    nonce = f"{os.getpid()}-{next(NONCES)}"
    log("run", label, nonce)
    return [label, nonce]


def fail(ctx, label):
    log("run", label, "-")
    raise ValueError(label)


def fan(ctx, _):
    calls = [ctx.call_activity(step, input=f"{ctx.instance_id}/{n}") for n in range(6)]
    return (yield task.when_all(calls))


def sleepy(ctx, _):
    first = yield ctx.call_activity(step, input=f"{ctx.instance_id}/0")
    yield ctx.create_timer(timedelta(milliseconds=400))
    second = yield ctx.call_activity(step, input=f"{ctx.instance_id}/1")
    return [first, second]


def parent(ctx, _):
    children = [
        ctx.call_sub_orchestrator("sleepy", instance_id=f"child-{ctx.instance_id}-{n}")
        for n in range(3)
    ]
    results = yield task.when_all(children)
    return [pair for result in results for pair in result]


def failing(ctx, _):
    kept = yield ctx.call_activity(step, input=f"{ctx.instance_id}/0")
    try:
        yield ctx.call_activity(fail, input=f"{ctx.instance_id}/fails")
    except task.TaskFailedError:
        return [kept]
    return ["the failure was lost"]


def broken(ctx, _):
    yield ctx.call_activity(step, input=f"{ctx.instance_id}/0")
    yield ctx.call_activity(fail, input=f"{ctx.instance_id}/fails")


def counting(ctx, so_far):
    so_far = so_far or []
    pair = yield ctx.call_activity(step, input=f"{ctx.instance_id}/{len(so_far)}")
    so_far.append(pair)
    if len(so_far) == 4:
        return so_far
    ctx.continue_as_new(so_far)
    return None


def waiting(ctx, _):
    yield ctx.wait_for_external_event("go")
    return [(yield ctx.call_activity(step, input=f"{ctx.instance_id}/0"))]


def doomed(ctx, _):
    yield ctx.call_sub_orchestrator("endless", instance_id=f"child-{ctx.instance_id}")


def endless(ctx, _):
    yield ctx.create_timer(timedelta(hours=1))
    yield ctx.call_activity(step, input=f"{ctx.instance_id}/never")


KINDS = (fan, sleepy, parent, failing, broken, counting, waiting, doomed)


class Acknowledged(grpc.UnaryUnaryClientInterceptor):  # type: ignore[misc]
    """Notes a result once the hub has answered."""

    def intercept_unary_unary(self, continuation, details, request):
        call = continuation(details, request)
        is_result = details.method.endswith("CompleteActivityTask") and request.HasField("result")
        if is_result and call.code() is grpc.StatusCode.OK:
            log("ack", *json.loads(request.result.value))
        return call


def load(address, life, finish):
    worker = dt_worker.TaskHubGrpcWorker(
        host_address=address, interceptors=[Acknowledged()], logger=QUIET
    )
    for orchestrator in (*KINDS, endless):
        worker.add_orchestrator(orchestrator)
    for activity in (step, fail):
        worker.add_activity(activity)
    worker.start()
    with dt_client.TaskHubGrpcClient(host_address=address, logger=QUIET) as client:
        print("ready", flush=True)
        for kind in KINDS:
            instance_id = f"{kind.__name__}-{life}"
            client.schedule_new_orchestration(kind, instance_id=instance_id)
            log("started", instance_id)
        poke(client)
        if not finish:
            threading.Event().wait()
        try:
            wait_for_all(client)
        finally:
            worker.stop()


def poke(client):
    """Raise the events and terminate the doomed, of all lives, as far as not acknowledged.

    The hub is asked which there are: a start may be committed and the host killed before it
    could note that.
    """
    lines = [line.split() for line in Path(sys.argv[2]).read_text().splitlines()]
    done = {words[1] for words in lines if words[0] in ("raised", "terminated")}
    for state in client.get_all_orchestration_states():
        name = state.instance_id
        if name in done:
            continue
        if name.startswith("waiting"):
            client.raise_orchestration_event(name, "go")
            log("raised", name)
        if name.startswith("doomed"):
            client.wait_for_orchestration_start(name)
            client.terminate_orchestration(name, output="doomed")
            log("terminated", name)


def wait_for_all(client):
    states = {}
    for state in client.get_all_orchestration_states():
        done = client.wait_for_orchestration_completion(state.instance_id, timeout=60)
        output = done.serialized_output
        states[state.instance_id] = [
            done.runtime_status.name,
            json.loads(output) if output else None,
        ]
    print(json.dumps(states), flush=True)


async def main(directory, _log, life, *flags):
    async with await SqliteTaskHub.open(Path(directory)) as hub:
        await asyncio.to_thread(load, hub.address, life, "--finish" in flags)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
