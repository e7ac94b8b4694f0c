"""Define the frames of scripts for the next chip, A5: launches of both kinds of core, and cores.

Frames with hints for its scheduler have no effect here.
"""

from __future__ import annotations

from typing import Any

from tile_frontend._arguments.halves import vector_core
from tile_frontend._language.kernel_frames import Frame, Kernel, KernelFrame, Run, ScopeFrame
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar, known_integer, unexpected
from tile_frontend._tracing.trace import Trace
from tile_ir import Const, Core, If, Loc, Section, binary
from tile_ir.quick_dataclasses import dataclass


def MixedKernel(*blocks: Any, sids: Any = 2, prelude: Any = None) -> KernelFrame:
    """Open a launch whose blocks have `sids` vector cores: `with T.MixedKernel(n) as (bx, sid)`
    yields the block and the vector core."""
    if len(blocks) != 1:
        message = f"T.MixedKernel takes one number of blocks, found {len(blocks)}"
        raise Fault("launch-grid", message, "fold them into one: `i, j = b % n, b // n`", 1)
    if prelude is not None:
        hint = "write operations"
        raise Fault("gpu-name", "prelude: source text can not be checked", hint, "prelude")
    frame = Kernel(*blocks)
    return MixedFrame(frame.sizes, None, single=_vector_cores("sids", sids) == 1)


@dataclass(frozen=True, slots=True)
class MixedFrame(KernelFrame):
    """A launch that yields the block and the vector core. The latter is always the first one of a
    launch with a `single` one."""

    single: bool = False

    def evaluate(self, trace: Trace, names: tuple[str, ...] | None, loc: Loc, run: Run) -> None:
        if not self.single or names is None or len(names) != 2:
            KernelFrame.evaluate(self, trace, names, loc, run)
            return
        frame = KernelFrame(self.sizes, 1)
        frame.evaluate(trace, names[:1], loc, lambda found: run((*found, Scalar(Const(0)))))


def Cube() -> ScopeFrame:
    """Only the cube core runs the body, as with `T.Scope("C")`."""
    return ScopeFrame(Core.CUBE, "C")


@dataclass(frozen=True, slots=True)
class VectorFrame(Frame):
    """The vector cores of a block, or the first of them alone."""

    count: int

    def evaluate(self, trace: Trace, names: tuple[str, ...] | None, loc: Loc, run: Run) -> None:
        if names is not None and len(names) != 1:
            message = f"T.Vector yields the vector core, found {len(names)} names"
            raise Fault("with-target", message, "write `as sid`", "target")
        if trace.core is not Core.EITHER:
            message = "T.Vector stands inside another scope"
            raise Fault("nested-scope", message, "end the outer scope first")
        lane = Scalar(vector_core("T.Vector"))
        trace.core = Core.VECTOR
        try:
            with trace.block() as body:
                run((lane,)[: len(names or ())])
        finally:
            trace.core = Core.EITHER
        stmts = tuple(body)
        if self.count == 1:
            stmts = (If(binary("==", lane.expr, Const(0)), stmts, (), loc),)
        trace.emit(Section(Core.VECTOR, stmts, loc))


def Vector(vector: Any = 2) -> VectorFrame:
    """Only the vector cores run the body, as with `T.Scope("V")`; `as sid` numbers them. With
    `vector=1` the first one alone does."""
    return VectorFrame(_vector_cores("vector", vector))


def _vector_cores(name: str, value: Any) -> int:
    number = known_integer(value)
    if number not in (1, 2):
        raise unexpected(name, value, "1 or 2: a block has two vector cores")
    return number


@dataclass(frozen=True, slots=True)
class HintFrame(Frame):
    """A frame without effect on its statements."""

    name: str

    def spelling(self) -> str:
        return f"T.{self.name}"

    def body(self, trace: Trace, loc: Loc, run: Run) -> None:
        run(())


def SimtVF(threads: Any = 128, latency: Any = 0) -> HintFrame:
    """Loops of the body are vector code; how many threads run them there has no effect."""
    sizes = threads if isinstance(threads, (list, tuple)) else [threads]
    numbers = [known_integer(n) for n in sizes]
    if not 1 <= len(sizes) <= 3 or any(n is None or n < 1 for n in numbers):
        raise unexpected("threads", threads, "one to three positive numbers", None, "threads")
    return HintFrame("SimtVF")


def PerCoreTask() -> HintFrame:
    """The statements as they stand."""
    return HintFrame("PerCoreTask")


def Stage(stage: Any) -> HintFrame:
    """The statements as they stand: the compiler finds the stages of a loop."""
    return HintFrame("Stage")


FRAMES = {f.__name__: f for f in (MixedKernel, Cube, Vector, SimtVF, PerCoreTask, Stage)}
