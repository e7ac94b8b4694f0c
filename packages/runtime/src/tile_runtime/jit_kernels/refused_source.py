"""The error for C++ that was made from a kernel and that a compiler refuses."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tile_ir import BuildError, Func
from tile_runtime.simulator.simulation_error import python_place

_REPORT = (
    "report it to the project with the script, the source named above and what "
    "`tile-ascend doctor` prints; a script that avoids this line may work meanwhile"
)


def refused_source(
    error: BuildError, name: str, lines: Sequence[str] = (), func: Func | None = None
) -> BuildError:
    """Mark a C++ error as a fault of this compiler, which wrote the text. If `lines` of the text
    name the kernel's line, the error stands there."""
    if error.slug != "compiler-failed" or " failed with exit code " not in error.message:
        return error  # it was killed, or is not there
    place = re.search(r"^[^\s:]+\.cpp:(\d+):\d+: error: ", error.message, re.MULTILINE)
    loc = python_place(list(lines), int(place[1]), func) if place and func else None
    message = (
        f"the C++ made from `{name}` does not compile: this is a fault of tile-ascend, not of the "
        f"kernel\n{error.message}"
    )
    sources = func.sources if func is not None else {}
    return BuildError(error.slug, message, error.loc or loc, error.hint or _REPORT, sources=sources)
