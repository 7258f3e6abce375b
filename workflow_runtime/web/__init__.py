"""HTTP: the routes of the hosted skills and their chat page."""

from .api import Timings
from .routes import Route, routes

__all__ = ["Route", "Timings", "routes"]
