"""``python -m workflow_runtime``."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
