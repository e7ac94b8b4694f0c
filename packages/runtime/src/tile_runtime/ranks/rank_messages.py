"""Messages between processes that share no memory: their connections, and the thread of the
simulator that serves them."""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tile_ir import CallError
from tile_ir.switches import switch
from tile_runtime.launcher.native import simulator_library
from tile_runtime.ranks.rank_group import RankGroup

SECRET_BYTES = 16


class _RankWords(ctypes.Structure):
    """TileProcesses of the simulator."""

    _fields_ = (
        ("rank", ctypes.c_uint32),
        ("came", ctypes.c_void_p),
        ("apart", ctypes.c_uint32),
        ("given_up", ctypes.c_void_p),
        ("lock", ctypes.c_void_p),
        ("messages", ctypes.c_void_p),
    )


@dataclass(eq=False)
class RankMessages:
    """The open connections; `pointer` identifies them in the simulator."""

    pointer: int
    sockets: Sequence[socket.socket]

    def fail(self, text: str) -> None:
        """Report to all others that this rank has failed."""
        if self.pointer:
            _simulator().tile_simulator_fail_messages(self.pointer, text.encode()[:2000])

    def settle(self) -> None:
        """Wait until the others have all that was sent to them."""
        _simulator().tile_simulator_settle_messages(self.pointer)

    def close(self) -> None:
        """Take leave; waits for the others to do so too."""
        pointer, self.pointer = self.pointer, 0
        if pointer:
            seconds = float(switch("timeout")) or 600.0
            _simulator().tile_simulator_close_messages(pointer, seconds)
        for each in self.sockets:
            each.close()


def open_messages(
    group: RankGroup, one_host: bool, words: Sequence[int], bases: Sequence[int], size: int,
    text: tuple[int, int],
) -> RankMessages:  # fmt: skip
    """Connect each process with each. `words` are the addresses of their barriers and failures,
    `bases` the memory of each rank, of `size` bytes, and `text` the address and the longest length
    of a failure's message."""
    sockets = _connected(group, one_host)
    numbers = (ctypes.c_int * group.count)(*(s.fileno() if s else -1 for s in sockets))
    pointers = (ctypes.c_void_p * group.count)(*bases)
    pointer = _simulator().tile_simulator_open_messages(
        group.count, ctypes.byref(_RankWords(*words)), numbers, pointers, size, *text
    )
    return RankMessages(int(pointer), [s for s in sockets if s is not None])


@lru_cache(maxsize=1)
def _simulator() -> Any:
    library = ctypes.CDLL(str(simulator_library()), mode=ctypes.RTLD_GLOBAL)
    opens = library.tile_simulator_open_messages
    opens.restype = ctypes.c_void_p
    opens.argtypes = (
        ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64,
        ctypes.c_void_p, ctypes.c_uint32,
    )  # fmt: skip
    library.tile_simulator_fail_messages.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
    library.tile_simulator_settle_messages.argtypes = (ctypes.c_void_p,)
    library.tile_simulator_close_messages.argtypes = (ctypes.c_void_p, ctypes.c_double)
    return library


def _connected(group: RankGroup, one_host: bool) -> list[socket.socket | None]:
    """A connection to each other process: those before this one are called, those after it call.
    A caller proves its membership by a number that only the group has."""
    seconds = float(switch("timeout")) or 600.0
    host = "127.0.0.1" if one_host else _own_address()
    secret = os.urandom(SECRET_BYTES)
    found: list[socket.socket | None] = [None] * group.count
    with socket.create_server((host, 0), backlog=group.count) as server:
        server.settimeout(seconds)
        places = group.gathered((host, server.getsockname()[1], secret))
        try:
            for rank, (where, port, wanted) in enumerate(places[: group.rank]):
                called = socket.create_connection((where, port), seconds)
                called.sendall(wanted + group.rank.to_bytes(4, "little"))
                found[rank] = called
            while None in found[group.rank + 1 :]:
                caller, _ = server.accept()
                rank = _caller(caller, secret, seconds)
                if group.rank < rank < group.count and found[rank] is None:
                    found[rank] = caller
        except OSError as error:
            message = f"ranks can not reach each other from {host}: {error}"
            raise CallError("ranks", message, hint="let no firewall stand between them") from None
    for each in found:
        if each is not None:
            each.settimeout(None)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def _caller(caller: socket.socket, secret: bytes, seconds: float) -> int:
    """The rank of a caller, or -1 of a stranger."""
    caller.settimeout(seconds)
    said = b""
    with suppress(OSError):
        while len(said) < SECRET_BYTES + 4 and (more := caller.recv(SECRET_BYTES + 4 - len(said))):
            said += more
    if said[:SECRET_BYTES] != secret or len(said) < SECRET_BYTES + 4:
        caller.close()
        return -1
    return int.from_bytes(said[SECRET_BYTES:], "little")


def _own_address() -> str:
    """The address by which this host reaches the one where the group met, or its name's."""
    master = os.environ.get("MASTER_ADDR")
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        if master is not None:
            asked.connect((master, 9))
            address = str(asked.getsockname()[0])
            if not address.startswith("127."):
                return address
    return socket.gethostbyname(socket.gethostname())
