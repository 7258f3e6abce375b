"""Import an app's ``function_app.py`` as the Functions host does."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from azure.functions import FunctionRegister

from ...errors import ConfigurationError


def load_function_app(root: Path) -> FunctionRegister:
    """Return the ``app`` of ``function_app.py`` in *root*; raises ConfigurationError."""
    path = root / "function_app.py"
    if not path.is_file():
        message = f"there is no function_app.py in {str(root)!r}; name the app with --app-root"
        raise ConfigurationError(message)
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    spec = importlib.util.spec_from_file_location("function_app", path)
    if spec is None or spec.loader is None:
        message = f"{path.name} cannot be imported"
        raise ConfigurationError(message)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    app = getattr(module, "app", None)
    if not isinstance(app, FunctionRegister):
        message = f"{path.name} must define 'app', a function app"
        raise ConfigurationError(message)
    return app
