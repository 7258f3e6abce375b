"""
The host is killed at random points and started again; nothing that was acknowledged is lost.

TEST_KILLS says how often (25 unless set).
"""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

KILLS = int(os.environ.get("TEST_KILLS", "25"))
ROOT = Path(__file__).parents[2]
HOST = Path(__file__).with_name("kill_host.py")


def run_host(tmp_path, life, *flags):
    return subprocess.Popen(
        [sys.executable, HOST, tmp_path / "data", tmp_path / "log", str(life), *flags],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )


def kill_once(tmp_path, life, chance):
    with run_host(tmp_path, life) as host:
        try:
            if chance.random() < 0.9:
                assert host.stdout.readline() == "ready\n"
                time.sleep(chance.uniform(0, 0.6))
            else:
                time.sleep(chance.uniform(0, 0.8))
        finally:
            host.kill()


def finish(tmp_path, life):
    with run_host(tmp_path, life, "--finish") as host:
        try:
            output, _ = host.communicate(timeout=120)
        finally:
            host.kill()
    assert host.returncode == 0
    return json.loads(output.splitlines()[-1])


@pytest.mark.timeout(60 + 4 * KILLS)
def test_killed_at_any_moment_every_workflow_ends_right_and_no_acknowledged_step_runs_again(
    tmp_path,
):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for life in range(KILLS):
        kill_once(tmp_path, life, chance)
    states = finish(tmp_path, KILLS)
    lines = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    check_ends(states, {words[1] for words in lines if words[0] == "started"})
    check_steps(states, lines)


def check_ends(states, acknowledged):
    assert acknowledged <= states.keys(), "an acknowledged start was lost"
    for instance_id, (status, _) in states.items():
        name = instance_id.removeprefix("child-").split("-")[0]
        wanted = {"broken": "FAILED", "doomed": "TERMINATED"}.get(name, "COMPLETED")
        assert status == wanted, (instance_id, status)


def check_steps(states, lines):
    acknowledged = {}
    ended = set()
    for kind, label, *nonce in lines:
        if kind == "terminated":
            ended.add(label)
        elif kind == "run":
            assert label not in acknowledged, f"{label} ran again after its result was taken"
            assert label.split("/")[0].removeprefix("child-") not in ended, label
        elif kind == "ack":
            assert label not in acknowledged, f"two results of {label} were taken"
            acknowledged[label] = nonce[0]
    used = {}
    for instance_id, (status, output) in states.items():
        if status == "COMPLETED":
            pairs = dict(output)
            assert len(pairs) == len(output) >= 1, instance_id
            used |= pairs
    for label, nonce in acknowledged.items():
        assert used.get(label, nonce) == nonce, f"the taken result of {label} was lost"
    assert len(used) > 0
