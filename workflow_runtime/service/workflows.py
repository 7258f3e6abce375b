"""The service as one: the only way to a workflow, for models, HTTP and the command line."""

from __future__ import annotations

from .controlling import Controlling
from .looking import Looking
from .starting import Starting


class WorkflowService(Starting, Looking, Controlling):
    """The runs of one task hub. Every answer is JSON-ready, in the contract's shapes."""
