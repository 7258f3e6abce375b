"""A server of the protocol's earlier revisions over HTTP, with sessions that it can forget."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOOK_UP = {
    "name": "look_up",
    "inputSchema": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"word": {"$ref": "#/definitions/Word"}},
        "required": ["word"],
        "definitions": {"Word": {"type": "string", "minLength": 2}},
    },
}


class OldServer:
    """``url`` is where it is; ``sessions`` it knows, ``calls`` it got, ``status`` it answers with.

    Its clients are to send the header ``x-key: k``.
    """

    def __init__(self):
        self.sessions, self.calls, self.status, self.url = set(), [], 200, ""
        self.unknown = 404

    def answer(self, method, params, session):
        """Return the status, the session and the result of a request."""
        if method == "initialize":
            self.sessions.add(name := f"s{len(self.sessions) + len(self.calls)}")
            about = {"name": "old", "version": "1"}
            version = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            return 200, name, {**version, "serverInfo": about}
        if session not in self.sessions:
            return self.unknown, None, None
        if method == "tools/list":
            return 200, None, {"tools": [LOOK_UP]}
        if method == "tools/call":
            self.calls.append(params["arguments"])
            return self.status, None, {"content": [{"type": "text", "text": "found"}]}
        return 202, None, None


def _handler(server):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            session = self.headers.get("mcp-session-id")
            status, name, result = server.answer(body["method"], body.get("params"), session)
            if self.headers.get("x-key") != "k":
                status = 401
            answer = {"jsonrpc": "2.0", "id": body.get("id"), "result": result}
            sent = json.dumps(answer).encode() if status == 200 else b""
            if status == server.unknown != 404:
                error = {"code": -32000, "message": "Bad Request: No valid session ID provided"}
                sent = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(sent)))
            if name is not None:
                self.send_header("mcp-session-id", name)
            self.end_headers()
            self.wfile.write(sent)

        def do_GET(self):
            self.send_response(405)
            self.send_header("content-length", "0")
            self.end_headers()

        def do_DELETE(self):
            self.do_GET()

        def log_message(self, *arguments):
            """Keep quiet."""

    return Handler


@contextmanager
def old_server():
    """Serve on a free port of the loopback."""
    server = OldServer()
    served = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    served.daemon_threads = True
    server.url = f"http://127.0.0.1:{served.server_port}/mcp"
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        served.shutdown()
        thread.join()
        served.server_close()
