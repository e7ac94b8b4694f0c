"""Report and refuse calls of a candidate to the operating system, by an audit hook of Python.

The other fences refuse the same; this one names the call, and works on every platform.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

# Events that start programs, open connections, or look into processes.
_FORBIDDEN = frozenset(
    ("os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile",
     "subprocess.Popen", "pty.spawn", "socket.connect", "socket.bind", "socket.__new__",
     "socket.getaddrinfo", "socket.gethostbyname", "os.kill", "os.killpg", "signal.pthread_kill",
     "sys.remote_exec", "urllib.Request", "ftplib.connect", "smtplib.connect")
)  # fmt: skip
# Events that change files; the first argument is the file.
_CHANGING = frozenset(
    ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.truncate", "os.chmod", "os.chown",
     "os.link", "os.symlink", "os.setxattr", "os.utime", "shutil.rmtree", "shutil.move")
)  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# What shows the memory and the descriptors of a process.
_OF_PROCESSES = "/proc/"
_SHOWING = ("/mem", "/maps", "/environ")
_WHAT = 200


def watch_calls(send: Callable[..., None], scratch: str, reference: str) -> None:
    """From now on, send an event for each call that is forbidden, and raise PermissionError; also
    for a look at the file of the reference, if there is one."""
    # Bound here, where a candidate does not replace them.
    real_path, null, separator = os.path.realpath, os.devnull, os.sep
    inside = real_path(scratch)
    hidden = real_path(reference) if reference else None
    sending = False

    def is_outside(path: str) -> bool:
        found = real_path(path)
        return found != inside and not found.startswith(inside + separator)

    def accusation(event: str, arguments: tuple[Any, ...]) -> str | None:
        """The accusation that a call leads to, or None."""
        if event in _FORBIDDEN:
            return "forbidden"
        path = _text(arguments[0]) if arguments else None
        if path is None:
            return None
        if event == "open":
            flags = arguments[2] if len(arguments) > 2 else 0
            if hidden is not None and real_path(path) == hidden:
                return "cheating"
            if isinstance(flags, int) and flags & _WRITING:
                return "forbidden" if path != null and is_outside(path) else None
            shows = path.startswith(_OF_PROCESSES) and path.endswith(_SHOWING)
            return "forbidden" if shows else None
        return "forbidden" if event in _CHANGING and is_outside(path) else None

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal sending
        if sending or (accused := accusation(event, arguments)) is None:
            return
        shown = " ".join(text for value in arguments[:2] if (text := _text(value)) is not None)
        what = "reads the reference" if accused == "cheating" else f"{event} {shown}".strip()
        sending = True
        try:
            send({"event": accused, "what": what[:_WHAT]})
        finally:
            sending = False
        raise PermissionError(f"{event} is forbidden here")

    sys.addaudithook(hook)


def _text(value: Any) -> str | None:
    """A path or a name as text; None for anything else."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, str) else None
