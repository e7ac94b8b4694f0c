"""Look at scripts in child processes, one for each text. It ends when its time is over, or when
there is a newer text."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from tile_runtime.child_processes.child_server import ChildServer, EndedChild, Ending
from tile_runtime.child_processes.frames import Message
from tile_runtime.child_processes.limits import ChildLimits
from tile_runtime.child_processes.surroundings import Surroundings
from tile_runtime.tools.language_server.seen import SeenFinding, SeenScript, from_json

WARM_UP = f"{__name__}:import_looking"
_LOOK = "tile_runtime.tools.language_server.look_at_script:look"


async def look_apart(server: ChildServer, path: Path, text: str, limit: float) -> SeenScript:
    """Look at a script with this text, for so many seconds at most. A script that takes longer, or
    ends the process, is a finding."""
    ending = Ending()
    request: Message = {"path": str(path), "text": text}

    def looked() -> EndedChild:
        place = Surroundings.here(str(path.parent))
        return server.run(_LOOK, request, ChildLimits.of_time(limit), place=place, ending=ending)

    try:
        ended = await asyncio.to_thread(looked)
    except asyncio.CancelledError:
        ending.end()
        raise
    seen = ended.event("seen")
    if seen is not None:
        return from_json(seen["script"])
    late = ended.how == "time-limit"
    return SeenScript((_late(path, ended, limit) if late else _crash(path, ended),))


def import_looking() -> None:
    """Import what looks at scripts."""
    import tile_runtime.tools.language_server.look_at_script  # noqa: F401


def _late(path: Path, ended: EndedChild, limit: float) -> SeenFinding:
    return SeenFinding(
        str(path), _line_in(path, ended.printed), 1, "warning", "time-limit",
        f"the script was still at this line after {limit:g} s",
        'put what takes long below `if __name__ == "__main__":`, or raise the limit of time',
    )  # fmt: skip


def _crash(path: Path, ended: EndedChild) -> SeenFinding:
    message = f"the process that looked at the script broke off: {ended.problem}"
    line = _line_in(path, ended.printed)
    return SeenFinding(str(path), line, 1, "error", "look-failed", message, "")


def _line_in(path: Path, said: str) -> int:
    """The line of the script that a dump of the stack names first, which is the innermost."""
    found = re.search(rf'File "{re.escape(str(path))}", line (\d+)', said)
    return int(found[1]) if found else 1
