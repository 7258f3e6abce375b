"""
The command line: ``python -m workflow_runtime``.

What a command answers goes to stdout; progress and everything else for people goes to stderr, all
of it when ``--json`` is given. Exit codes: 0 done, 1 the plan or the run is not all right, 2 usage.
Bad input gives one line and no traceback.
"""

from .main import main

__all__ = ["main"]
