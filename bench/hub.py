"""
What the local task hub costs, beside the floor of the same SDK.

    python -m bench.hub                      everything, as a table
    python -m bench.hub --quick              a tenth of the work
    python -m bench.hub --durability NORMAL

The floor is durabletask's in-memory backend with durabletask's own worker and client, its lost
wake-up repaired (it clears its event after looking, not before). Each backend runs in a process
of its own, with the worker in the same process: `floor` and `hub` over gRPC, `seam` with the SDK's
executors on `SqliteTaskHub.work`, which is how the local host takes its work.
"""

import argparse
import asyncio
import itertools
import json
import logging
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from durabletask import client as dt_client
from durabletask import task
from durabletask import worker as dt_worker
from durabletask.internal import orchestrator_service_pb2 as pb
from durabletask.testing import create_test_backend

from workflow_runtime.hosts.local.hub import Durability, HubOptions, SqliteTaskHub

STAMPS = []
QUIET = logging.getLogger("quiet")
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False
QUIET.setLevel(logging.ERROR)


def step(ctx, value):
    STAMPS.append(time.perf_counter())
    return value


def fan_out(ctx, width):
    results = yield task.when_all([ctx.call_activity(step, input=i) for i in range(width)])
    return sum(results)


def chain(ctx, length):
    for i in range(length):
        yield ctx.call_activity(step, input=i)


def wide(ctx, count):
    for first in range(0, count, 1000):
        batch = min(1000, count - first)
        children = [
            ctx.call_sub_orchestrator("fan_out", input=100, instance_id=f"{ctx.instance_id}-{n}")
            for n in range(first, first + batch, 100)
        ]
        yield task.when_all(children)


def sleeper(ctx, fire_at):
    yield ctx.create_timer(datetime.fromisoformat(fire_at))


ORCHESTRATORS = (fan_out, chain, wide, sleeper)


class Signal:
    """An event whose wait takes the flag with it, so that no set is lost."""

    def __init__(self):
        self._condition = threading.Condition()
        self._flag = False

    def set(self):
        with self._condition:
            self._flag = True
            self._condition.notify_all()

    def wait(self, timeout=None):
        with self._condition:
            found = self._condition.wait_for(lambda: self._flag, timeout)
            self._flag = False
            return found

    def clear(self):
        pass


@contextmanager
def floor(_options):
    backend = create_test_backend(port=0)
    backend._work_available = Signal()  # type: ignore[assignment]
    address = _start_on_a_free_port(backend)
    try:
        yield address
    finally:
        backend.stop()


def _start_on_a_free_port(backend):
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        backend._port = probe.getsockname()[1]
    backend.start()
    return f"127.0.0.1:{backend._port}"


@contextmanager
def on_a_loop():
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield lambda coroutine: asyncio.run_coroutine_threadsafe(coroutine, loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


@contextmanager
def open_hub(directory, options):
    with on_a_loop() as run:
        hub = run(SqliteTaskHub.open(directory, options=options))
        try:
            yield hub, run
        finally:
            run(hub.close())


@contextmanager
def sqlite_hub(options):
    with tempfile.TemporaryDirectory() as directory, open_hub(Path(directory), options) as (hub, _):
        yield hub.address


class DirectStub:
    """What the SDK's worker calls to answer, without a socket in between."""

    def __init__(self, hub, run):
        self._hub = hub
        self._run = run

    def CompleteOrchestratorTask(self, response):  # noqa: N802 - the service's own name
        self._run(self._hub.complete_orchestrator(response))

    def CompleteActivityTask(self, response):  # noqa: N802 - the service's own name
        self._run(self._hub.complete_activity(response))


@contextmanager
def in_process(options):
    """The hub with the SDK's executors on its seam in process; clients come over gRPC."""
    worker = dt_worker.TaskHubGrpcWorker(logger=QUIET)
    register(worker)
    with (
        tempfile.TemporaryDirectory() as directory,
        open_hub(Path(directory), options) as (hub, run),
        ThreadPoolExecutor(6) as pool,
    ):
        stub = DirectStub(hub, run)

        async def work():
            async for item in hub.work(orchestrators=200, activities=200):
                if item.HasField("activityRequest"):
                    execute, request = worker._execute_activity, item.activityRequest
                else:
                    execute, request = worker._execute_orchestrator, item.orchestratorRequest
                pool.submit(execute, request, stub, item.completionToken)

        async def begin():
            return asyncio.create_task(work())

        working = run(begin())
        yield hub.address
        working.get_loop().call_soon_threadsafe(working.cancel)


def register(worker):
    for orchestrator in ORCHESTRATORS:
        worker.add_orchestrator(orchestrator)
    worker.add_activity(step)


@contextmanager
def a_worker(address):
    worker = dt_worker.TaskHubGrpcWorker(host_address=address, logger=QUIET)
    register(worker)
    worker.start()
    try:
        yield
    finally:
        worker.stop()


@contextmanager
def a_client(address):
    with dt_client.TaskHubGrpcClient(host_address=address, logger=QUIET) as client:
        yield client


def finish(client, orchestrator, given):
    instance_id = client.schedule_new_orchestration(orchestrator, input=given)
    state = client.wait_for_orchestration_completion(instance_id, timeout=600)
    assert state.runtime_status is dt_client.OrchestrationStatus.COMPLETED, state
    return state


def speed(client, scale):
    finish(client, chain, 5)
    rates, hops, starts = [], [], []
    for _ in range(5):
        began = time.perf_counter()
        finish(client, fan_out, 1000 // scale)
        rates.append(1000 // scale / (time.perf_counter() - began))
    for _ in range(4):
        STAMPS.clear()
        finish(client, chain, 50)
        hops += [later - earlier for earlier, later in itertools.pairwise(STAMPS)]
    for _ in range(30):
        STAMPS.clear()
        began = time.perf_counter()
        finish(client, chain, 1)
        starts.append(STAMPS[0] - began)
    return {
        "activities per second": statistics.median(rates),
        "hop ms": statistics.median(hops) * 1000,
        "start to first activity ms": statistics.median(starts) * 1000,
    }


def memory(client, scale):
    count = 20_000 // scale
    finish(client, wide, count // 4)
    before = resident()
    finish(client, wide, count)
    return {"activities": count, "MB before": before, "MB after": resident()}


def resident():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def sleepers(options, scale):
    """Stop and start with sleeping workflows; how long to be ready, and how late timers fire."""
    count = 1000 // scale
    fire_at = datetime.now(UTC) + timedelta(seconds=12)
    with tempfile.TemporaryDirectory() as directory:
        with (
            open_hub(Path(directory), options) as (hub, _),
            a_worker(hub.address),
            a_client(hub.address) as client,
        ):
            ids = [
                client.schedule_new_orchestration(sleeper, input=fire_at.isoformat())
                for _ in range(count)
            ]
            for instance_id in ids:
                client.wait_for_orchestration_start(instance_id)
        began = time.perf_counter()
        with open_hub(Path(directory), options) as (hub, _):
            ready = time.perf_counter() - began
            with a_worker(hub.address), a_client(hub.address) as client:
                for instance_id in ids:
                    client.wait_for_orchestration_completion(instance_id, timeout=60)
                done = time.time() - fire_at.timestamp()
                late = sorted(
                    event.timestamp.timestamp() - fire_at.timestamp()
                    for instance_id in ids
                    for event in client.get_orchestration_history(instance_id)
                    if type(event).__name__ == "TimerFiredEvent"
                )
    return {
        "sleeping": count,
        "ready after s": ready,
        "first timer late s": late[0],
        "last timer late s": late[-1],
        "all finished after s": done,
    }


def neighbours(options, scale):
    """Starting, polling and listing one's own beside finished instances of others."""
    count = 10_000 // scale
    with (
        tempfile.TemporaryDirectory() as directory,
        open_hub(Path(directory), options) as (hub, run),
        a_client(hub.address) as client,
    ):
        for n in range(20):
            client.schedule_new_orchestration("nobody", instance_id=f"mine-{n}")
        own_calls(client, "warm")
        alone = own_calls(client, "alone")
        run(crowd(hub, count))
        crowded = own_calls(client, "crowd")
    return {
        f"{name} ms, alone / beside {count}": f"{alone[name]:.2f} / {crowded[name]:.2f}"
        for name in alone
    }


async def crowd(hub, count):
    async def one(n):
        request = pb.CreateInstanceRequest(name="other", instanceId=f"other-{n}")
        await hub.start(request)
        await hub.terminate(f"other-{n}", None, recurse=False)

    for first in range(0, count, 200):
        await asyncio.gather(*(one(n) for n in range(first, min(first + 200, count))))


def own_calls(client, label):
    query = dt_client.OrchestrationQuery(instance_id_prefix="mine-", fetch_inputs_and_outputs=False)
    calls = {
        "start": lambda n: client.schedule_new_orchestration("own", instance_id=f"{label}{n}"),
        "poll": lambda _: client.get_orchestration_state("mine-3", fetch_payloads=False),
        "list": lambda _: client.get_all_orchestration_states(query),
    }
    return {name: median_ms(call) for name, call in calls.items()}


def median_ms(call):
    took = []
    for n in range(200):
        began = time.perf_counter()
        call(n)
        took.append(time.perf_counter() - began)
    return statistics.median(took) * 1000


def measure(what, options, scale):
    if what in ("sleepers", "neighbours"):
        return {"sleepers": sleepers, "neighbours": neighbours}[what](options, scale)
    backend, part = what.split(":")
    run = {"speed": speed, "memory": memory}[part]
    if backend == "seam":
        with in_process(options) as address, a_client(address) as client:
            return run(client, scale)
    opened = {"floor": floor, "hub": sqlite_hub}[backend](options)
    with opened as address, a_worker(address), a_client(address) as client:
        return run(client, scale)


def in_its_own_process(what, arguments):
    command = [sys.executable, "-m", "bench.hub", "--one", what]
    command += ["--durability", arguments.durability]
    if arguments.quick:
        command.append("--quick")
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def report(arguments):
    rounds = 1 if arguments.quick else 3
    backends = ("floor", "hub", "seam")
    seen = {backend: [] for backend in backends}
    for _ in range(rounds):
        for backend in backends:
            seen[backend].append(in_its_own_process(f"{backend}:speed", arguments))
    print(f"durability {arguments.durability}; medians of {rounds} rounds, ratios to the floor")
    for name in seen["floor"][0]:
        values = {b: statistics.median(one[name] for one in seen[b]) for b in backends}
        cells = [f"{b} {v:7.1f} ({v / values['floor']:.2f})" for b, v in values.items()]
        print(f"{name:28} {'   '.join(cells)}")
    for what in ("hub:memory", "sleepers", "neighbours"):
        print(what)
        for name, value in in_its_own_process(what, arguments).items():
            print(f"    {name:40} {value if isinstance(value, str) else round(value, 3)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--durability", choices=[*Durability], default=Durability.FULL)
    arguments = parser.parse_args()
    if arguments.one is None:
        report(arguments)
        return
    options = HubOptions(durability=Durability(arguments.durability))
    logging.disable(logging.WARNING)
    print(json.dumps(measure(arguments.one, options, 10 if arguments.quick else 1)))


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
