"""The built-in demo model: it drives skills with no key and no network, and says that it does."""

from .messages import DemoCall, DemoMessage, DemoReply, DemoRequest
from .reply import demo_reply

__all__ = ["DemoCall", "DemoMessage", "DemoReply", "DemoRequest", "demo_reply"]
