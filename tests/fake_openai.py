"""
A small server that speaks OpenAI's chat completions and responses over loopback, by a script.

A script is a list of replies, or of functions from a request to one, used one per request; the
last one is used for ever. It answers
streamed and plain requests alike and keeps what it was sent.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer.

    ``calls`` are ``(tool, argument text)``. ``hang`` sends nothing until the server closes,
    ``hang_after_text`` the same in the middle of a stream, ``drop`` closes the connection in the
    middle of one.
    """

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    status: int = 200
    error: str = "as scripted"
    headers: tuple[tuple[str, str], ...] = ()
    hang: bool = False
    hang_after_text: bool = False
    drop: bool = False


type Script = Reply | Callable[[dict[str, Any]], Reply]


@dataclass(slots=True)
class FakeOpenAI:
    """The running server: ``url`` is what OPENAI_BASE_URL is set to."""

    url: str
    replies: list[Script]
    requests: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def reply_to(self, request: dict[str, Any]) -> Reply:
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return reply(request) if callable(reply) else reply


@contextmanager
def fake_openai(replies: Sequence[Script]) -> Iterator[FakeOpenAI]:
    """Serve on a free port of 127.0.0.1 until the block ends."""
    fake = FakeOpenAI(url="", replies=list(replies))

    class Handler(_Handler):
        server_state = fake

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        fake.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server_state: FakeOpenAI
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""

    def do_POST(self) -> None:
        fake = self.server_state
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        fake.requests.append(body)
        fake.paths.append(self.path)
        fake.headers.append({name.lower(): value for name, value in self.headers.items()})
        reply = fake.reply_to(body)
        if reply.hang:
            fake.closing.wait(30)
            self.close_connection = True
        elif reply.status != 200:
            error = {"message": reply.error, "type": "scripted", "code": None, "param": None}
            self._send(reply, json.dumps({"error": error}).encode())
        elif self.path.split("?")[0].endswith("/responses"):
            self._send(reply, json.dumps(_response(reply)).encode())
        elif body.get("stream"):
            self._stream(reply)
        else:
            self._send(reply, json.dumps(_completion(reply)).encode())

    def _send(self, reply: Reply, body: bytes) -> None:
        self.send_response(reply.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in reply.headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, reply: Reply) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.send_header("connection", "close")
        self.end_headers()
        for chunk in _chunks(reply):
            self._chunk(f"data: {json.dumps(chunk)}\n\n".encode())
            if reply.drop:
                return
            if reply.hang_after_text:
                self.server_state.closing.wait(30)
                return
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _chunk(self, content: bytes) -> None:
        self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        self.wfile.flush()


_USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def _completion(reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": text}}
            for n, (name, text) in enumerate(reply.calls)
        ]
    finish = "tool_calls" if reply.calls else "stop"
    return {
        **_head("chat.completion"),
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": _USAGE,
    }


def _chunks(reply: Reply) -> Iterator[dict[str, Any]]:
    head = {**_head("chat.completion.chunk"), "usage": None}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    for start in range(0, len(reply.text), 9):
        yield chunk({"role": "assistant", "content": reply.text[start : start + 9]})
    for n, (name, text) in enumerate(reply.calls):
        function = {"name": name, "arguments": ""}
        yield chunk(
            {
                "tool_calls": [
                    {"index": n, "id": f"call_{n}", "type": "function", "function": function}
                ]
            }
        )
        for start in range(0, len(text), 500):
            part = {"arguments": text[start : start + 500]}
            yield chunk({"tool_calls": [{"index": n, "function": part}]})
    yield chunk({}, "tool_calls" if reply.calls else "stop")
    yield {**head, "choices": [], "usage": _USAGE}


def _response(reply: Reply) -> dict[str, Any]:
    """Give a plain answer of the Responses API, text only."""
    content = [{"type": "output_text", "text": reply.text, "annotations": []}]
    output = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "scripted",
        "status": "completed",
        "output": [output],
        "parallel_tool_calls": True,
        "tools": [],
        "tool_choice": "auto",
        "usage": {
            "input_tokens": 11,
            "output_tokens": 7,
            "total_tokens": 18,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def _head(kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": "scripted"}
