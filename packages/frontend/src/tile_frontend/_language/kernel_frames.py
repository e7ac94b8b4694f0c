"""Define the frames of `with`: the launch, scopes, and explicit branches."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field
from typing import Any, NoReturn

from tile_frontend._language.loops import product
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
from tile_frontend._tracing.trace import LaunchReached, Trace, current
from tile_ir import Body, Buffer, Const, Core, Expr, Launch, Loc, Section, is_constant
from tile_ir import If as Branches
from tile_ir.quick_dataclasses import dataclass

# Evaluates the body of the block, with the values its target is bound to.
Run = Callable[[tuple[Any, ...]], None]


class Frame:
    """The frame of a `with` block. The trace opens frames of kernels; outside of a kernel Python
    itself opens one, which raises an error."""

    __slots__ = ()

    @property
    def yields_list(self) -> bool:
        """Whether one name may take all that the frame yields."""
        return False

    def __enter__(self) -> NoReturn:
        outside_kernel(f"with T.{type(self).__name__.removesuffix('Frame')}(...)")

    def __exit__(self, *raised: object) -> None:
        """Never called, but required by `with`."""

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
    """A launch over `sizes` blocks, the first dimension the fastest. `threads` is the number of
    vector cores of a block; None is the form that also yields the lane if two names take its
    values. `counts` are the numbers of threads in the script. `second` is the second number of
    `T.Kernel(n, 2)`: the vector cores of a block, or with two index names the second size of the
    grid. `cluster` neighbouring blocks share one index."""

    sizes: tuple[Expr, ...]
    threads: int | None
    second: int | None = None
    counts: tuple[int, ...] = (128,)
    cluster: int = 1

    @property
    def yields_list(self) -> bool:
        return len(self.sizes) > 1

    def evaluate(self, trace: Trace, names: tuple[str, ...] | None, loc: Loc, run: Run) -> None:
        if trace.eager is not None and trace.eager.constants is None:
            raise LaunchReached
        if trace.in_launch:
            inside = trace.header is not None and trace.body is None
            around = (
                "the launch before it" if inside else "a branch or a loop that runs on the host"
            )
            hint = "launches follow each other, none of them inside another block"
            raise Fault("kernel-inside", f"`{trace.name}` launches a kernel inside {around}", hint)
        trace.next_launch()
        trace.threads = self.counts
        sizes, threads = self.sizes, self.threads
        if self.second is not None and names is not None and len(names) == 2:
            sizes, threads = (*sizes, Const(self.second)), 2
        elif len(sizes) == 1 and threads is None and len(names or ()) < 2:
            threads = 2
        lanes = len(sizes) == 1 and threads is None
        expected = 2 if lanes else len(sizes)
        if names is not None and len(names) != expected:
            self._wrong_target(names, expected, lanes)
        given = dict(enumerate(names or ()))
        whole = len(sizes) == 1 and self.cluster == 1
        block = trace.loop_variable(_or_default(given.get(0), "cid") if whole else "block")
        lane = trace.loop_variable(_or_default(given.get(1), "vid") if lanes else "vid")
        blocks = product(sizes) * self.cluster
        trace.cluster_size = self.cluster
        trace.header = Launch(blocks, block, lane, threads, (), (), loc)
        with trace.block() as body:
            if not is_constant(blocks, 0):  # of no blocks, none runs anything
                found = (Scalar(block), Scalar(lane))[:expected]
                if not whole:
                    each: Expr = block // self.cluster if self.cluster > 1 else block
                    found = _indices(trace, each, sizes, names, loc)
                trace.grid = tuple(zip(found[: len(sizes)], map(as_python, sizes), strict=True))
                run(found)
        trace.body = (*trace.prologue, *body)

    def _wrong_target(self, names: tuple[str, ...], expected: int, lanes: bool) -> NoReturn:
        found = f"{len(names)} {'names' if len(names) != 1 else 'name'}"
        if lanes:
            hint = _one_index_each(names)
            yields = "one extent yields the block, or the block and the vector core"
        else:
            hint = f"write `as {_INDICES[0]}`" if expected == 1 else ""
            hint = hint or f"write `as ({', '.join(_INDICES[:expected])})`"
            yields = f"{expected} extents yields {expected} indices"
            yields = yields if expected > 1 else "threads yields 1 index"
        raise Fault("with-target", f"T.Kernel with {yields}, found {found}", hint, "target")


def _indices(
    trace: Trace, block: Expr, sizes: tuple[Expr, ...], names: tuple[str, ...] | None, loc: Loc
) -> tuple[Scalar, ...]:
    """The index of a block in each dimension of the grid, the first one fastest."""
    found: list[Scalar] = []
    before: Expr = Const(1)
    for position, size in enumerate(sizes):
        name = names[position] if names else "_"
        number = block if position == 0 else block // before
        last = position == len(sizes) - 1
        value = Const(0) if is_constant(size, 1) else number if last else number % size
        found.append(trace.let(_or_default(name, _INDICES[position]), value, loc))
        trace.most_iterations(found[-1].expr, Const(0), size)
        before = before * size
    return tuple(found)


def _one_index_each(names: tuple[str, ...]) -> str:
    """The hint for a launch without threads that has too few or too many names."""
    first = _or_default(names[0] if names else None, "cid")
    return (
        f"write `as ({first}, vid)`: vid numbers the two vector cores of a block; with one name "
        "the compiler gives each core its rows"
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
            hint = f"write all its statements in one `with T.{self.name}():`"
            raise Fault("branch-twice", f"this T.If has a second T.{self.name}", hint)
        # A T.Then inside this branch needs a T.If of its own.
        trace.branches.append(None)
        try:
            with trace.block() as body:
                run(())
        finally:
            trace.branches.pop()
        owner.branches[self.name] = tuple(body)


def Kernel(
    *block_num: Any, threads: Any = None, is_npu: bool = True, block: Any = None,
    cta_cluster: Any = None,
) -> KernelFrame:  # fmt: skip
    """Open a launch of as many blocks as the product of one to three sizes, none of them is one
    block: `with T.Kernel(blocks) as (cid, vid)` yields the block and the vector core, one name or
    several sizes yield an index for each size, the first one fastest.

    How many `threads` a block of a GPU has means nothing here: 1 is one vector core for each block,
    any other number lets the compiler divide the rows among both. `threads` and `is_npu` may follow
    one size by position. `block` are the sizes in one argument. With `cta_cluster=2` two blocks
    share each index, and T.Scale("cta_cluster") is one of them."""
    sizes = list(block_num)
    if block is not None:
        sizes += block if isinstance(block, (tuple, list)) else [block]
    if len(sizes) == 3 and threads is None and isinstance(sizes[2], bool):
        is_npu = sizes.pop()
    second = None
    if len(sizes) == 2 and threads is None and _is_threads(sizes[1]):
        threads = sizes.pop()
        second = python_number(threads)
    if len(sizes) > len(_INDICES):
        message = f"a launch has at most three dimensions, found {len(sizes)}"
        raise Fault("launch-grid", message, "fold some into one: `i, j = b % n, b // n`", 3)
    if is_npu is not True:
        message = f"is_npu is {is_npu!r}, expected True"
        raise Fault("launch-target", message, "kernels here run on an NPU", "is_npu")
    grid = tuple(_size(size, position) for position, size in enumerate(sizes)) or (Const(1),)
    lanes = _threads(threads)
    if len(grid) > 1 or not sizes:
        lanes = 2
    counts = (128,) if threads is None else _counts(threads)
    cluster = 1 if cta_cluster is None else math.prod(_counts(cta_cluster, "cta_cluster"))
    lanes = 2 if cluster > 1 and lanes is None else lanes
    return KernelFrame(grid, lanes, None if second is None else int(second), counts, cluster)


def _size(size: Any, position: int) -> Expr:
    number = python_number(size)
    if number is None and not isinstance(size, Scalar):
        raise unexpected("block_num", size, "an integer", slug="launch-size", argument=position)
    blocks = scalar_expr(size if number is None else number)
    if not blocks.dtype.is_integer:
        hint = integer_hint(size)
        raise unexpected(
            "block_num", size, "an integer", hint, slug="launch-size", argument=position
        )
    if number is not None and (number < 0 or (number == 0 and not _has_empty_tensor())):
        hint = "`//` rounds down, T.ceildiv(size, block) rounds up"
        message = f"block_num is {number}, expected at least 1"
        raise Fault("launch-size", message, hint, position)
    return blocks


def _has_empty_tensor() -> bool:
    """Whether the kernel is made for a tensor without elements: it has no blocks by right then."""
    tensors = (p for p in current("T.Kernel").params if isinstance(p, Buffer))
    return any(is_constant(size, 0) for tensor in tensors for size in tensor.shape)


def _is_threads(value: Any) -> bool:
    return value is None or isinstance(value, (list, tuple)) or python_number(value) in (1, 2)


_INDICES = ("bx", "by", "bz")


def _threads(value: Any) -> int | None:
    """How many vector cores work on a block, of the threads a script says it has."""
    return None if value is None else 1 if math.prod(_counts(value)) == 1 else 2


def _counts(value: Any, name: str = "threads") -> tuple[int, ...]:
    """How many threads a script gives a block, or blocks a cluster, in each dimension."""
    numbers = [python_number(n) for n in (value if isinstance(value, (list, tuple)) else [value])]
    counts = [n for n in numbers if isinstance(n, int) and not isinstance(n, bool) and n > 0]
    if not numbers or len(numbers) > 3 or len(counts) != len(numbers):
        hint = "threads is the number of threads a block has on a GPU; leave it out here"
        hint = hint if name == "threads" else "two blocks that share a tile are cta_cluster=2"
        message = f"{name} is {value!r}, expected positive numbers"
        raise Fault("launch-threads", message, hint, name)
    return tuple(counts)


@dataclass(frozen=True, slots=True)
class PartFrame(Frame):
    """A part of a kernel, which means nothing here."""

    def spelling(self) -> str:
        return "T.sblock"

    def body(self, trace: Trace, loc: Loc, run: Run) -> None:
        run(())


def sblock(name: str = "", no_realize: bool = False, exec_scope: str = "") -> PartFrame:
    """A part of a kernel by a name, without effect."""
    return PartFrame()


def get_block_binding(dim: int = 0) -> Any:
    """The index of the block in a dimension of the grid."""
    return _in_grid("get_block_binding", dim)[0]


def get_block_bindings() -> list[Any]:
    """The indices of the block in all dimensions of the grid."""
    return [index for index, _ in _grid("get_block_bindings")]


def get_block_extent(dim: int = 0) -> Any:
    """The size of a dimension of the grid."""
    return _in_grid("get_block_extent", dim)[1]


def get_block_extents() -> list[Any]:
    """The sizes of the grid."""
    return [size for _, size in _grid("get_block_extents")]


def _grid(name: str) -> tuple[tuple[Any, Any], ...]:
    trace = current(f"T.{name}")
    if not trace.grid or not trace.in_launch:
        hint = "call it below `with T.Kernel(...)`"
        raise Fault("outside-launch", f"T.{name} stands outside the launch of the kernel", hint)
    return trace.grid


def _in_grid(name: str, dim: Any) -> tuple[Any, Any]:
    grid, number = _grid(name), python_number(dim)
    if not isinstance(number, int) or not 0 <= number < len(grid):
        expected = f"0 to {len(grid) - 1}"
        raise unexpected(f"{name}: dim", dim, expected, slug="attribute-value")
    return grid[number]


GRID_FUNCTIONS = {
    f.__name__: f
    for f in (get_block_binding, get_block_bindings, get_block_extent, get_block_extents, sblock)
}
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
    """Statements that `T.If` runs if its condition holds."""
    return BranchFrame("Then")


def Else() -> BranchFrame:
    """Statements that `T.If` runs if its condition does not hold."""
    return BranchFrame("Else")


def func_attr(attributes: Any) -> None:
    """Attributes of other compilers; none has a meaning here."""
