"""Run the Python text of a kernel on NumPy arrays, block by block, lane by lane, line by line.

This is the first opinion on what a program means: it follows the pages of rules and shares nothing
with the compiler. The text runs as Python does, with a module `T` whose objects are made of NumPy,
after four changes: `with T.Kernel` is a loop over blocks and lanes, `with T.Scope` a condition, a
subscript that is an operand names a place instead of an element, and divisions look for zeros.

ProgramFault tells that a program has no meaning: it reads what nobody wrote, or leaves a buffer.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import executor_operations as operations
from .element_types import KEPT, named, scalar, wrapped
from .executor_buffers import Buffer, Place, ProgramFault, SharedTensor

# Calls whose subscripted operands are places.
_OPERAND_CALLS = ("copy", "gemm_v0", "reduce_sum", "reduce_max", "reduce_min")
_ON_CUBE = ("alloc_L1", "alloc_L0C")
_DIVISIONS: dict[type[ast.operator], str] = {ast.FloorDiv: "floordiv", ast.Mod: "floormod"}


class _Rewriter(ast.NodeTransformer):
    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        call = node.items[0].context_expr
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        if call.func.attr == "Kernel":
            target = node.items[0].optional_vars or ast.Name("_", ast.Store())
            return ast.For(target, call, node.body, [])
        return ast.If(call, node.body, [])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name == "if_then_else":
            self.generic_visit(node)
            return ast.IfExp(*node.args)
        if name in _OPERAND_CALLS or ast.unparse(node.func).startswith("T.tile."):
            node.args = [_place(a) if isinstance(a, ast.Subscript) else a for a in node.args]
        self.generic_visit(node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """NumPy gives 0 for what has no value."""
        self.generic_visit(node)
        name = _DIVISIONS.get(type(node.op))
        if name is None:
            return node
        function = ast.Attribute(ast.Name("T", ast.Load()), name, ast.Load())
        return ast.Call(function, [node.left, node.right], [])


def _place(node: ast.Subscript) -> ast.Subscript:
    place = ast.Attribute(ast.Name("T", ast.Load()), "place", ast.Load())
    return ast.Subscript(ast.Call(place, [node.value], []), node.slice, ast.Load())


@dataclass(frozen=True)
class _Places:
    buffer: Buffer

    def __getitem__(self, key: Any) -> Place:
        return Place.subscripted(self.buffer, key)


@dataclass(frozen=True)
class _TensorType:
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class _NumberType:
    dtype: str

    def __call__(self, value: Any) -> Any:
        return operations.parallel_cast(value, self.dtype)


def _tuple(shape: Any) -> tuple[int, ...]:
    return tuple(int(s) for s in shape) if isinstance(shape, (tuple, list)) else (int(shape),)


def _nest(*extents: Any) -> Iterator[Any]:
    if len(extents) == 1:
        yield from range(extents[0])
    else:
        yield from itertools.product(*(range(e) for e in extents))


class _Language:
    """The module `T` of a run. `on_cube`: the kernel has no lanes of its own."""

    def __init__(self, symbols: Mapping[str, int], on_cube: bool) -> None:
        self._symbols, self._on_cube = symbols, on_cube
        self._scope = ""
        self.tensors: list[SharedTensor] = []
        self.tiles: list[Buffer] = []
        self._reductions = operations.Reductions()
        for dtype in KEPT:
            setattr(self, dtype, _NumberType(dtype))
        self.tile = SimpleNamespace(
            add=operations.elementwise(np.add),
            sub=operations.elementwise(np.subtract),
            mul=operations.elementwise(np.multiply),
            max=operations.elementwise(np.maximum),
            min=operations.elementwise(np.minimum),
            abs=operations.elementwise(np.abs),
            relu=operations.elementwise(lambda v: np.maximum(v, 0)),
            fill=operations.elementwise(lambda v: v),
            clear=lambda dst: self.tile.fill(dst, 0),
            cast=operations.cast,
            broadcast=operations.broadcast,
            atomic_add=operations.atomic_add,
        )

    @property
    def inexact(self) -> bool:
        return self._reductions.inexact

    # The shape of a kernel.
    prim_func = staticmethod(lambda fn: fn)
    Tensor = staticmethod(lambda shape, dtype="float32": _TensorType(_tuple(shape), named(dtype)))
    place = staticmethod(_Places)

    def symbolic(self, name: str) -> int:
        return self._symbols[name]

    def Kernel(self, blocks: Any, threads: int | None = None, is_npu: bool = True) -> Iterator[Any]:
        for cid in range(blocks):
            if threads is not None:
                self._enter("both", cid * 2)
                yield cid
            elif self._on_cube:
                self._enter("C", cid * 2)
                yield cid, 0
            else:
                for vid in range(2):
                    self._enter("V", cid * 2 + vid)
                    yield cid, vid

    def _enter(self, scope: str, core: int) -> None:
        self._scope = scope
        for tensor in self.tensors:
            tensor.core = core

    def Scope(self, name: str) -> bool:
        return self._scope in (name, "both")

    # Buffers. A shared tile is in ub or l1, whichever its uses need.
    def alloc_ub(self, shape: Any, dtype: str) -> Buffer:
        self.tiles.append(Buffer(_tuple(shape), named(dtype), "ub"))
        return self.tiles[-1]

    def alloc_L1(self, shape: Any, dtype: str) -> Buffer:
        return Buffer(_tuple(shape), named(dtype), "l1")

    def alloc_L0C(self, shape: Any, dtype: str) -> Buffer:
        return Buffer(_tuple(shape), named(dtype), "l0c")

    alloc_shared = alloc_ub
    alloc_fragment = alloc_L0C

    def alloc_var(self, dtype: str, init: Any = 0) -> Any:
        return operations.parallel_cast(init, named(dtype))

    # Loops.
    Parallel = grid = staticmethod(_nest)
    serial = unroll = staticmethod(range)

    def Pipelined(self, *bounds: Any, num_stages: int = 0) -> range:
        return range(*bounds)

    # Operations.
    copy = staticmethod(operations.copy)

    def gemm_v0(self, *operands: Any, **options: Any) -> None:
        self._reductions.gemm(*operands, **options)

    def reduce_sum(self, *operands: Any, **options: Any) -> None:
        self._reductions.reduce("sum", *operands, **options)

    def reduce_max(self, *operands: Any, **options: Any) -> None:
        self._reductions.reduce("max", *operands, **options)

    def reduce_min(self, *operands: Any, **options: Any) -> None:
        self._reductions.reduce("min", *operands, **options)

    # Scalars.
    max = staticmethod(lambda *v: _folded(np.maximum, v))
    min = staticmethod(lambda *v: _folded(np.minimum, v))
    abs = staticmethod(np.abs)
    ceildiv = cdiv = staticmethod(lambda a, b: -(-int(a) // int(_divisor(b))))
    floordiv = staticmethod(lambda a, b: a // _divisor(b))
    floormod = staticmethod(lambda a, b: a % _divisor(b))
    cast = staticmethod(lambda value, dtype: operations.parallel_cast(value, named(dtype)))

    def infinity(self, dtype: str) -> Any:
        return scalar(math.inf, named(dtype))


def _divisor(value: Any) -> Any:
    if value == 0 and isinstance(value, (int, np.integer)):
        raise ProgramFault("division-by-zero", "of integers")
    return value


def _folded(join: Any, values: tuple[Any, ...]) -> Any:
    if all(isinstance(v, (int, float)) for v in values):
        return (max if join is np.maximum else min)(values)
    found = values[0]
    for value in values[1:]:
        found = join(found, value)
    return found


@dataclass(frozen=True)
class Executed:
    """The tensors after a run. `inexact`: sums were rounded, in an order that is not defined."""

    arrays: dict[str, Any]
    inexact: bool


@dataclass(frozen=True)
class Parameter:
    """A parameter of a program: a tensor's shape, or None for a number."""

    name: str
    dtype: str
    shape: tuple[int, ...] | None


class Executor:
    """One program with the sizes of its symbols."""

    def __init__(self, text: str, symbols: Mapping[str, int]) -> None:
        tree = ast.parse(text)
        on_cube = any(isinstance(n, ast.Attribute) and n.attr in _ON_CUBE for n in ast.walk(tree))
        tree.body = [n for n in tree.body if not isinstance(n, (ast.Import, ast.ImportFrom))]
        code = compile(
            ast.fix_missing_locations(_Rewriter().visit(tree)),
            "<program>",
            "exec",
            dont_inherit=True,
        )
        self.language = _Language(symbols, on_cube)
        names: dict[str, Any] = {"T": self.language}
        exec(code, names)
        self.function = names["kernel"]
        self.parameters = [
            Parameter(name, given.dtype, getattr(given, "shape", None))
            for name, given in self.function.__annotations__.items()
        ]

    @property
    def starts_inside_blocks(self) -> bool:
        """Whether an operand in ub started inside 32 bytes, where transfers and vector operations
        cannot. Of numbers known at run time only, only a run tells."""
        return any(tile.starts_inside_blocks for tile in self.language.tiles)

    def run(self, arrays: Mapping[str, Any], numbers: Mapping[str, Any]) -> Executed:
        """Run on copies of the arrays. Raises ProgramFault."""
        given: dict[str, Any] = {}
        for p in self.parameters:
            if p.shape is None:
                given[p.name] = scalar(wrapped(numbers[p.name], p.dtype), p.dtype)
            else:
                given[p.name] = SharedTensor(p.shape, p.dtype, arrays[p.name].copy())
        self.language.tensors = [v for v in given.values() if isinstance(v, SharedTensor)]
        with np.errstate(all="ignore"):
            self.function(**given)
        found = {p.name: given[p.name].data for p in self.parameters if p.shape is not None}
        return Executed(found, self.language.inexact)
