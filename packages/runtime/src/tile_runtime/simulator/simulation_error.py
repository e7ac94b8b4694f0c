"""Report the simulator's faults at the user's Python line and at the C++ line.

The emitter ends the line of every operation with a comment `// <file>:<line>`, so the way back is
read from the source that ran.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from tile_frontend._tracing.values import BEFORE_A_TENSOR
from tile_ir import Automatic, Diagnostic, Effect, Func, Loc, Op, TileError, constant_value, walk
from tile_ir.analysis import own_block_part, own_lane_part, uses_block, uses_lane
from tile_ir.diagnostics.errors import calls_to
from tile_ir.quick_dataclasses import dataclass, replace
from tile_ir.ranks import is_symmetric
from tile_runtime.options.pass_configs import CORE_ORDER, PIPE_ORDER, asked_with
from tile_runtime.simulator.buffer_names import name_buffers, places_made

# The file may be a cell or a line typed at a prompt, such as `<ipython-input-3-...>`.
_COMMENT = re.compile(r"//\s*(?P<file>\S.*?):(?P<line>\d+)(?::(?P<column>\d+))?\s*$")


@dataclass(frozen=True, slots=True)
class Fault:
    """A report of the simulator: the broken rule, and the call and the core that broke it. `rank`
    is -1 where one device runs the kernel."""

    kind: str
    text: str
    file: str
    line: int
    block: int
    core: str
    api: str
    hint: str = ""
    rank: int = -1

    @property
    def where(self) -> str:
        """The core; nothing for what the host part does."""
        rank = f"rank {self.rank}, " if self.rank >= 0 else ""
        return f"{rank}block {self.block}, {self.core}" if self.core else ""


def is_waste_of_blocks(fault: Fault) -> bool:
    """Whether blocks only do the same work: they store equal values, and no read lies between."""
    return fault.kind == "redundant-store" and fault.text.startswith("blocks ")


# A place in a message: `Adds at add.py:12`.
_MENTIONED = re.compile(r"\bat (\S+:\d+)")


class SimulationError(TileError):
    """The kernel broke a rule of the device while it was simulated.

    `fault` has the place in the C++ source, `loc` the one in Python. `others` are the further
    errors of the run, in the order in which they happened: at most 19, and one for each kind and
    pair of lines.
    """

    others: tuple[SimulationError, ...] = ()

    def __init__(
        self,
        fault: Fault,
        message: str,
        loc: Loc | None,
        hint: str | None,
        sources: Mapping[str, str],
        notes: Sequence[Diagnostic] = (),
    ) -> None:
        super().__init__(fault.kind, message, loc, hint, sources=sources, notes=notes)
        self.fault = fault

    def with_others(self, others: Iterable[SimulationError]) -> SimulationError:
        """Add further errors of the same run, which the message lists after it. C++ lines that come
        from one line of a kernel in Python give one error."""
        told = {self._parties: self}
        for error in others:
            told.setdefault(error._parties, error)
        self.others = tuple(told.values())[1:]
        self.args = (self._rendered(),)
        return self

    @property
    def _parties(self) -> tuple[str, str, tuple[str, ...]]:
        """Its kind, its line, and the lines it mentions; what it says where no call did it."""
        line = f"{self.loc.file}:{self.loc.line}" if self.loc is not None else ""
        others = _MENTIONED.findall(self.message) if self.fault.api else [self.message]
        return self.slug, line, tuple(others)

    def _rendered(self) -> str:
        return "\n".join((super()._rendered(), *map(str, self.others)))


def simulation_error(fault: Fault, source: Path, func: Func) -> SimulationError:
    """The error for a fault of the kernel whose emitted C++ is in `source`."""
    lines = source.read_text().splitlines() if source.is_file() else []
    loc = python_place(lines, fault.line, func) if _same_file(fault.file, source) else None
    fault = _with_asserted(fault, loc, func)
    placed = _words_by_index(_with_python_places(fault.text, source, lines, func), func)
    text = _in_the_language(placed, func)
    ours = _same_file(fault.file, source)
    # The folder is named by a hash, and what is in it is told by `kernel.srcpath`.
    place = f"{source.name if ours else fault.file}:{fault.line}" if fault.file else "no C++ line"
    if ours:  # the library was compiled in a folder that has been renamed since
        fault = replace(fault, file=str(source))
    message = f"{text} ({', '.join(filter(None, (fault.api, fault.where, place)))})"
    hint = _hint(fault, func) or None
    notes = (*calls_to(loc, func.expansions), *_where_made(fault, source, lines, func))
    return SimulationError(fault, message, loc or func.loc, hint, func.sources, notes)


def _with_asserted(fault: Fault, loc: Loc | None, func: Func) -> Fault:
    """Report an assertion that the language inserted as the rule that it checks."""
    if fault.kind != "assertion" or loc is None:
        return fault
    ops = (s for s in walk(func.launch.body) if isinstance(s, Op))
    for op in (op for op in ops if op.opdef.effect is Effect.ASSERT):
        here = (op.loc.file, op.loc.line) == (loc.file, loc.line)
        if here and op.attr("slug") != fault.kind and op.attr("msg") in fault.text:
            return replace(fault, kind=op.attr("slug"), text=op.attr("msg"))
    return fault


def simulation_warning(fault: Fault, source: Path, func: Func) -> Diagnostic:
    """The same for what a run did that works on a device, but is waste or no document says it."""
    error = simulation_error(fault, source, func)
    text = error.message.removesuffix(")").rpartition(" (")[0]
    return replace(error.diagnostic, message=text, severity="warning")


# Remarks about synchronisation, and the operations by which a kernel asks for it.
_ABOUT_ORDER = ("redundant-flag", "redundant-barrier")
_ASKS_FOR_ORDER = (Effect.SET_FLAG, Effect.WAIT_FLAG, Effect.BARRIER)


def concerns_the_kernel(fault: Fault, source: Path, func: Func) -> bool:
    """Whether a warning is about what the kernel says. A flag or barrier that the compiler inserted
    is its own affair: it does not know how long a loop runs."""
    if fault.kind not in _ABOUT_ORDER:
        return True
    loc = simulation_error(fault, source, func).loc
    ops = (s for s in walk(func.launch.body) if isinstance(s, Op))
    asked = (op.loc for op in ops if op.opdef.effect in _ASKS_FOR_ORDER)
    return loc is not None and any((a.file, a.line) == (loc.file, loc.line) for a in asked)


def _where_made(fault: Fault, source: Path, lines: list[str], func: Func) -> Iterator[Diagnostic]:
    """Notes at the buffers that an access goes beyond."""
    for file, line in places_made(fault.text) if fault.kind == "out-of-bounds" else ():
        loc = python_place(lines, line, func) if _same_file(file, source) else None
        if loc is not None:
            yield Diagnostic("", "the buffer is made here", loc, severity="note")


# Between the vector cores of a block, between pipes of a core, between the cores of a block, and
# between blocks.
_LANES = re.compile(r"CrossCoreSetFlag<1, ")
_PIPES = re.compile(r"\b(SetFlag<HardEvent|PipeBarrier<)")
_CORES = re.compile(r"CrossCoreSetFlag<2, ")
# What begins in front of a tensor.
_BEFORE = re.compile(r"bytes \[-\d+, .* of GM buffer")
_OUTSIDE_A_TENSOR = (
    "elements of a tile outside of its tensor are 0: divide by T.if_then_else(b == 0, 1, b), or "
    "write T.annotate_safe_value({B: 1}) for the tensor B"
)
# What begins or ends outside of a tile; an index of GetValue and SetValue is unsigned.
_PAST_A_TILE = re.compile(r"covers bytes \[(-?\d+), .* of the UB buffer")
_OUTSIDE_A_TILE = (
    "elements outside of a tile are not 0 as those of a tensor are: guard the index, "
    "T.if_then_else(i + 1 < n, x[i + 1], 0), or allocate a tile with room for them"
)
# A tile that nothing has written, or only in part.
_UNWRITTEN_TILE = re.compile(r" of (the )?UB.* that nothing has written")
_FIRST_VALUE = (
    "give the tile a first value above this line: T.clear(tile), T.fill(tile, value), or a T.copy "
    "into all of it"
)
_BLOCKS = re.compile(r"^give each block its own bytes")
# What is to be done on the core that has asked the engine, and then tells the other one.
_ENGINE = re.compile(r"call aclshmemx_sdma_quiet after the transfer, then .*", re.DOTALL)


def _hint(fault: Fault, func: Func) -> str:
    """Return the simulator's advice, in the words of the language. In a kernel that never reads the
    number of its vector core or block, each of them does all of the work, and no order between them
    makes that right. In a manually ordered kernel, the advice offers the compiler's order."""
    if _ENGINE.search(fault.hint) and not uses_lane(func):
        # The cores of a block meet at the wait.
        hint = _ENGINE.sub("call aclshmemx_sdma_quiet between the two", fault.hint)
        return _in_the_language(hint, func)
    if _LANES.search(fault.hint) and not uses_lane(func):
        return own_lane_part(func)
    if _BLOCKS.search(fault.hint) and not uses_block(func):
        return own_block_part(func)
    hint = _in_the_language(fault.hint, func)
    if fault.kind == "out-of-bounds" and _BEFORE.search(fault.text):
        return hint or BEFORE_A_TENSOR
    if fault.kind == "out-of-bounds" and (past := _PAST_A_TILE.search(fault.text)):
        negative = "the index is negative here; " if int(past[1]) >= 1 << 31 else ""
        return hint or negative + _OUTSIDE_A_TILE
    if fault.kind == "uninitialised-read" and _UNWRITTEN_TILE.search(fault.text):
        return hint or _FIRST_VALUE
    if fault.kind == "division-by-zero" and "the divisor is 0" in fault.text:
        return hint or _OUTSIDE_A_TENSOR
    if fault.kind != "race":
        return hint
    if _PIPES.search(fault.hint) and Automatic.SYNC not in func.automatic:
        return f"{hint}; or leave it to the compiler: {asked_with(*PIPE_ORDER)}"
    if _CORES.search(fault.hint) and Automatic.CROSS not in func.automatic:
        return f"{hint}; or leave it to the compiler: {asked_with(*CORE_ORDER)}"
    return hint


def python_place(lines: list[str], number: int, func: Func) -> Loc | None:
    """The Python line the emitted line came from: its own comment, or that of the nearest line
    above it, as one operation may take several lines of C++."""
    for index in range(min(number, len(lines)) - 1, -1, -1):
        match = _COMMENT.search(lines[index])
        file = _known_file(match["file"], func) if match else None
        if match and file:
            line = int(match["line"])
            column = int(match["column"] or _first_column(file, line, func))
            return Loc(file, line, column)
        if lines[index].startswith("}"):
            return None  # the function above is another one
    return None


def _with_python_places(text: str, source: Path, lines: list[str], func: Func) -> str:
    """The text with names for buffers and the Python line of every C++ line it mentions."""

    def told(match: re.Match[str]) -> str:
        loc = python_place(lines, int(match["line"]), func)
        place = f"{source.name}:{match['line']}"
        return place if loc is None else f"{loc.file}:{loc.line} ({place})"

    named = name_buffers(text, {source.name: lines})
    name = re.escape(source.name)
    return re.sub(rf"[^\s(]*{name}:(?P<line>\d+)", told, named)


# How the hints of the simulator are written in the language.
_CALLS = (
    (r"(Set|Wait)Flag<HardEvent::(\w+?)_(\w+?)>\((\w+)\)",
     lambda m: f'T.{m[1].lower()}_flag("{m[2].lower()}", "{m[3].lower()}", {m[4]})'),
    (r"PipeBarrier<PIPE_(\w+)>\(\)", lambda m: f'T.pipe_barrier("{m[1].lower()}")'),
    (r"CrossCoreSetFlag<(\d), PIPE_(\w+)>\((\w+)\)",
     lambda m: f'T.set_cross_flag("{m[2].lower()}", {m[3]}, mode={m[1]})'),
    (r"CrossCoreWaitFlag\((\w+)\)", lambda m: f"T.wait_cross_flag({m[1]})"),
    (r"SyncAll\(\)", lambda m: "T.sync_all()"),
    (r"aclshmemx_sdma_quiet\b", lambda m: "T.wait(handle)"),
    (r"aclshmem_quiet\(\)", lambda m: "T.quiet()"),
    (r"aclshmemx?_barrier_all(_vec)?\(\)", lambda m: "T.barrier()"),
    (r"aclshmemx_signal_op\b", lambda m: "T.signal"),
    (r"aclshmem_signal_wait_until\b", lambda m: "T.wait_ge"),
    (r"aclshmem_n_pes\(\)", lambda m: "T.num_ranks()"),
    (r"aclshmem_ptr: pe is ", lambda m: "the rank is "),
    (r"aclshmem_ptr: the address", lambda m: "the address"),
    (r"let it lie in symmetric memory, which all ranks allocate together",
     lambda m: "pass a symmetric tensor, which every rank has: world.empty, zeros or of"),
    (r"ACLSHMEM_CMP_GE", lambda m: "T.wait_ge"),
    (r"ACLSHMEM_SIGNAL_ADD", lambda m: 'T.signal(..., op="add")'),
)  # fmt: skip
_OWN_PART = (
    "index by GetSubBlockIdx(), or guard with `if (GetSubBlockIdx() == 0)`, so that each vector "
    "core has its own part"
)


def _words_by_index(text: str, func: Func) -> str:
    """The text with words of symmetric memory as the kernel names them: the simulator counts int32,
    and words of `T.Signals` keep a line each."""
    inner = {
        b.name: [constant_value(d) for d in b.shape[2:]] for b in func.tensors if is_symmetric(b)
    }

    def told(match: re.Match[str]) -> str:
        rest, indices = int(match["offset"]), list[int]()
        for size in reversed(inner.get(match["name"], ())):
            if not size:
                return match[0]
            rest, index = divmod(rest, size)
            indices.insert(0, index)
        shown = [rest, *indices[:-1]] if indices and not indices[-1] else [rest, *indices]
        return f"{match['name']}[{', '.join(map(str, shown))}]"

    return re.sub(r"\b(?P<name>\w+)\[(?P<offset>\d+)\](?= of rank \d)", told, text)


def _in_the_language(text: str, func: Func) -> str:
    for pattern, words in _CALLS:
        text = re.sub(pattern, words, text)
    lane, block = func.launch.lane.name, func.launch.block.name
    return (
        text.replace(_OWN_PART, own_lane_part(func))
        .replace("index by GetSubBlockIdx():", f"index by `{lane}` or write `threads=2`:")
        .replace("by GetBlockIdx()", f"by `{block}`")
    )


def _same_file(reported: str, source: Path) -> bool:
    return PurePath(reported).name == source.name


def _known_file(name: str, func: Func) -> str | None:
    """The key of `func.sources` a comment means, which may show the last part of a path only. A
    comment that names no Python file means no file of the kernel."""
    if name in func.sources:
        return name
    ending = [f for f in func.sources if PurePath(f).name == PurePath(name).name]
    if len(ending) == 1:
        return ending[0]
    return name if name.endswith(".py") else None


def _first_column(file: str, line: int, func: Func) -> int:
    lines = func.sources.get(file, "").splitlines()
    if not 0 < line <= len(lines):
        return 1
    return len(lines[line - 1]) - len(lines[line - 1].lstrip()) + 1
