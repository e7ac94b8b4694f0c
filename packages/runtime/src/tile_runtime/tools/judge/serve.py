"""Serve requests to judge: one JSON text a line in, one document a line out, over a local socket.

Connections are served at the same time, and children take turns on the cores of the machine.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import socketserver
import sys
import threading
from contextlib import suppress
from typing import Any, BinaryIO, cast

from tile_ir import CallError, TileError
from tile_runtime.tools.judge.jobs import judging_children
from tile_runtime.tools.judge.judge_file import judge_file
from tile_runtime.tools.judge.request import JudgeRequest

# Requests that are judged or wait; further ones are told to come again.
MOST_REQUESTS = 64
_MOST_BYTES = 64 << 20
_HERE = "127.0.0.1"


class JudgeServer:
    """A server at an address: a number is a port of this machine, anything else the path of a
    socket that only its owner may use. `with` closes it, and ends all that it has started."""

    def __init__(self, address: str, at_once: int | None = None) -> None:
        self.children = judging_children(at_once)
        self._turns = threading.BoundedSemaphore(MOST_REQUESTS)
        self._server = _listening(address, self._serve_connection)
        self.address = address

    def __enter__(self) -> JudgeServer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self) -> None:
        """Serve in a thread of its own."""
        self.children.start()
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def close(self) -> None:
        """End all, also what is being judged."""
        self._server.shutdown()
        self._server.server_close()
        self.children.close()
        if not self.address.isdecimal():
            with suppress(FileNotFoundError):
                os.unlink(self.address)

    def answer(self, line: bytes) -> dict[str, Any]:
        """The document for a request, or an object with an `error` for what is none."""
        if not self._turns.acquire(blocking=False):
            return _error("judge-busy", f"{MOST_REQUESTS} requests are waiting", "ask again later")
        try:
            return judge_file(JudgeRequest.from_text(line), self.children).to_json()
        except TileError as error:
            return _error(error.slug, error.message, error.hint)
        except OSError as error:
            return _error("judge-file", str(error), None)
        finally:
            self._turns.release()

    def _serve_connection(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        while line := incoming.readline(_MOST_BYTES):
            if line.strip():
                outgoing.write(json.dumps(self.answer(line)).encode() + b"\n")
                outgoing.flush()


def serve(address: str) -> int:
    """Serve until a signal ends the process."""

    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with JudgeServer(address) as server:
        server.start()
        print(f"the judge answers at {address}", file=sys.stderr, flush=True)
        ended.wait()
    return 0


def ask_server(address: str, request: JudgeRequest) -> dict[str, Any]:
    """The document of a server for a request. CallError for a request that it does not take."""
    family = socket.AF_INET if address.isdecimal() else socket.AF_UNIX
    with socket.socket(family) as connection:
        connection.connect((_HERE, int(address)) if address.isdecimal() else address)
        connection.sendall(json.dumps(request.to_json()).encode() + b"\n")
        answer: dict[str, Any] = json.loads(connection.makefile("rb").readline())
    if "error" in answer:
        error = answer["error"]
        raise CallError(error["kind"], error["message"], hint=error["hint"])
    return answer


def _error(kind: str, message: str, hint: str | None) -> dict[str, Any]:
    return {"error": {"kind": kind, "message": message, "hint": hint}}


def _listening(address: str, served: Any) -> socketserver.BaseServer:
    class Connection(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                served(cast(BinaryIO, self.rfile), cast(BinaryIO, self.wfile))

    if address.isdecimal():
        return _PortServer((_HERE, int(address)), Connection)
    mask = os.umask(0o177)
    try:
        return _SocketServer(address, Connection)
    finally:
        os.umask(mask)


class _PortServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = MOST_REQUESTS


class _SocketServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = MOST_REQUESTS
