"""Explain the decisions of `infer_memory`, buffer by buffer; nothing is changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import Buffer, Func, Loc, Target
from tile_passes.analysis.memory_demands import Demand, choices
from tile_passes.explain.wording import page

if TYPE_CHECKING:
    from tile_passes.analysis.memory_choice import Choice


def explain_memory(func: Func, target: Target) -> str:
    """For every buffer whose memory the kernel leaves open: where it lies, and the use that left no
    other place. Raises what `infer_memory` raises."""
    file = func.loc.file
    rows = [
        (_place(c.buffer.name, c.buffer.loc, file), c.memory.value, why)
        for c, why in _reasons(func, target)
    ]
    places, memories = (max((len(row[i]) for row in rows), default=0) for i in (0, 1))
    lines = [f"{place:<{places}}  {memory:<{memories}}  {why}" for place, memory, why in rows]
    return page(func, ["", *lines] if lines else (), "every buffer names its memory")


def reasons_for_memories(func: Func, target: Target) -> dict[Loc, str]:
    """Why each buffer whose memory the kernel leaves open lies where it does, by the place of its
    allocation. Raises what `infer_memory` raises."""
    return {c.buffer.loc: why for c, why in _reasons(func, target)}


def _reasons(func: Func, target: Target) -> list[tuple[Choice, str]]:
    # Whoever asks for no explanation does not pay for the import of networkx.
    from tile_passes.analysis.memory_choice import Clash, choose_memories
    from tile_passes.analysis.memory_clash import clash_error

    found = choose_memories(func, target)
    if isinstance(found, Clash):
        raise clash_error(found, target).with_sources(func.sources)
    by_buffer = {c.buffer: c for c in found}
    return [(c, _why(c, by_buffer, func.loc.file)) for c in found]


def _why(choice: Choice, found: dict[Buffer, Choice], file: str) -> str:
    """The deciding use, and what decided the buffer on its other side, as far as that goes."""
    if choice.reason is None:
        if len(choices(choice.buffer)) == 1:
            return f"{choice.buffer.dtype} lies in {choice.memory.value} only"
        return "by default: its uses leave it open"
    steps: list[str] = []
    seen: set[Demand] = set()
    buffer: Buffer = choice.buffer
    reason: Demand | None = choice.reason
    while reason is not None and reason not in seen:
        seen.add(reason)
        text = _place(reason.role_of(buffer), reason.loc, file)
        other = next((b for b in reason.buffers if b is not buffer), None)
        if other is None:
            return ", ".join([*steps, text])
        memory = found[other].memory if other in found else other.memory
        steps.append(f"{text} with `{other.name}` in {memory.value}")
        if other not in found:
            break
        buffer, reason = other, found[other].reason
    return ", ".join(steps)


def _place(name: str, loc: Loc, file: str) -> str:
    return f"{name} (line {loc.line})" if loc.file == file else f"{name} ({loc.file}:{loc.line})"
