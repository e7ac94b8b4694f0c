"""A kernel with results of the golden file of an operation.

A golden (tests/codegen/ops/*.tir) is an operation between buffers that nothing fills and nobody
reads. Here every buffer is loaded before, each statement is done before the next begins, what it
wrote is stored after it, and there is one block, whose lanes store next to each other.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tile_ir import (
    BFLOAT16,
    BOOL,
    CORE_OF_MEMORY,
    FLOAT16,
    OPS,
    Alloc,
    Buffer,
    Const,
    Core,
    Expr,
    For,
    Func,
    Loc,
    Memory,
    Op,
    Operand,
    Phase,
    Region,
    Section,
    Slice,
    Stmt,
    Var,
    While,
    constant_value,
    to_bytes,
    walk_ops,
    written_buffers,
)
from tile_ir.lazy import np

_HERE = Loc("selftest", 1, 1)
_PLAIN_COPY = (False, False, None)
_FENCE = Op(OPS["barrier_all"], (), (), _HERE)
# Sizes that goldens leave to the call; their accesses fit.
_SYMBOL = 128
# Operations of numbers above zero, and of addresses: multiples of a block within a row.
_POSITIVE = frozenset({"ln", "sqrt", "rsqrt", "pow", "reciprocal", "div"})
_ADDRESSED = frozenset({"gather", "gatherb", "gather_elements", "bilinear_interpolation"})
_BLOCK_BYTES = 32
_DEPTH = Const(16)
# What results hold before.
_UNTOUCHED = 77
# Buffers of the cube core that are filled by way of l1, and those nothing can be stored from.
_BEHIND_L1 = (Memory.L0A, Memory.L0B, Memory.BT)


@dataclass(frozen=True, slots=True)
class OpKernel:
    """A kernel and its arguments, as `to_bytes` has them: all tensors, filled ones and others."""

    func: Func
    arrays: tuple[Any, ...]


def op_kernel(golden: Func) -> OpKernel | str:
    """The kernel of a golden, or why there is none."""
    if golden.phase is not Phase.BUILT:
        return "stands in lowered kernels only: `copy`, products and examples become it"
    made = _Harness(golden)
    for alloc in golden.launch.allocs:
        made.add(alloc)
    return made.kernel()


class _Harness:
    def __init__(self, golden: Func) -> None:
        self.golden = golden
        self.rng = np.random.default_rng(zlib.crc32(golden.name.encode()))
        self.names = {op.opdef.name for op in walk_ops(golden.launch.body)}
        self.takes_blocks = any(name.startswith("row_expand") for name in self.names)
        self.written = written_buffers(golden.launch.body)
        self.tensors: list[Buffer] = []
        self.arrays: list[Any] = []
        self.allocs: list[Alloc] = []
        self.root_of = {a.buffer: a.alias_of or a.buffer for a in golden.launch.allocs}
        self.loads: dict[Core, list[Stmt]] = {Core.CUBE: [], Core.VECTOR: []}

    def kernel(self) -> OpKernel:
        launch, symbols = self.golden.launch, dict.fromkeys(self.golden.symbols, Const(_SYMBOL))
        params: list[Buffer] = []
        arrays: list[Any] = []
        for tensor in self.golden.tensors:
            fixed = tuple(symbols.get(d, d) if isinstance(d, Var) else d for d in tensor.shape)
            params.append(replace(tensor, shape=fixed))
            arrays.append(self.values(tensor, fixed))
        renamed = dict(zip(self.golden.tensors, params, strict=True))
        # The cores are not ordered: the cube core has tensors of its own.
        others = {t: replace(made, name=f"{t.name}_cube") for t, made in renamed.items()}
        params += others.values()
        arrays += [a.copy() for a in arrays]
        body = tuple(
            replace(s, body=_with_buffers(s.body, others if s.core is Core.CUBE else renamed))
            for s in self.sections(launch.body)
        )
        allocs = (*launch.allocs, *self.allocs)
        launch = replace(launch, blocks=Const(1), allocs=allocs, body=body)
        func = replace(self.golden, params=(*params, *self.tensors), launch=launch)
        return OpKernel(func, (*arrays, *self.arrays))

    def add(self, alloc: Alloc) -> None:
        """Load the buffer from a tensor of its own."""
        buffer = alloc.buffer
        if alloc.alias_of is not None or buffer.memory is Memory.VAR:
            return
        core = CORE_OF_MEMORY.get(buffer.memory, Core.VECTOR)
        source = buffer
        if buffer.memory in _BEHIND_L1:
            source = replace(buffer, name=f"{buffer.name}_l1", memory=Memory.L1)
            self.allocs.append(Alloc(source, _HERE))
            self.loads[core] += [_FENCE, *(_copy(*pair) for pair in _planes(source, buffer))]
        if buffer.memory is Memory.L0C:
            if buffer not in self.written:
                self.product(buffer)
        else:
            tensor = self.tensor(f"{buffer.name}_in", buffer, 1, self.values(buffer, buffer.shape))
            self.loads[core][:0] = [_copy(*pair) for pair in _planes(tensor, source)]

    def product(self, buffer: Buffer) -> None:
        """Give a buffer of l0c, which nothing but products writes, its first value."""
        rows, columns = buffer.shape
        factors: list[Operand] = []
        for name, shape in (("left", (rows, _DEPTH)), ("right", (_DEPTH, columns))):
            factor = Buffer(f"{buffer.name}_{name}", Memory.L1, FLOAT16, shape, _HERE)
            alloc = Alloc(factor, _HERE)
            self.allocs.append(alloc)
            self.add(alloc)
            factors.append(Region.whole(factor))
        operands: tuple[Operand, ...] = (*factors, Region.whole(buffer), Const(1, BOOL))
        self.loads[Core.CUBE] += [_FENCE, Op(OPS["gemm_v0"], operands, (False, False), _HERE)]

    def tensor(self, name: str, like: Buffer, lanes: int, values: Any) -> Buffer:
        first = like.shape[0]
        assert isinstance(first, Const), "the shape of a buffer is known"
        shape = (Const(int(first.value) * lanes), *like.shape[1:])
        made = replace(like, name=name, memory=Memory.GM, shape=shape)
        self.tensors.append(made)
        if values is None:
            values = to_bytes(np.full(_sizes(shape), _UNTOUCHED), like.dtype)
        self.arrays.append(values)
        return made

    def store(self, buffer: Buffer) -> Op:
        """Store the buffer to another tensor than those before."""
        lanes = 1 if CORE_OF_MEMORY.get(buffer.memory) is Core.CUBE else 2
        tensor = self.tensor(f"{buffer.name}_out{len(self.tensors)}", buffer, lanes, None)
        whole = Region.whole(buffer)
        rows = whole.dims[0].extent
        lane = self.golden.launch.lane
        start: Expr = lane * rows if lanes == 2 else Const(0)
        part = Region(tensor, (Slice(start, rows), *whole.dims[1:]))
        return Op(OPS["copy"], (whole, part), _PLAIN_COPY, _HERE)

    def values(self, buffer: Buffer, shape: tuple[Expr, ...]) -> Any:
        sizes, dtype = _sizes(shape), buffer.dtype
        numbers: Any
        if dtype.is_float:
            numbers = self.rng.uniform(0.25, 4.0, sizes)
            if not self.names & _POSITIVE:
                numbers *= self.rng.choice([-1.0, 1.0], sizes)
            if self.takes_blocks and sizes[1:] == (_BLOCK_BYTES // dtype.size,):
                numbers[:] = numbers[:, :1]  # a value for each row, repeated over a block
            numbers = numbers.astype("float32" if dtype is BFLOAT16 else dtype.compute)
        elif dtype.name == "uint32" and self.names & _ADDRESSED:
            numbers = self.rng.integers(0, 3, sizes) * _BLOCK_BYTES
        else:
            low = 0 if dtype.limits()[0] == 0 else -8
            numbers = self.rng.integers(low, 8, sizes)
        return to_bytes(numbers, dtype)

    def sections(self, body: tuple[Stmt, ...]) -> Iterable[Section]:
        """The body with loads and stores, on the cores that have something to do."""
        divided = {s.core: s.body for s in body if isinstance(s, Section)}
        if not divided:
            cube = any(
                CORE_OF_MEMORY.get(a.buffer.memory) is Core.CUBE for a in self.golden.launch.allocs
            )
            divided = {Core.CUBE if cube else Core.VECTOR: body}
        for core, statements in divided.items():
            done: list[Stmt] = [*self.loads[core], _FENCE]
            for stmt in statements:
                roots = {self.root_of.get(b, b) for b in written_buffers((stmt,))}
                written = sorted(roots, key=lambda b: b.name)
                stores = [self.store(b) for b in written if b.memory in (Memory.UB, Memory.L0C)]
                done += [stmt, _FENCE, *stores, _FENCE]
            yield Section(core, tuple(done), _HERE)


def _sizes(shape: tuple[Expr, ...]) -> tuple[int, ...]:
    known = [constant_value(d) for d in shape]
    return tuple(int(d) for d in known if d is not None)


def _with_buffers(body: tuple[Stmt, ...], new: dict[Buffer, Any]) -> tuple[Stmt, ...]:
    """The statements on other tensors in place of some."""
    found: list[Stmt] = []
    for stmt in body:
        match stmt:
            case Section() | For() | While():
                found.append(replace(stmt, body=_with_buffers(stmt.body, new)))
            case Op(operands=operands):
                changed = tuple(
                    replace(o, buffer=new.get(o.buffer, o.buffer)) if isinstance(o, Region) else o
                    for o in operands
                )
                found.append(replace(stmt, operands=changed))
            case _:
                found.append(stmt)
    return tuple(found)


def _planes(source: Buffer, target: Buffer) -> Iterable[tuple[Region, Region]]:
    """Both buffers in matrices, as copies to and from the cube core's memories take them."""
    whole = Region.whole(source).dims
    if len(whole) < 3 or target.memory is Memory.UB:
        yield Region.whole(source), Region.whole(target)
        return
    first = source.shape[0]
    assert isinstance(first, Const) and len(whole) == 3, "buffers have at most three dimensions"
    for n in range(int(first.value)):
        part = (Slice(Const(n), Const(1)), *whole[1:])
        yield Region(source, part), Region(target, part)


def _copy(source: Region, target: Region) -> Op:
    return Op(OPS["copy"], (source, target), _PLAIN_COPY, _HERE)


__all__ = ["OpKernel", "op_kernel"]
