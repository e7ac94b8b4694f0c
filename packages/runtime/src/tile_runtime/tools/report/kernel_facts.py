"""What a report says of a kernel that no timeline tells: its loops, how the compiler has scheduled
them, who orders its pipes, and the bytes of the tensors it was called with.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tile_ir import Automatic, For, LoopKind, While, walk
from tile_passes.explain.schedules import LoopSchedule, ScheduledStatement
from tile_runtime.jit_kernels.compiled_kernel import CompiledKernel


@dataclass(frozen=True, slots=True)
class SourceLoop:
    """A loop of the Python source: its first and last line, its kind ("serial", "pipelined",
    "persistent", "while") and the stages it asks for, 0 if none."""

    file: str
    first: int
    last: int
    kind: str
    stages: int = 0


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """`tensor_bytes` are those of the tensors of the call, results included and workspaces not, 0
    if nobody has said; `ordered` says that the order of pipes is the compiler's."""

    tensor_bytes: int = 0
    ordered: bool = False
    loops: tuple[SourceLoop, ...] = ()
    schedules: tuple[LoopSchedule, ...] = ()

    def loop_around(self, file: str, line: int) -> SourceLoop | None:
        """The innermost loop a line is in."""
        around = [s for s in self.loops if s.file == file and s.first <= line <= s.last]
        return max(around, key=lambda loop: (loop.first, -loop.last), default=None)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def facts_from_json(data: dict[str, Any]) -> KernelFacts:
    """The inverse of `to_json`. Raises LookupError, TypeError or ValueError for anything else."""
    loops = tuple(
        SourceLoop(
            str(s["file"]), int(s["first"]), int(s["last"]), str(s["kind"]), int(s["stages"])
        )
        for s in data["loops"]
    )
    schedules = tuple(_schedule(s) for s in data["schedules"])
    return KernelFacts(int(data["tensor_bytes"]), bool(data["ordered"]), loops, schedules)


def _schedule(data: dict[str, Any]) -> LoopSchedule:
    statements = tuple(
        ScheduledStatement(
            int(s["stage"]), str(s["core"]), str(s["pipe"]), float(s["begin"]), float(s["end"]),
            str(s["operation"]), int(s["line"]),
        )
        for s in data["statements"]
    )  # fmt: skip
    return LoopSchedule(
        str(data["file"]), int(data["line"]), str(data["var"]), float(data["interval"]),
        str(data["bound"]), str(data["why"]), statements,
        tuple((str(name), int(count)) for name, count in data["versions"]),
    )  # fmt: skip


def kernel_facts(kernel: CompiledKernel, tensor_bytes: int) -> KernelFacts:
    """Of a kernel, called with tensors of so many bytes."""
    func = kernel.prim_func
    ordered = Automatic.SYNC in func.automatic or Automatic.SYNC in kernel.passes.automatic
    return KernelFacts(tensor_bytes, ordered, tuple(_loops(kernel)), kernel.loop_schedules)


def _loops(kernel: CompiledKernel) -> list[SourceLoop]:
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
        found.append(SourceLoop(loc.file, loc.line, max(last, loc.line), name, asked))
    return found
