"""Write hints for outputs and workspaces that a kernel reads before it writes them, or never
writes: most often `out_idx` names the wrong parameter."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from tile_ir import Buffer, Func, written_tensors
from tile_runtime.simulator.simulation_error import Fault

if TYPE_CHECKING:
    from tile_runtime.launcher.bind_arguments import Bound


def read_hint(fault: Fault, func: Func, call: Bound) -> str | None:
    """Return the hint for a parameter that was read before it was written; None if it is none of
    the author's parameters."""
    name = next(iter(re.findall(r"GM buffer '(\w+)'", fault.text)), None)
    position = next((i for i in call.allocated if _name(func, i) == name), None)
    if position is None or name is None:
        return None
    if position not in call.returned:
        return f"workspace_idx names `{name}`, so it holds anything at first: write it first"
    return (
        f"out_idx names `{name}`, so it holds anything at first: write it first, or pass it in "
        f"and leave it out of out_idx{_unnamed(func, call)}"
    )


def _name(func: Func, position: int) -> str | None:
    """Workspaces of the compiler come after the author's parameters."""
    return func.params[position].name if position < len(func.params) else None


def gap_hint(func: Func, call: Bound, position: int) -> str:
    """Return the hint for an output that is not written, or not to its end."""
    hint = "or pass it in as an argument: leave it out of out_idx"
    if func.params[position] in written_tensors(func):
        return f"write all of it, {hint}"
    store = f"store the result with T.copy(tile, {func.params[position].name}[...])"
    return f"{store}, {hint}{_unnamed(func, call)}"


def _unnamed(func: Func, call: Bound) -> str:
    """The parameters that the kernel writes, where out_idx names others."""
    written = written_tensors(func)
    positions = [i for i, p in enumerate(func.params) if isinstance(p, Buffer) and p in written]
    if not positions or set(positions) & set(call.returned):
        return ""
    names = ", ".join(f"`{func.params[i].name}`" for i in positions)
    return f"; the kernel writes {names}: out_idx={positions}"


def gap_text(name: str, shape: tuple[int, ...], count: int, first: int, end: int) -> str:
    """Return the message for an output with `count` unwritten elements, the first run of which is
    [first, end) in the order of memory."""
    total = math.prod(shape)
    if count == total:
        return f"nothing writes output `{name}`"
    run = _place(first, shape) if end == first + 1 else (
        f"{_place(first, shape)} to {_place(end - 1, shape)}"
    )  # fmt: skip
    more = "" if count == end - first else ", the first of them,"
    return f"nothing writes {run}{more} of output `{name}`: {count} of {total} elements"


def _place(element: int, shape: tuple[int, ...]) -> str:
    """An element by its indices."""
    indices: list[str] = []
    for size in reversed(shape):
        element, index = divmod(element, size)
        indices.insert(0, str(index))
    return f"[{', '.join(indices)}]"
