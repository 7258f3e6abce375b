"""The function app that Azure Functions and the local host load."""

from pathlib import Path

from workflow_runtime.app import create_function_app

app = create_function_app(Path(__file__).parent)
