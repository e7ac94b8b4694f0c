"""Define what may stand after `with`: the launch, scopes, and explicit branches."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from tile_frontend._tracing.faults import Fault, outside_kernel
from tile_frontend._tracing.scalars import (
    Scalar,
    as_python,
    condition,
    integer_hint,
    python_number,
    scalar_expr,
    unexpected,
)
from tile_frontend._tracing.trace import Trace, current
from tile_ir import Body, Buffer, Core, Expr, Launch, Loc, Section, is_constant
from tile_ir import If as Branches

# Evaluates the body of the block, with the values its target is bound to.
Run = Callable[[tuple[Any, ...]], None]


class Frame:
    """What a body stands in. Python itself opens one only where there is no kernel: there the
    trace does."""

    __slots__ = ()

    def __enter__(self) -> NoReturn:
        outside_kernel(f"with T.{type(self).__name__.removesuffix('Frame')}(...)")

    def __exit__(self, *raised: object) -> None:
        """Never called, but asked for by `with`."""

    def evaluate(self, trace: Trace, names: tuple[str, ...] | None, loc: Loc, run: Run) -> None:
        """Evaluate a block inside the frame and emit the statement that results. `names` are those
        of the `as` target, None without one."""
        if names is not None:
            what = f"{self.spelling()} yields nothing"
            raise Fault("with-target", what, "leave out the `as` part", "target")
        self.body(trace, loc, run)

    def spelling(self) -> str:
        """How a script writes it."""
        return "T.If"

    def body(self, trace: Trace, loc: Loc, run: Run) -> None:
        """The same for a frame that yields nothing."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class KernelFrame(Frame):
    blocks: Expr
    threads: int | None
    # `threads` stands where other launches have the second size of their grid.
    by_position: bool = False

    def evaluate(self, trace: Trace, names: tuple[str, ...] | None, loc: Loc, run: Run) -> None:
        if trace.header is not None:
            message = f"`{trace.name}` launches a second kernel, the first is at line "
            message += f"{trace.header.loc.line}"
            raise Fault("kernel-twice", message, "write one @T.prim_func per launch")
        expected = 2 if self.threads is None else 1
        if names is not None and len(names) != expected:
            self._wrong_target(names, expected)
        given = dict(enumerate(names or ()))
        block = trace.loop_variable(_or_default(given.get(0), "cid"))
        lane = trace.loop_variable(_or_default(given.get(1), "vid"))
        trace.header = Launch(self.blocks, block, lane, self.threads, (), (), loc)
        with trace.block() as body:
            if not is_constant(self.blocks, 0):  # of no blocks, none runs anything
                run((Scalar(block), Scalar(lane))[:expected])
        trace.body = (*trace.prologue, *body)

    def _wrong_target(self, names: tuple[str, ...], expected: int) -> NoReturn:
        if len(names) == 2 and self.by_position:
            grid = flat_grid((as_python(self.blocks), self.threads))
            message = f"the second number of T.Kernel is threads={self.threads}, the vector cores "
            message += "of a block: it yields one index, found 2 names"
            hint = f"for threads write `as cid`; for a grid {grid}"
            raise Fault("with-target", message, hint, "target")
        yields = "out threads yields 2 indices" if expected == 2 else " threads yields 1 index"
        found = f"{len(names)} {'names' if len(names) != 1 else 'name'}"
        hint = _one_index_each(names) if expected == 2 else "write `as cid`"
        raise Fault("with-target", f"T.Kernel with{yields}, found {found}", hint, "target")


def _one_index_each(names: tuple[str, ...]) -> str:
    """What to write where a launch without threads has too few or too many names."""
    first = _or_default(names[0] if names else None, "cid")
    hint = f"write `as ({first}, vid)`"
    if len(names) != 1:
        return hint
    return (
        f"{hint}: vid numbers the two vector cores of a block; with threads=2 one name is right, "
        "and the compiler gives each core its rows"
    )


def _or_default(name: str | None, default: str) -> str:
    return default if name is None or name == "_" else name


@dataclass(frozen=True, slots=True)
class ScopeFrame(Frame):
    core: Core
    letter: str

    def spelling(self) -> str:
        return f'T.Scope("{self.letter}")'

    def body(self, trace: Trace, loc: Loc, run: Run) -> None:
        if trace.core is not Core.EITHER:
            message = f"{self.spelling()} stands inside another scope"
            raise Fault("nested-scope", message, "end the outer scope first")
        trace.core = self.core
        try:
            with trace.block() as body:
                run(())
        finally:
            trace.core = Core.EITHER
        trace.emit(Section(self.core, tuple(body), loc))


@dataclass(slots=True, eq=False)
class IfFrame(Frame):
    condition: Expr
    branches: dict[str, Body] = field(default_factory=dict)

    def body(self, trace: Trace, loc: Loc, run: Run) -> None:
        trace.branches.append(self)
        try:
            with trace.block() as stray:
                run(())
        finally:
            trace.branches.pop()
        if stray:
            hint = "put it below `with T.Then():` or `with T.Else():`"
            raise Fault("branch-missing", "a statement stands in T.If, but in neither branch", hint)
        then, orelse = self.branches.get("Then", ()), self.branches.get("Else", ())
        trace.emit(Branches(self.condition, then, orelse, loc))


@dataclass(frozen=True, slots=True)
class BranchFrame(Frame):
    """`T.Then()` or `T.Else()`."""

    name: str

    def spelling(self) -> str:
        return f"T.{self.name}"

    def body(self, trace: Trace, loc: Loc, run: Run) -> None:
        owner: IfFrame | None = trace.branches[-1] if trace.branches else None
        if owner is None:
            hint = "write `with T.If(cond), T.Then():`; T.Else stands inside the T.If block"
            raise Fault("branch-missing", f"T.{self.name} stands in no T.If", hint)
        if self.name in owner.branches:
            raise Fault("branch-twice", f"this T.If has a second T.{self.name}")
        # A T.Then inside this branch needs a T.If of its own.
        trace.branches.append(None)
        try:
            with trace.block() as body:
                run(())
        finally:
            trace.branches.pop()
        owner.branches[self.name] = tuple(body)


def Kernel(block_num: Any, *more: Any, threads: Any = None, is_npu: bool = True) -> KernelFrame:
    """Open the launch context: `with T.Kernel(blocks, is_npu=True) as (cid, vid)`. `threads` and
    `is_npu` may follow by position."""
    if len(more) == 1 and threads is None and _is_threads(more[0]):
        threads = more[0]
    elif len(more) == 2 and threads is None and _is_threads(more[0]) and isinstance(more[1], bool):
        threads, is_npu = more
    elif more:
        raise _grid(block_num, *more)
    number = python_number(block_num)
    blocks = scalar_expr(block_num if number is None else number)
    if not blocks.dtype.is_integer:
        hint = integer_hint(block_num)
        raise unexpected("block_num", block_num, "an integer", hint, slug="launch-size")
    if number is not None and (number < 0 or (number == 0 and not _has_empty_tensor())):
        hint = "`//` rounds down, T.ceildiv(size, block) rounds up"
        raise Fault("launch-size", f"block_num is {number}, expected at least 1", hint, "block_num")
    if is_npu is not True:
        message = f"is_npu is {is_npu!r}, expected True"
        raise Fault("launch-target", message, "kernels here run on an NPU", "is_npu")
    return KernelFrame(blocks, _threads(threads), bool(more))


def _has_empty_tensor() -> bool:
    """Whether the kernel is made for a tensor without elements: it has no blocks by right then."""
    tensors = (p for p in current("T.Kernel").params if isinstance(p, Buffer))
    return any(is_constant(size, 0) for tensor in tensors for size in tensor.shape)


# What a script writes: the sizes of a grid, which `more` is there to see, are no arguments.
Kernel.__signature__ = inspect.signature(  # type: ignore[attr-defined]
    lambda block_num, threads=None, is_npu=True: None
)


def _is_threads(value: Any) -> bool:
    return value is None or isinstance(value, (list, tuple)) or python_number(value) in (1, 2)


def _grid(*sizes: Any) -> Fault:
    """What a launch over more than one dimension is told, with the first index the fastest."""
    message = f"a launch has one dimension, found {len(sizes)}"
    return Fault("launch-grid", message, flat_grid(sizes), 1)


def flat_grid(sizes: Sequence[Any]) -> str:
    """How a grid is written as one dimension."""
    numbers = [python_number(size) for size in sizes]
    shown = [x if n is None else str(n) for n, x in zip(numbers, _SIZES, strict=False)]
    indices, before = [], ""
    for position, size in enumerate(shown):
        index = f"cid // {before}" if before else "cid"
        if before and " * " in before:
            index = f"cid // ({before})"
        indices.append(index if position == len(shown) - 1 else f"{index} % {size}")
        before = f"{before} * {size}" if before else size
    names = ", ".join(_INDICES[: len(shown)])
    return (
        f"write `T.Kernel({' * '.join(shown)}, is_npu=True) as (cid, vid)` and "
        f"`{names} = {', '.join(indices)}`"
    )


_SIZES = ("gx", "gy", "gz")
_INDICES = ("bx", "by", "bz")


def _threads(value: Any) -> int | None:
    if value is None:
        return None
    number = value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value
    if isinstance(number, bool) or python_number(number) not in (1, 2):
        hint = "threads counts the vector cores of a block, not the elements they work on: "
        hint += "leave it out"
        raise Fault("launch-threads", f"threads is {value!r}, expected 1 or 2", hint, "threads")
    return int(number)


SCOPES = {"C": Core.CUBE, "V": Core.VECTOR}


def Scope(name: str) -> ScopeFrame:
    """Only the cube core ("C") or the vector cores ("V") run the body."""
    if not isinstance(name, str) or name not in SCOPES:
        hint = 'write T.Scope("C") for the cube core, T.Scope("V") for the vector cores'
        raise Fault("unknown-scope", f'the scope is {name!r}, expected "C" or "V"', hint, "name")
    return ScopeFrame(SCOPES[name], name)


def If(cond: Any) -> IfFrame:
    """A branch taken at run time: `with T.If(cond), T.Then(): ...`."""
    return IfFrame(condition(cond))


def Then() -> BranchFrame:
    """What `T.If` runs if its condition holds."""
    return BranchFrame("Then")


def Else() -> BranchFrame:
    """What `T.If` runs if its condition does not hold."""
    return BranchFrame("Else")


def func_attr(attributes: Any) -> None:
    """Attributes of other compilers; none has a meaning here."""
