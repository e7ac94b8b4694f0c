"""What may stand after `with`: the launch, scopes, and explicit branches. Frames are data; running
a body inside one is in `frame_bodies`."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from tile_frontend.tracing.conversion import condition
from tile_frontend.tracing.faults import Fault, outside_kernel
from tile_frontend.tracing.scalars import describe, integer_hint, python_number, scalar_expr
from tile_frontend.tracing.trace import current
from tile_ir import Body, Buffer, Core, Expr, is_constant


class _OfKernels:
    """Python itself opens a frame only where there is no kernel: there the trace does."""

    __slots__ = ()

    def __enter__(self) -> NoReturn:
        outside_kernel(f"with T.{type(self).__name__.removesuffix('Frame')}(...)")

    def __exit__(self, *raised: object) -> None:
        """Never called, but asked for by `with`."""


@dataclass(frozen=True, slots=True)
class KernelFrame(_OfKernels):
    blocks: Expr
    threads: int | None
    # `threads` stands where other launches have the second size of their grid.
    by_position: bool = False


@dataclass(frozen=True, slots=True)
class ScopeFrame(_OfKernels):
    core: Core
    letter: str


@dataclass(slots=True, eq=False)
class IfFrame(_OfKernels):
    condition: Expr
    branches: dict[str, Body] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BranchFrame(_OfKernels):
    """`T.Then()` or `T.Else()`."""

    name: str


Frame = KernelFrame | ScopeFrame | IfFrame | BranchFrame
FRAMES = (KernelFrame, ScopeFrame, IfFrame, BranchFrame)


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
        raise Fault(
            "launch-size",
            f"block_num is {describe(block_num)}, expected an integer",
            integer_hint(block_num),
            "block_num",
        )
    if number is not None and (number < 0 or (number == 0 and not _has_empty_tensor())):
        raise Fault(
            "launch-size",
            f"block_num is {number}, expected at least 1",
            "`//` rounds down, T.ceildiv(size, block) rounds up",
            "block_num",
        )
    if is_npu is not True:
        raise Fault(
            "launch-target", f"is_npu is {is_npu!r}, expected True",
            "kernels here run on an NPU", "is_npu",
        )  # fmt: skip
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
        raise Fault(
            "launch-threads",
            f"threads is {value!r}, expected 1 or 2",
            "threads counts the vector cores of a block, not the elements they work on: leave it "
            "out",
            "threads",
        )
    return int(number)


SCOPES = {"C": Core.CUBE, "V": Core.VECTOR}


def Scope(name: str) -> ScopeFrame:
    """Only the cube core ("C") or the vector cores ("V") run the body."""
    if not isinstance(name, str) or name not in SCOPES:
        raise Fault(
            "unknown-scope",
            f'the scope is {name!r}, expected "C" or "V"',
            'write T.Scope("C") for the cube core, T.Scope("V") for the vector cores',
            "name",
        )
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
