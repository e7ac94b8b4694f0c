"""Several devices that run one kernel: their numbers, the tensors that each has an instance of, and
the levels of the machine by name (docs/language/rules.md#symmetric-tensors)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tile_frontend._arguments.build_op import build_op
from tile_frontend._language.allocation import TensorType
from tile_frontend._language.kernel_frames import Frame, Run
from tile_frontend._language.tensors import Tensor
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar, python_number, unexpected
from tile_frontend._tracing.trace import Trace
from tile_ir import OPS, Const, Expr, Loc, equal
from tile_ir.ranks import RANK, RANKS


class _SymmetricTensorProxy:
    """A tensor parameter that every rank has an instance of, all of one shape, which the others may
    read and write: `T.SymmTensor(shape, dtype)` or `T.SymmTensor[shape, dtype]`. Indices are those
    of the own instance; `T.copy`, `T.put` and `T.get` name the rank of another."""

    __name__ = "T.SymmTensor"

    def __call__(self, shape: Any, dtype: Any = "float32") -> TensorType:
        made = Tensor(shape, dtype)
        if not isinstance(made, TensorType):
            raise unexpected("SymmTensor: shape", shape, "the sizes of a parameter")
        return replace(made, symmetric=True)

    def __getitem__(self, key: Any) -> TensorType:
        if isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], (tuple, list)):
            return self(*key)
        if isinstance(key, tuple) and len(key) == 2 and python_number(key[1]) is None:
            return self(key) if isinstance(key[1], Scalar) else self(*key)
        return self(key)

    def __repr__(self) -> str:
        return self.__name__


SymmTensor = _SymmetricTensorProxy()


def Signals(n: Any) -> TensorType:
    """A parameter of `n` int32 words for `T.signal` and `T.wait_ge`, of which every rank has an
    instance. Each word lies alone in a cache line of 64 bytes, so that two cores or ranks that
    write neighbours do not write over each other."""
    return replace(SymmTensor((n,), "int32"), apart=True)


def rank() -> Scalar:
    """The number of the device that runs the kernel, from 0: 0 where there is only one."""
    return Scalar(RANK)


def num_ranks() -> Scalar:
    """How many devices run the kernel together: 1 where it is launched on one."""
    return Scalar(RANKS)


# What other levels of a machine are called, and what stands for them here.
_ELSEWHERE = {
    "thread": 'a block is one program: write its loop as T.Parallel, or T.Scale("vec")',
    "warpgroup": 'T.Scale("vec") is one of the two vector cores of a block',
    "sm": 'T.Scale("block") is the block, which runs on one core with its two vector cores',
    "sm-cluster": 'T.Scale("cta_cluster", 2) is one of two blocks that share a tile',
    "cta": 'T.Scale("block") is the block',
    "die": 'T.Scale("device") is a device: each die of A3 is one',
}
_LEVELS = ("device", "cta_cluster", "block", "vec")
_ALIASES = {"warp": "vec", "cluster": "cta_cluster"}


@dataclass(frozen=True, slots=True)
class ScaleFrame(Frame):
    """One of many at a level of the machine."""

    level: str
    count: int | None

    def spelling(self) -> str:
        return f'T.Scale("{self.level}")'

    def evaluate(self, trace: Trace, names: tuple[str, ...] | None, loc: Loc, run: Run) -> None:
        found = self._numbers(trace)
        if names is not None and len(names) > len(found):
            message = f"{self.spelling()} yields its number and how many there are, found "
            raise Fault("with-target", f"{message}{len(names)} names", None, "target")
        around, shares = trace.member, self.level == "cta_cluster"
        trace.member = (found[0].expr, self._members(trace)) if shares else around
        try:
            run(found[: len(names or ())])
        finally:
            trace.member = around

    def _numbers(self, trace: Trace) -> tuple[Scalar, Scalar]:
        if self.level == "device":
            if self.count is not None:
                told = (
                    f"{self.spelling()[:-1]}, {self.count}): the launch has another number of "
                    "ranks; leave the number out to take all"
                )
                enough = Scalar(equal(RANKS, Const(self.count)))
                assertion = {"condition": enough, "msg": told, "slug": "scale-size"}
                trace.emit_pending(build_op(OPS["device_assert"], assertion, "Scale"))
            return rank(), num_ranks()
        if trace.header is None:
            hint = "put it below `with T.Kernel(...)`"
            raise Fault("scale-nesting", f"{self.spelling()} stands outside the launch", hint)
        if self.level == "cta_cluster":
            members = self._members(trace)
            return Scalar(trace.header.block % members), Scalar(Const(members))
        if self.level == "block":
            return self._counted(Scalar(trace.header.block), trace.header.blocks)
        if trace.header.threads == 1:
            message = f"{self.spelling()}: the launch has one vector core a block"
            raise Fault("scale-size", message, "leave out threads=1")
        trace.header = replace(trace.header, threads=None)
        return self._counted(Scalar(trace.header.lane), Const(2))

    def _members(self, trace: Trace) -> int:
        """How many neighbouring blocks share a tile."""
        assert trace.header is not None, "the caller has looked"
        if trace.member is not None:
            raise Fault(
                "scale-nesting", f"{self.spelling()} stands inside another one", "leave one out"
            )
        members = self.count or (trace.cluster_size if trace.cluster_size > 1 else 2)
        if trace.cluster_size not in (1, members):
            message = f"{self.spelling()[:-1]}, {members}): the launch has cta_cluster="
            raise Fault("scale-size", f"{message}{trace.cluster_size}", "leave the number out", "n")
        blocks = trace.header.blocks
        if isinstance(blocks, Const) and int(blocks.value) % members:
            message = f"{self.spelling()}: {blocks.value} blocks are no multiple of {members}"
            raise Fault("scale-size", message, f"launch them with T.Kernel(cta_cluster={members})")
        return members

    def _counted(self, number: Scalar, have: Expr) -> tuple[Scalar, Scalar]:
        if self.count is not None and have != Const(self.count):
            found = have.value if isinstance(have, Const) else "a number that the call decides"
            message = f"{self.spelling()[:-1]}, {self.count}): there are {found}"
            raise Fault("scale-size", message, "leave the number out to take all", "n")
        return number, Scalar(have)


def Scale(level: Any, *extents: Any, n: Any = None, workgroup: Any = None) -> ScaleFrame:
    """One of many at a level of the machine: `with T.Scale("device") as (r, num):` yields the rank
    and the number of ranks. "block" yields the block and the number of blocks of the launch, "vec"
    the vector core of the block and 2. "cta_cluster" yields the block's number in its cluster,
    which shares the products inside, and the size of the cluster. With one name it yields only the
    first number. `as r, num` means the same. `n` is how many there have to be."""
    name = _ALIASES.get(str(level), str(level))
    if name not in _LEVELS:
        known = ", ".join(f'"{each}"' for each in _LEVELS)
        hint = _ELSEWHERE.get(name, f"the levels of this machine are {known}")
        raise Fault("scale-level", f"T.Scale: there is no level {level!r} here", hint, 0)
    given = [*extents, *([] if n is None else [n])]
    given += workgroup if isinstance(workgroup, (tuple, list)) else []
    counts = [python_number(each) for each in given]
    if len(counts) > 1 or not all(isinstance(c, int) and c > 0 for c in counts):
        message = f"T.Scale: {given!r} is no number of {name}s"
        raise Fault("scale-size", message, "give one positive number, or none for all", 1)
    count = int(counts[0]) if counts and counts[0] is not None else None
    return ScaleFrame(name, count)
