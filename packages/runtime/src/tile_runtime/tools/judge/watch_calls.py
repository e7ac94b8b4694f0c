"""Tell what a candidate asks of the operating system, and refuse it, by an audit hook of Python.

The other fences refuse the same; this one knows what was tried, and works on every platform.
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
_WHAT = 200


def watch_calls(send: Callable[..., None], scratch: str) -> None:
    """From now on, send an event for each call that is forbidden, and raise PermissionError."""
    inside = os.path.realpath(scratch)
    real, dev_null = os.path.realpath, os.devnull
    sending = False

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal sending
        if sending or not _is_forbidden(event, arguments, inside, real, dev_null):
            return
        sending = True
        try:
            what = f"{event} {', '.join(map(_shown, arguments[:2]))}".strip()
            send({"event": "forbidden", "what": what[:_WHAT]})
        finally:
            sending = False
        raise PermissionError(f"{event} is forbidden here")

    sys.addaudithook(hook)


def _is_forbidden(
    event: str, arguments: tuple[Any, ...], inside: str, real: Callable[[Any], str], null: str
) -> bool:
    if event in _FORBIDDEN:
        return True
    if event == "open":
        path, _, flags = (*arguments, None, 0, 0)[:3]
        if not isinstance(path, (str, bytes)) or not isinstance(flags, int):
            return False
        name = os.fsdecode(path)
        if flags & _WRITING:
            return name != null and not _is_below(real(name), inside)
        return name.startswith(_OF_PROCESSES) and name.endswith(("/mem", "/maps", "/environ"))
    if event in _CHANGING:
        path = arguments[0] if arguments else ""
        is_named = isinstance(path, (str, bytes))
        return is_named and not _is_below(real(os.fsdecode(path)), inside)
    return False


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)


def _shown(value: Any) -> str:
    if isinstance(value, (str, bytes)):
        return os.fsdecode(value)
    return repr(value) if isinstance(value, (int, list, tuple)) else ""
