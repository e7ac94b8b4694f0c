"""Run a process for each text of a script, which ends when its time is over or the request is
cancelled. One is started ahead, so that all is imported when a text comes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from contextlib import suppress
from pathlib import Path

from tile_runtime.tools.language_server.seen import SeenFinding, SeenScript, from_json

_MODULE = "tile_runtime.tools.language_server.look_at_script"
# Seconds beyond the limit of the script itself after which a process is ended that does not end: it
# has to start, on whatever machine.
_STARTING = 120.0


class LookingProcesses:
    """Looks at texts; belongs to one event loop."""

    def __init__(self) -> None:
        self._ahead: asyncio.subprocess.Process | None = None

    async def start_ahead(self) -> None:
        """Start the process for the next text, if there is none."""
        if self._ahead is None:
            self._ahead = await _started()

    async def look(self, path: Path, text: str, limit: float) -> SeenScript:
        """Look at a script with this text, for at most `limit` seconds. A script that takes longer,
        or ends the process, is a finding."""
        await self.start_ahead()
        process, self._ahead = self._ahead, None
        assert process is not None, "it was started"
        request = json.dumps({"path": str(path), "text": text, "limit": limit})
        out, err = b"", b""
        try:
            answer = process.communicate(request.encode())
            out, err = await asyncio.wait_for(answer, limit + _STARTING)
        except asyncio.TimeoutError:
            err = b"Timeout ("
        finally:
            _end(process)
        said = err.decode(errors="replace")
        try:
            return from_json(out.decode())
        except (ValueError, KeyError, TypeError):
            late = "Timeout (" in said
            return SeenScript((_late(path, said, limit) if late else _crash(path, said),))

    def end(self) -> None:
        """End the process that was started ahead."""
        if self._ahead is not None:
            _end(self._ahead)
            self._ahead = None


async def _started() -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", _MODULE,
        stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True,
    )  # fmt: skip


def _end(process: asyncio.subprocess.Process) -> None:
    """End the process and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _late(path: Path, said: str, limit: float) -> SeenFinding:
    return SeenFinding(
        str(path), _line_in(path, said), 1, "warning", "time-limit",
        f"the script was still at this line after {limit:g} s",
        'put what takes long below `if __name__ == "__main__":`, or raise the limit of time',
    )  # fmt: skip


def _crash(path: Path, said: str) -> SeenFinding:
    last = next((line for line in reversed(said.splitlines()) if line.strip()), "no message")
    message = f"the process that looked at the script broke off: {last.strip()}"
    return SeenFinding(str(path), _line_in(path, said), 1, "error", "look-failed", message, "")


def _line_in(path: Path, said: str) -> int:
    """The line of the script that a dump of the stack names first, which is the innermost."""
    found = re.search(rf'File "{re.escape(str(path))}", line (\d+)', said)
    return int(found[1]) if found else 1
