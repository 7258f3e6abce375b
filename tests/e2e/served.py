"""The app as a user starts it: a subprocess of the command line, on a data directory of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[2]
QUESTION = "checkout is returning 5xx since 14:10, what happened?"


def command(*arguments, **options):
    """Run one command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "workflow_runtime", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        **options,
    )


@contextmanager
def started(*arguments):
    """Start one command and go on; it is killed in the end if it has not ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", "workflow_runtime", *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(timeout=10)


class Served:
    """One running host."""

    def __init__(self, process, functions):
        self.process = process
        self.urls = {row["name"]: row.get("url") for row in functions}
        self.base = self.urls["healthz"].removesuffix("/healthz")
        self.client = httpx.Client(base_url=self.base, timeout=30)

    def ask(self, message, *, skill="incident_triage", session=None):
        """Send one chat message; return the answer."""
        headers = {"x-ms-session-id": session} if session else {}
        response = self.client.post(
            f"/skills/{skill}/chat", json={"message": message}, headers=headers
        )
        response.raise_for_status()
        return response.json()

    def history(self, session, skill="incident_triage"):
        """Return the session's messages."""
        response = self.client.get(f"/skills/{skill}/history", headers={"x-ms-session-id": session})
        response.raise_for_status()
        return response.json()["messages"]

    def envelope(self, session, workflow_id, skill="incident_triage"):
        """Return a run's status."""
        response = self.client.get(
            f"/skills/{skill}/workflows/{workflow_id}", headers={"x-ms-session-id": session}
        )
        response.raise_for_status()
        return response.json()

    def stop(self):
        """Stop it as Ctrl-C does; return its exit code and how long it took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=20)
        return code, time.monotonic() - began

    def kill(self):
        """Kill it as nothing can prepare for."""
        self.process.kill()
        self.process.wait(timeout=10)


@contextmanager
def serving(data, *, root=ROOT, **environment):
    """Start ``serve`` on a free port; stop it in the end if the test did not."""
    options = ["--port", "0", "--json", "--data", str(data), "--app-root", str(root)]
    log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - a pipe that nobody reads fills up
    process = subprocess.Popen(
        [sys.executable, "-m", "workflow_runtime", "serve", *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        env=os.environ | environment,
    )
    assert process.stdout is not None
    try:
        listing = ""
        for line in process.stdout:
            listing += line
            if line.rstrip() == "}":
                break
        if not listing:
            log.seek(0)
            raise AssertionError(log.read())
        host = Served(process, json.loads(listing)["functions"])
        yield host
        host.client.close()
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(timeout=10)
        process.stdout.close()
        log.close()


def until(look, *, seconds=30):
    """Return the first truthy answer of *look*; fail when there is none in time."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        found = look()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"nothing within {seconds} s")
