"""
What skill authors test their tools and plans with: the real engine, fake tools, a virtual clock.

    outcome = simulate(plan, tools=[fetch_logs], agents={"writer": "A short report."})
    assert outcome.status == "Completed"

See ``docs/testing.md``.
"""

from .fakes import Fake, FakeAgent, Tools
from .records import Call, Moment, Simulated
from .simulating import START, Scene, simulate, simulate_async

__all__ = [
    "START",
    "Call",
    "Fake",
    "FakeAgent",
    "Moment",
    "Scene",
    "Simulated",
    "Tools",
    "simulate",
    "simulate_async",
]
