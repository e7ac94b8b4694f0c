"""IR written shortly. Every statement has a line of its own."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tile_ir import (
    DEFAULT_TARGET,
    OPS,
    Alloc,
    Break,
    Buffer,
    DType,
    For,
    If,
    Let,
    Loc,
    LoopKind,
    Memory,
    Op,
    Region,
    Slice,
    Store,
    While,
    check_op,
)
from tile_ir.expr import Const, Expr, Var
from tile_ir.nodes import AttrValue, Body, Operand

ZERO = Const(0)


class Illegal(Exception):
    """The table of operations does not allow what was drawn; something else is drawn then."""


@dataclass(eq=False)
class Writer:
    """A kernel while it is written."""

    rng: random.Random
    allocs: list[Alloc] = field(default_factory=list)
    lines: int = 0
    names: dict[str, int] = field(default_factory=dict)

    def loc(self) -> Loc:
        self.lines += 1
        return Loc("fuzz.py", self.lines, 1)

    def name(self, stem: str) -> str:
        self.names[stem] = self.names.get(stem, -1) + 1
        return f"{stem}{self.names[stem]}"

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def alloc(
        self,
        memory: Memory,
        dtype: DType,
        shape: tuple[int, ...],
        *,
        scratch: bool = False,
        alias_of: Buffer | None = None,
    ) -> Buffer:
        buffer = tensor(self.name(memory.value + "_"), memory, dtype, shape, self.loc())
        self.allocs.append(Alloc(buffer, buffer.loc, scratch=scratch, alias_of=alias_of))
        return buffer

    def op(self, name: str, *operands: Operand, attrs: tuple[AttrValue, ...] = ()) -> Op:
        opdef = OPS[name]
        missing = (None,) * (len(opdef.operands) - len(operands))
        op = Op(opdef, (*operands, *missing), attrs, self.loc())
        hidden = [i for i, o in enumerate(opdef.operands) if o.name == "scratch"]
        needed = opdef.scratch(op) if hidden else ()
        if needed:
            (part,) = needed
            scratch = self.alloc(part.memory, part.dtype, (part.elements,), scratch=True)
            given = list(op.operands)
            given[hidden[0]] = Region.whole(scratch)
            op = Op(opdef, tuple(given), attrs, op.loc)
        problem = check_op(op, DEFAULT_TARGET)
        if problem is not None:
            raise Illegal(problem.message)
        return op

    def let(self, value: Expr) -> Let:
        return Let(Var(self.name("v"), value.dtype), value, self.loc())

    def store(self, buffer: Buffer, indices: tuple[Expr, ...], value: Expr) -> Store:
        return Store(buffer, indices, value, self.loc())

    def loop(self, var: Var, stop: Expr, body: Body, start: Expr = ZERO) -> For:
        kind = LoopKind.UNROLL if self.chance(0.05) else LoopKind.SERIAL
        return For(var, start, stop, kind, body, self.loc())

    def while_(self, condition: Expr, body: Body) -> While:
        return While(condition, body, self.loc())

    def if_(self, condition: Expr, then: Body, orelse: Body = ()) -> If:
        return If(condition, then, orelse, self.loc())

    def break_(self) -> Break:
        return Break(self.loc())


def tensor(name: str, memory: Memory, dtype: DType, shape: tuple[int, ...], loc: Loc) -> Buffer:
    return Buffer(name, memory, dtype, tuple(Const(d) for d in shape), loc)


def box(buffer: Buffer, *places: tuple[Expr | int, int]) -> Region:
    """The region with an offset and a fixed extent for each dimension."""
    dims = (Slice(o if isinstance(o, Expr) else Const(o), Const(n)) for o, n in places)
    return Region(buffer, tuple(dims))
