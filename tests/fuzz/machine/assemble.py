"""SYNCED IR as a flat program for machine.cpp: statements in order, expressions in registers.

What is evaluated when is what the emitter says: bounds of loops again in every round, both sides of
`and`, `or` and conditional expressions only where they are needed.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tile_ir import (
    Break,
    Buffer,
    Core,
    DType,
    For,
    Func,
    If,
    Let,
    Memory,
    Op,
    Region,
    Section,
    Store,
    While,
)
from tile_ir.dtypes import BOOL, FLOAT16, FLOAT32, INT32
from tile_ir.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    Var,
    constant_value,
    promote,
    select,
)
from tile_ir.layout.footprint import buffer_bytes, k0_elements, matrix_footprint, matrix_shape
from tile_ir.layout.geometry import strides, transfer_rows
from tile_ir.nodes import Body, Stmt
from tile_ir.ops.broadcast import broadcast_axis
from tile_ir.ops.reduce import kept_results, reduced_axis

HERE = Path(__file__).parent
TENSORS, REGISTERS = 24, 2048
TYPES = {FLOAT32: 0, INT32: 1, BOOL: 1, FLOAT16: 2}
_OPERATORS = (
    "+", "-", "*", "//", "%", "min", "max", "<", "<=", ">", ">=", "==", "!=", "&",
    "abs", "relu", "axpy", "mul_add_dst",
)  # fmt: skip
OPERATORS = {name: i for i, name in enumerate(_OPERATORS)}
VECTOR_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "max": "max", "min": "min", "abs": "abs", "relu": "relu",
    "axpy": "axpy", "mul_add_dst": "mul_add_dst",
    "reduce_max": "max", "reduce_min": "min", "reduce_sum": "+",
}  # fmt: skip
ROUNDING = {f"cast_{m}": i for i, m in enumerate(
    ("none", "rint", "floor", "ceil", "round", "trunc", "odd"))}  # fmt: skip
PIPES = {p: i for i, p in enumerate(("s", "v", "m", "mte1", "mte2", "mte3", "fix"))}


# By name: opcode, and what each word of the arguments is.
_FORMS = [
    (m[1], m[2].replace("t", "nnr"))
    for m in re.finditer(
        r'^OPERATION\((\w+), "(\w*)"\)', (HERE / "operations.def").read_text(), re.M
    )
]
CODES = {name: i for i, (name, _) in enumerate(_FORMS)}
WORDS = [len(form) for _, form in _FORMS]
_JUMP = [form.find("j") for _, form in _FORMS]
_REGISTERS = [[i for i, kind in enumerate(form) if kind == "r"] for _, form in _FORMS]


class NotAssembled(Exception):
    """The machine has no such operation or type."""


@dataclass(frozen=True)
class Program:
    """Code from word 0; where the parts for the two kinds of core start; the constants; the types
    of the scalar parameters; the blocks of a launch."""

    code: list[int]
    starts: dict[Core, int]
    constants: list[int]
    scalars: list[DType]
    blocks: int

    def words(self, parameters: Sequence[Sequence[Any]], pitches: Sequence[int]) -> Any:
        """The array for machine.cpp. `parameters` has the scalar values of each set, `pitches`
        the bytes from one set's share of a tensor to the next."""
        head = 7 + TENSORS
        behind = head + len(self.constants) + sum(map(len, parameters))
        starts = [
            self.starts[c] + behind if c in self.starts else -1 for c in (Core.CUBE, Core.VECTOR)
        ]
        values = [bits(v, t) for row in parameters for v, t in zip(row, self.scalars, strict=True)]
        filled = [*pitches, *([0] * (TENSORS - len(pitches)))]
        fixed = [len(self.constants), len(self.scalars), head, head + len(self.constants)]
        fixed.append(self.blocks)
        code = self.relocated(behind)
        return np.array([*starts, *fixed, *filled, *self.constants, *values, *code], np.int64)

    def relocated(self, behind: int) -> list[int]:
        code = list(self.code)
        at = 0
        while at < len(code):
            if _JUMP[code[at]] >= 0:
                code[at + 2 + _JUMP[code[at]]] += behind
            at += 2 + WORDS[code[at]]
        return code


def bits(value: Any, dtype: DType) -> int:
    """A scalar as a register holds it."""
    if dtype.is_float:
        with np.errstate(all="ignore"):
            return int(struct.unpack("<i", struct.pack("<f", np.float32(value)))[0])
    return int(value)


@dataclass
class _Assembler:
    func: Func
    code: list[int] = field(default_factory=list)
    constants: dict[int, int] = field(default_factory=dict)
    places: dict[object, int] = field(default_factory=dict)
    count: int = 0  # of registers behind the constants; those are negative until the end
    line: int = 0
    breaks: list[list[int]] = field(default_factory=list)
    starts: dict[Core, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.allocs = {a.buffer: a for a in self.func.launch.allocs}
        self.tensors = {t: i for i, t in enumerate(self.func.tensors)}
        self.whole = {
            b: [-(-buffer_bytes(a) // b.dtype.size), a.address or 0]
            for b, a in self.allocs.items()
            if b.memory is not Memory.VAR
        }
        for param in self.func.params:
            if isinstance(param, Var):
                self.places[param] = self.register()

    # Registers ----------------------------------------------------------------------------------

    def register(self) -> int:
        self.count += 1
        if self.count >= REGISTERS - 128:
            raise NotAssembled("too many registers")
        return self.count - 1

    def constant(self, value: int) -> int:
        """Constants come first in the end: they are numbered -1, -2, ... until all are known."""
        return -1 - self.constants.setdefault(value, len(self.constants))

    def emit(self, name: str, *words: int) -> int:
        self.code += [CODES[name], self.line, *words]
        return len(self.code) - 1

    # Expressions --------------------------------------------------------------------------------

    def value(self, expr: Expr, dtype: DType | None = None) -> int:
        """The register with the value, converted to a type if one is given."""
        found = self.plain(expr)
        if dtype is None or TYPES[dtype] == TYPES[expr.dtype]:
            return found
        if isinstance(expr, Const):
            return self.constant(bits(expr.value, dtype))
        to = self.register()
        self.emit("convert", to, TYPES[dtype], found, TYPES[expr.dtype])
        return to

    def plain(self, expr: Expr) -> int:
        match expr:
            case Const(value=value, dtype=dtype):
                return self.constant(bits(value, dtype))
            case Var():
                return self.places[expr]
            case Load(buffer=buffer) if buffer.memory is Memory.VAR:
                return self.place(buffer)
            case Load():
                return self.load(expr)
            case Binary(op="and" | "or" as op, left=a, right=b):
                return self.short(op, a, b)
            case Binary(op=op, left=a, right=b):
                common = promote(a.dtype, b.dtype)
                x, y, to = self.value(a, common), self.value(b, common), self.register()
                name = "real" if common.is_float else "integer"
                self.emit(name, OPERATORS[op], to, x, y)
                return to
            case Unary(op="not", operand=a):
                to = self.register()
                self.emit("negate", to, self.value(a))
                return to
            case Unary(op="-", operand=a):
                x, to = self.value(a), self.register()
                zero = self.constant(bits(-0.0 if a.dtype.is_float else 0, a.dtype))
                self.emit("real" if a.dtype.is_float else "integer", OPERATORS["-"], to, zero, x)
                return to
            case Select(condition=c, then=a, orelse=b):
                return self.choose(c, a, b, expr.dtype)
            case Cast(operand=a, dtype=dtype, bits=False):
                return self.value(a, dtype)
        raise NotAssembled(str(expr))

    def place(self, key: object) -> int:
        if key not in self.places:
            self.places[key] = self.register()
        return self.places[key]

    def load(self, load: Load) -> int:
        index, to = self.linear(load.buffer, load.indices), self.register()
        kind = TYPES[load.dtype]
        if load.buffer.memory is Memory.GM:
            self.emit("load_gm", kind, to, self.tensors[load.buffer], index)
        else:
            self.emit("load_ub", kind, to, *self.whole[load.buffer], index)
        return to

    def linear(self, buffer: Buffer, indices: Sequence[Expr]) -> int:
        total: Expr = Const(0)
        for index, step in zip(indices, strides(buffer), strict=True):
            total = total + index * step
        return self.value(total)

    def short(self, op: str, a: Expr, b: Expr) -> int:
        to = self.register()
        self.emit("move", to, self.value(a))
        test = to
        if op == "or":
            test = self.register()
            self.emit("negate", test, to)
        skip = self.emit("jump_unless", test, -1)
        self.emit("move", to, self.value(b))
        self.code[skip] = len(self.code)
        return to

    def choose(self, c: Expr, a: Expr, b: Expr, dtype: DType) -> int:
        to = self.register()
        other = self.emit("jump_unless", self.value(c), -1)
        self.emit("move", to, self.value(a, dtype))
        end = self.emit("jump", -1)
        self.code[other] = len(self.code)
        self.emit("move", to, self.value(b, dtype))
        self.code[end] = len(self.code)
        return to

    # Statements ---------------------------------------------------------------------------------

    def body(self, body: Body, numbers: dict[Stmt, int]) -> None:
        for stmt in body:
            kept = self.count
            self.line = numbers[stmt]
            self.stmt(stmt, numbers)
            if isinstance(stmt, Op):
                self.count = kept  # of operations nothing is needed later

    def stmt(self, stmt: Stmt, numbers: dict[Stmt, int]) -> None:
        match stmt:
            case Op():
                OPERATIONS[stmt.opdef.name](self, stmt)
            case Let(var=var, value=value):
                to = self.place(var)
                self.emit("move", to, self.value(value, var.dtype))
            case Store(buffer=buffer, indices=indices, value=value):
                self.store(buffer, indices, value)
            case For():
                self.for_(stmt, numbers)
            case While(condition=condition, body=body):
                start = len(self.code)
                out = self.emit("jump_unless", self.value(condition), -1)
                self.loop(body, numbers, out, start, None)
            case If(condition=condition, then=then, orelse=orelse):
                other = self.emit("jump_unless", self.value(condition), -1)
                self.body(then, numbers)
                end = self.emit("jump", -1)
                self.code[other] = len(self.code)
                self.body(orelse, numbers)
                self.code[end] = len(self.code)
            case Break():
                self.breaks[-1].append(self.emit("jump", -1))
            case _:
                raise NotAssembled(type(stmt).__name__)

    def store(self, buffer: Buffer, indices: Sequence[Expr], value: Expr) -> None:
        given = self.value(value, buffer.dtype)
        if buffer.memory is Memory.VAR:
            self.emit("move", self.place(buffer), given)
            return
        index, kind = self.linear(buffer, indices), TYPES[buffer.dtype]
        if buffer.memory is Memory.GM:
            self.emit("store_gm", kind, self.tensors[buffer], index, given)
        else:
            self.emit("store_ub", kind, *self.whole[buffer], index, given)

    def for_(self, loop: For, numbers: dict[Stmt, int]) -> None:
        var = self.place(loop.var)
        self.emit("move", var, self.value(loop.start))
        start = len(self.code)
        test = self.register()
        self.emit("integer", OPERATORS["<"], test, var, self.value(loop.stop))
        out = self.emit("jump_unless", test, -1)
        self.loop(loop.body, numbers, out, start, var)

    def loop(
        self, body: Body, numbers: dict[Stmt, int], out: int, start: int, var: int | None
    ) -> None:
        self.breaks.append([out])
        self.body(body, numbers)
        if var is not None:
            self.emit("integer", OPERATORS["+"], var, var, self.constant(1))
        self.emit("jump", start)
        for place in self.breaks.pop():
            self.code[place] = len(self.code)

    # Operands -----------------------------------------------------------------------------------

    def tensor(self, region: Region, matrix: bool = False) -> list[int]:
        """Three words; `matrix` means the start of the l1 or l0 matrix that the region is in."""
        if region.memory in (Memory.UB, Memory.GM):
            offset = self.linear(region.buffer, [s.offset for s in region.dims])
        else:
            offset = self.value(fractal_offset(region, matrix))
        return [*self.whole[region.buffer], offset]

    def gm(self, region: Region) -> list[int]:
        offset = self.linear(region.buffer, [s.offset for s in region.dims])
        return [self.tensors[region.buffer], offset]


def fractal_offset(region: Region, matrix: bool) -> Expr:
    """Elements before a region of l1 or l0, which keep matrices as columns of fractals."""
    rows, columns = stored(region)
    *slots, row, column = (s.offset for s in region.dims)
    offset: Expr = Const(0)
    for place, size in zip(slots, region.buffer.shape[:-2], strict=True):
        offset = offset * size + place
    offset = offset * (rows * columns)
    if matrix:
        return offset
    width = 16 if region.memory is Memory.L0C else k0_elements(region.dtype)
    return offset + column // width * (rows * width) + row * width


def stored(region: Region) -> tuple[int, int]:
    _, (rows, columns) = matrix_shape(region.buffer)
    return matrix_footprint(region.memory, region.dtype, rows, columns)


def number(expr: Expr) -> int:
    found = constant_value(expr)
    if found is None:
        raise NotAssembled(f"run-time size {expr}")
    return found


def elements(region: Region) -> int:
    total = 1
    for e in region.extents:
        total *= number(e)
    return total


# Operations -------------------------------------------------------------------------------------


def _flag(a: _Assembler, op: Op) -> None:
    pipes = (PIPES[op.attr("src_pipe")], PIPES[op.attr("dst_pipe")])
    a.emit(op.opdef.name, *pipes, a.value(_expr(op, "event_id")))


def _pipe_barrier(a: _Assembler, op: Op) -> None:
    if op.attr("pipe") == "all":
        a.emit("barrier_all")
    else:
        a.emit("pipe_barrier", PIPES[op.attr("pipe")])


def _set_cross_flag(a: _Assembler, op: Op) -> None:
    flag = a.value(_expr(op, "flag"))
    a.emit("set_cross_flag", op.attr("mode"), PIPES[op.attr("pipe")], flag)


def _wait_cross_flag(a: _Assembler, op: Op) -> None:
    a.emit("wait_cross_flag", a.value(_expr(op, "flag")))


def _drop_cache(a: _Assembler, op: Op) -> None:
    if op.attrs != ("entire_data_cache", "cacheline_out"):
        raise NotAssembled(f"cache {op.attrs}")
    dst = op.region("dst")
    a.emit("drop_cache", TYPES[dst.dtype], *a.gm(dst))


def _adding(copy: Callable[[_Assembler, Op], None]) -> Callable[[_Assembler, Op], None]:
    """The copy with sums in gm, which are of float."""

    def emit(a: _Assembler, op: Op) -> None:
        if op.region("dst").dtype is not FLOAT32:
            raise NotAssembled(f"sums of {op.region('dst').dtype}")
        a.emit("add_to_gm")
        copy(a, op)
        a.emit("overwrite_gm")

    return emit


def _expr(op: Op, name: str) -> Expr:
    found = op.operand(name)
    assert isinstance(found, Expr), f"{name} is a scalar"
    return found


def _transfer(op: Op) -> tuple[Region, Region, list[int]]:
    """Both regions; rows, columns, pitch of src, pitch of dst."""
    src, dst = op.region("src"), op.region("dst")
    views = transfer_rows(src, dst)
    assert views is not None, "the verifier has checked the rows"
    a, b = views
    return src, dst, [number(e) for e in (b.rows, b.columns, a.pitch, b.pitch)]


def _copy_gm_ub(a: _Assembler, op: Op) -> None:
    src, dst, sizes = _transfer(op)
    a.emit("copy_gm_ub", TYPES[dst.dtype], *a.tensor(dst), *a.gm(src), *sizes)


def _copy_ub_gm(a: _Assembler, op: Op) -> None:
    src, dst, (rows, columns, src_pitch, dst_pitch) = _transfer(op)
    sizes = (rows, columns, dst_pitch, src_pitch)
    a.emit("copy_ub_gm", TYPES[src.dtype], *a.gm(dst), *a.tensor(src), *sizes)


def _copy_gm_l1(a: _Assembler, op: Op) -> None:
    src, dst, (rows, columns, src_pitch, _) = _transfer(op)
    a.emit("copy_gm_l1", *a.tensor(dst), *a.gm(src), rows, columns, src_pitch, stored(dst)[0])


def _copy_l0c_gm(a: _Assembler, op: Op) -> None:
    src, dst, (rows, columns, _, dst_pitch) = _transfer(op)
    if dst.dtype is not FLOAT32:
        raise NotAssembled(f"fixpipe to {dst.dtype}")
    relu = not op.opdef.atomic and op.attr("enable_relu")
    units = 3 if op.opdef.unit_flags else 0
    sizes = (rows, columns, dst_pitch, stored(src)[0], int(relu), units)
    a.emit("copy_l0c_gm", *a.gm(dst), *a.tensor(src), *sizes)


def _copy_l1_l0(a: _Assembler, op: Op) -> None:
    src, dst = op.region("src"), op.region("dst")
    row, column = (a.value(s.offset) for s in src.dims[-2:])
    sizes = [number(e) for e in dst.extents[-2:]]
    a.emit(
        "copy_l1_l0", int(dst.memory is Memory.L0B), *a.tensor(dst, True), *a.tensor(src, True),
        *stored(src), row, column, *sizes, int(op.attr("transpose")),
    )  # fmt: skip


def _clear_l1(a: _Assembler, op: Op) -> None:
    dst = op.region("dst")
    rows, columns = stored(dst)
    a.emit("clear_l1", *a.tensor(dst, True), rows * columns * dst.dtype.size)


def _zero_l0(a: _Assembler, op: Op) -> None:
    dst = op.region("dst")
    rows, columns = stored(dst)
    size = rows * columns * dst.dtype.size
    a.emit("zero_l0", int(dst.memory is Memory.L0B), *a.tensor(dst, True), size)


def _mma(a: _Assembler, op: Op) -> None:
    left, right, c = op.region("A"), op.region("B"), op.region("C")
    init = a.value(_expr(op, "init"))
    m, n = (number(e) for e in c.extents[-2:])
    k = number(left.extents[-1])
    units = a.value(select(_expr(op, "last"), 3, 2)) if op.opdef.unit_flags else a.constant(0)
    tensors = (*a.tensor(c, True), *a.tensor(left, True), *a.tensor(right, True))
    a.emit("mma", *tensors, m, n, k, init, units)


def _copy_ub_ub(a: _Assembler, op: Op) -> None:
    src, dst = op.region("src"), op.region("dst")
    a.emit("copy_ub_ub", TYPES[dst.dtype], *a.tensor(dst), *a.tensor(src), elements(dst))


def _binary(a: _Assembler, op: Op) -> None:
    names = [o.name for o in op.opdef.operands]
    dst, left = op.region("dst"), op.region(names[1])
    how, kind, count = OPERATORS[VECTOR_OPERATORS[op.opdef.name]], TYPES[dst.dtype], elements(dst)
    right = op.operand(names[2])
    if isinstance(right, Region):
        a.emit("binary", how, kind, *a.tensor(dst), *a.tensor(left), *a.tensor(right), count)
    else:
        assert isinstance(right, Expr), "a region or a scalar"
        scalar = a.value(right, dst.dtype)
        a.emit("with_scalar", how, kind, *a.tensor(dst), *a.tensor(left), scalar, count)


def _unary(a: _Assembler, op: Op) -> None:
    dst = op.region("dst")
    how = OPERATORS[VECTOR_OPERATORS[op.opdef.name]]
    places = (*a.tensor(dst), *a.tensor(op.region("src")))
    a.emit("unary", how, TYPES[dst.dtype], *places, elements(dst))


def _fill(a: _Assembler, op: Op) -> None:
    dst = op.region("dst")
    value = a.value(_expr(op, "value"), dst.dtype)
    a.emit("fill", TYPES[dst.dtype], *a.tensor(dst), value, elements(dst))


def _cast(a: _Assembler, op: Op) -> None:
    src, dst = op.region("src"), op.region("dst")
    places = (*a.tensor(dst), *a.tensor(src))
    kinds = (TYPES[dst.dtype], TYPES[src.dtype])
    a.emit("cast", *kinds, *places, ROUNDING[op.attr("mode")], elements(dst))


def _scratch(a: _Assembler, op: Op) -> list[int]:
    found = op.operand("scratch")
    return a.tensor(found) if isinstance(found, Region) else [0, 0, a.constant(0)]


def _matrix(region: Region) -> list[int]:
    """Rows, columns and pitch of the last two dimensions."""
    columns, pitch = number(region.extents[-1]), number(region.buffer.shape[-1])
    return [number(region.extents[-2]) if len(region.dims) > 1 else 1, columns, pitch]


def _reduce(a: _Assembler, op: Op) -> None:
    src, dst = op.region("src"), op.region("dst")
    how = OPERATORS[VECTOR_OPERATORS[op.opdef.name]]
    a.emit(
        "reduce", how, reduced_axis(op), int(op.attr("clear")), *a.tensor(dst), *a.tensor(src),
        *_scratch(a, op), kept_results(op), *_matrix(src), elements(dst),
    )  # fmt: skip


def _broadcast(a: _Assembler, op: Op) -> None:
    src, dst = op.region("src"), op.region("dst")
    places = (*a.tensor(dst), *a.tensor(src), *_scratch(a, op))
    a.emit("broadcast", TYPES[dst.dtype], broadcast_axis(op), *places, *_matrix(dst))


OPERATIONS = {
    "set_flag": _flag,
    "wait_flag": _flag,
    "pipe_barrier": _pipe_barrier,
    "barrier_all": lambda a, op: a.emit("barrier_all"),
    "set_cross_flag": _set_cross_flag,
    "wait_cross_flag": _wait_cross_flag,
    "datacachecleanandinvalid_experiment": _drop_cache,
    "atomic_ub_gm": _adding(_copy_ub_gm),
    "atomic_l0c_gm": _adding(_copy_l0c_gm),
    "copy_gm_ub": _copy_gm_ub,
    "copy_ub_gm": _copy_ub_gm,
    "copy_ub_ub": _copy_ub_ub,
    "copy_gm_l1": _copy_gm_l1,
    "copy_l1_l0a": _copy_l1_l0,
    "copy_l1_l0b": _copy_l1_l0,
    "copy_l0c_gm": _copy_l0c_gm,
    "clear_l1": _clear_l1,
    "zero_l0": _zero_l0,
    "mma": _mma,
    "mma_unit": _mma,
    "copy_l0c_gm_unit": _copy_l0c_gm,
    "fill": _fill,
    "cast": _cast,
    "broadcast": _broadcast,
    **dict.fromkeys(("add", "sub", "mul", "max", "min", "axpy", "mul_add_dst"), _binary),
    **dict.fromkeys(("abs", "relu"), _unary),
    **dict.fromkeys(("reduce_max", "reduce_min", "reduce_sum"), _reduce),
}


def assemble(func: Func, numbers: dict[Stmt, int]) -> Program:
    """The program of a function whose statements have the given numbers."""
    assembler = _Assembler(func)
    for section in func.launch.body:
        assert isinstance(section, Section), "final IR has sections only"
        assembler.starts[section.core] = len(assembler.code)
        assembler.line = 0
        launch = func.launch
        assembler.emit("place", assembler.place(launch.block), assembler.place(launch.lane))
        for alloc in func.launch.allocs:
            if alloc.buffer.memory is Memory.VAR:
                zero = assembler.constant(0)
                assembler.emit("move", assembler.place(alloc.buffer), zero)
        assembler.body(section.body, numbers)
        assembler.emit("halt")
    return _finished(assembler)


def _finished(a: _Assembler) -> Program:
    """Constants get the first registers; everything else moves up behind them."""
    first = len(a.constants)
    if a.count + first >= REGISTERS:
        raise NotAssembled("too many registers")
    code = list(a.code)
    at = 0
    while at < len(code):
        for place in _REGISTERS[code[at]]:
            word = code[at + 2 + place]
            code[at + 2 + place] = -1 - word if word < 0 else word + first
        at += 2 + WORDS[code[at]]
    scalars = [p.dtype for p in a.func.params if isinstance(p, Var)]
    blocks = number(a.func.launch.blocks)
    return Program(code, a.starts, list(a.constants), scalars, blocks)
