"""Collect the facts of a kernel that its timeline does not contain: its loops, their schedules, the
origin of the pipes' order, and the bytes of the tensors it was called with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields, is_dataclass
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from tile_ir import (
    Automatic,
    For,
    Func,
    LoopKind,
    Memory,
    Target,
    While,
    buffer_bytes,
    buffers_of,
    constant_value,
    walk,
)
from tile_ir.quick_dataclasses import dataclass
from tile_passes.explain.schedules import LoopSchedule
from tile_runtime.tools.report.number_text import microseconds

if TYPE_CHECKING:
    from tile_runtime.jit_kernels.kernel import JITKernel


@dataclass(frozen=True, slots=True)
class SourceLoop:
    """A loop of the Python source: its first and last line, its kind ("serial", "pipelined",
    "persistent", "while"), its `num_stages`, 0 if none, and whether it `moves` elements of gm."""

    file: str
    first: int
    last: int
    kind: str
    stages: int = 0
    moves: bool = True


@dataclass(frozen=True, slots=True)
class Room:
    """Bytes of a memory of a core that the kernel uses, and those that there are."""

    memory: str
    used: int
    capacity: int


@dataclass(frozen=True, slots=True)
class TriedChange:
    """A change that was tried on the same inputs: what to write, modelled microseconds on the
    device `before` it and `after` it, 0 where there is a `problem`. An advised one is worth it, and
    `paste` has the lines of a diff of the script."""

    change: str
    before: float
    after: float
    problem: str = ""
    advised: bool = False
    paste: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The change and what it gives."""
        if not self.after:
            return f"{self.change}: {self.problem}"
        return (
            f"{self.change}: predicted {microseconds(self.before)} -> {microseconds(self.after)} "
            f"({self.before / self.after:.2f}x)"
        )


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """`tensor_bytes` are those of the tensors of the call, results included and workspaces not, 0
    if unknown; `ordered` says that the order of pipes is the compiler's, and `dealt` that
    it deals the blocks out to the cores; `tried` are the changes that were tried, fastest first.
    """

    tensor_bytes: int = 0
    ordered: bool = False
    loops: tuple[SourceLoop, ...] = ()
    schedules: tuple[LoopSchedule, ...] = ()
    tried: tuple[TriedChange, ...] = ()
    dealt: bool = False
    rooms: tuple[Room, ...] = ()

    def loop_around(self, file: str, line: int, moves: bool = False) -> SourceLoop | None:
        """The innermost loop around a line; with `moves`, of those that move elements of gm."""
        around = [s for s in self.loops if s.file == file and s.first <= line <= s.last]
        around = [s for s in around if s.moves or not moves]
        return max(around, key=lambda loop: (loop.first, -loop.last), default=None)

    def overlaps(self, loop: SourceLoop) -> bool:
        """Whether iterations of a loop overlap on their core: by stages, or by versions."""
        here = (s for s in self.schedules if (s.file, s.line) == (loop.file, loop.first))
        return any(s.stages > 1 or s.versions for s in here)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def facts_from_json(data: dict[str, Any]) -> KernelFacts:
    """The inverse of `to_json`. Raises LookupError, TypeError or ValueError for anything else."""
    found: KernelFacts = _from_json(KernelFacts, data)
    return found


# What earlier versions have not saved.
_LATER = ("tried", "dealt", "rooms", "paste", "moves")


def _from_json(kind: Any, data: Any) -> Any:
    """Build a value of a type: a dataclass of a dictionary, a tuple of a list, or a plain value."""
    if is_dataclass(kind):
        types = get_type_hints(kind)
        named = [f.name for f in fields(kind) if f.name not in _LATER or f.name in data]
        values = {name: _from_json(types[name], data[name]) for name in named}
        made: Any = kind
        return made(**values)
    if get_origin(kind) is not tuple:
        return kind(data)
    parts = get_args(kind)
    if parts[-1] is ...:
        return tuple(_from_json(parts[0], value) for value in data)
    return tuple(_from_json(part, value) for part, value in zip(parts, data, strict=True))


def kernel_facts(kernel: JITKernel, tensor_bytes: int) -> KernelFacts:
    """Of a kernel, called with tensors of so many bytes."""
    lowered = kernel.lowered
    return KernelFacts(
        tensor_bytes,
        Automatic.SYNC in lowered.automatic,
        tuple(_loops(kernel)),
        kernel.loop_schedules,
        dealt=_is_dealt(kernel.prim_func, lowered),
        rooms=tuple(_rooms(lowered, kernel.target)),
    )


def _is_dealt(traced: Func, lowered: Func) -> bool:
    """Whether the compiler launches fewer blocks than the grid of the text has."""
    grid, launched = (constant_value(f.launch.blocks) for f in (traced, lowered))
    if grid is None or launched is None:
        return Automatic.BLOCKS in lowered.automatic
    return launched < grid


def _rooms(lowered: Func, target: Target) -> Iterator[Room]:
    used: dict[Memory, int] = {}
    for alloc in lowered.launch.allocs:
        if alloc.address is not None:
            memory = alloc.buffer.memory
            end = alloc.address + buffer_bytes(alloc)
            used[memory] = max(used.get(memory, 0), end)
    for memory, end in used.items():
        yield Room(memory.value, end, target.capacity[memory])


def _loops(kernel: JITKernel) -> list[SourceLoop]:
    found = []
    for stmt in walk(kernel.prim_func.launch.body):
        match stmt:
            case For(kind=kind, body=body, loc=loc, stages=stages) if kind is not LoopKind.PARALLEL:
                name, asked = kind.value, stages
            case While(body=body, loc=loc):
                name, asked = "while", 0
            case _:
                continue
        lines = [s.loc.line for s in walk(body) if s.loc.file == loc.file]
        last = max(lines, default=loc.line)
        moves = any(b.memory is Memory.GM for s in walk(body) for b in buffers_of(s))
        found.append(SourceLoop(loc.file, loc.line, max(last, loc.line), name, asked, moves))
    return found
