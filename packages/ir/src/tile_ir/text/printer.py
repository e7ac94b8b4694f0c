"""Functions as text. `parse` reads it back; everything a later pass needs is printed."""

from __future__ import annotations

import json
import math

from tile_ir.dtypes import BOOL, FLOAT32, INT32
from tile_ir.expr import BINARY_FUNCTIONS, Binary, Cast, Const, Expr, Load, Select, Unary, Var
from tile_ir.location import Loc
from tile_ir.nodes import (
    Alloc,
    AttrValue,
    Automatic,
    Body,
    Break,
    Buffer,
    For,
    Func,
    If,
    Let,
    Op,
    Operand,
    Region,
    Section,
    Stmt,
    Store,
    TaskKernel,
    While,
    text_of,
)

# Binding strength per operator, weakest first; the grammar has the same ladder.
_LADDER = (
    ("or",),
    ("and",),
    ("not",),
    ("<", "<=", ">", ">=", "==", "!="),
    ("|",),
    ("^",),
    ("&",),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "//", "%"),
)
PRECEDENCE = {op: level for level, ops in enumerate(_LADDER) for op in ops}
_COMPARISON = PRECEDENCE["<"]
_UNARY = len(_LADDER)
_ATOM = _UNARY + 1


@text_of.register(Func)
def print_func(func: Func) -> str:
    """The function in the textual form of docs/internals/index.md#the-ir."""
    return _Printer(func).text()


def print_expr(expr: Expr) -> str:
    """A scalar expression in the textual form."""
    return _expr(expr, 0)


def print_region(region: Region) -> str:
    """`$name` for a whole buffer, else `$name[offset:+extent, …]`."""
    name = f"${region.buffer.name}"
    if region.is_whole():
        return name
    slices = (
        f"{_expr(s.offset, 0)}:+{_expr(s.extent, 0)}" + (f" step {s.stride}" * (s.stride != 1))
        for s in region.dims
    )
    return f"{name}[{', '.join(slices)}]"


def _constant(const: Const) -> str:
    value = const.value
    if const.dtype is BOOL:
        return "true" if value else "false"
    if isinstance(value, float):
        text = repr(abs(value)) if math.isfinite(value) else "nan" if value != value else "inf"
        text = "-" * (math.copysign(1.0, value) < 0 and value == value) + text
        return text if const.dtype is FLOAT32 and math.isfinite(value) else f"{text}:{const.dtype}"
    return str(value) if const.dtype is INT32 else f"{value}:{const.dtype}"


def _expr(expr: Expr, context: int) -> str:
    """The expression, in parentheses when it binds weaker than its context demands."""
    text, strength = _spell(expr)
    return f"({text})" if strength < context else text


def _spell(expr: Expr) -> tuple[str, int]:
    match expr:
        case Const():
            text = _constant(expr)
            return text, _UNARY if text.startswith("-") else _ATOM
        case Var(name=name):
            return f"%{name}", _ATOM
        case Binary(op=op, left=a, right=b) if op in BINARY_FUNCTIONS:
            return f"{op}({_expr(a, 0)}, {_expr(b, 0)})", _ATOM
        case Binary(op=op, left=a, right=b):
            level = PRECEDENCE[op]
            left = level + 1 if level == _COMPARISON else level
            return f"{_expr(a, left)} {op} {_expr(b, level + 1)}", level
        case Unary(op="not", operand=a):
            return f"not {_expr(a, PRECEDENCE['not'])}", PRECEDENCE["not"]
        case Unary(op="-" | "~" as op, operand=a):
            # A negated number would read back as a negative constant.
            inner = f"({_spell(a)[0]})" if isinstance(a, Const) else _expr(a, _UNARY)
            return f"{op}{inner}", _UNARY
        case Unary(op=op, operand=a):
            return f"{op}({_expr(a, 0)})", _ATOM
        case Select(condition=c, then=a, orelse=b):
            return f"select({_expr(c, 0)}, {_expr(a, 0)}, {_expr(b, 0)})", _ATOM
        case Cast(operand=a, dtype=dtype, bits=bits):
            return f"{'bits' if bits else 'cast'}<{dtype}>({_expr(a, 0)})", _ATOM
        case Load(buffer=buffer, indices=indices):
            return f"${buffer.name}[{', '.join(_expr(i, 0) for i in indices)}]", _ATOM
    raise AssertionError(f"no spelling for {type(expr).__name__}")


def _attribute(value: AttrValue) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "none"
        case str():
            return json.dumps(value)
        case float():
            return repr(value)
    return str(value)


class _Printer:
    """Lines of one function; files are numbered in order of appearance."""

    def __init__(self, func: Func) -> None:
        self.func = func
        self.files: dict[str, int] = {}
        self.lines: list[str] = []

    def text(self) -> str:
        func, launch = self.func, self.func.launch
        self.line(
            0,
            f"func {json.dumps(func.name)} phase {func.phase.name.lower()}"
            f"{_automatic(func.automatic)} {self.at(func.loc)} {{",
        )
        for param in func.params:
            if isinstance(param, Buffer):
                shape = _shape(param)
                self.line(1, f"tensor ${param.name}: {param.dtype} {shape} {self.at(param.loc)}")
            else:
                self.line(1, f"scalar %{param.name}: {param.dtype}")
        self.line(
            1,
            f"launch blocks({_expr(launch.blocks, 0)}) %{launch.block.name} %{launch.lane.name} "
            f"threads {_threads(launch.threads)} {self.at(launch.loc)} {{",
        )
        for alloc in launch.allocs:
            self.line(2, self.alloc(alloc))
        self.body(2, launch.body)
        self.line(1, "}")
        self.line(0, "}")
        files = [f"file {number} {json.dumps(name)}" for name, number in self.files.items()]
        return "\n".join(files + self.lines) + "\n"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    def at(self, loc: Loc) -> str:
        number = self.files.setdefault(loc.file, len(self.files))
        return f"@{number}:{loc.line}:{loc.column}{' generated' if loc.generated else ''}"

    def alloc(self, alloc: Alloc) -> str:
        b = alloc.buffer
        text = f"alloc ${b.name}: {b.memory.value} {b.dtype} {_shape(b)}"
        if alloc.address is not None:
            text += f" address {alloc.address}"
        if alloc.layout is not None:
            text += f" layout {alloc.layout.value}"
        if alloc.scratch:
            text += " scratch"
        if alloc.alias_of is not None:
            text += f" alias ${alloc.alias_of.name}"
        place = f" {self.at(alloc.loc)}"
        return text + place

    def body(self, depth: int, body: Body) -> None:
        for stmt in body:
            self.stmt(depth, stmt)

    def block(self, depth: int, head: str, body: Body) -> None:
        self.line(depth, head + " {")
        self.body(depth + 1, body)
        self.line(depth, "}")

    def stmt(self, depth: int, stmt: Stmt) -> None:
        at = self.at(stmt.loc)
        match stmt:
            case Let(var=var, value=value):
                self.line(depth, f"let %{var.name}: {var.dtype} = {_expr(value, 0)} {at}")
            case For(var=v, start=a, stop=b, kind=kind, stages=stages, given=given, task=task):
                staged = f" stages {stages}" if stages else ""
                if given:
                    said = (f"{self.at(g.loc)} {g.order} {g.stage}" for g in given)
                    staged += f" given ({', '.join(said)})"
                if task is not None:
                    staged += _task(task)
                head = f"for %{v.name}: {v.dtype} in {kind.value}({_expr(a, 0)}, {_expr(b, 0)})"
                self.block(depth, f"{head}{staged} {at}", stmt.body)
            case While(condition=c):
                self.block(depth, f"while {_expr(c, 0)} {at}", stmt.body)
            case If(condition=c, unlikely=unlikely):
                self.line(depth, f"if {_expr(c, 0)} {'unlikely ' if unlikely else ''}{at} {{")
                self.body(depth + 1, stmt.then)
                if stmt.orelse:
                    self.line(depth, "} else {")
                    self.body(depth + 1, stmt.orelse)
                self.line(depth, "}")
            case Section(core=core):
                self.block(depth, f"section {core.value} {at}", stmt.body)
            case Store(buffer=b, indices=indices, value=value):
                places = ", ".join(_expr(i, 0) for i in indices)
                self.line(depth, f"store ${b.name}[{places}] = {_expr(value, 0)} {at}")
            case Break():
                self.line(depth, f"break {at}")
            case Op():
                self.line(depth, f"{self.op(stmt)} {at}")

    def op(self, op: Op) -> str:
        operands = ", ".join(_operand(o) for o in op.operands)
        pairs = zip(op.opdef.attrs, op.attrs, strict=True)
        attrs = ", ".join(f"{a.name}={_attribute(v)}" for a, v in pairs)
        return f"{op.opdef.name}({operands})" + (f" {{{attrs}}}" if attrs else "")


def _threads(count: int | None) -> str:
    return "any" if count is None else str(count)


def _task(task: TaskKernel) -> str:
    after = f" after ({', '.join(map(json.dumps, task.after))})" if task.after else ""
    ahead = " ahead" if task.ahead else ""
    said = f" task {json.dumps(task.name)} threads {_threads(task.threads)}"
    return f"{said}{after}{ahead}{_automatic(task.automatic)}"


def _automatic(left: frozenset[Automatic]) -> str:
    words = sorted(a.value for a in left)
    return "".join(f" {w}" for w in ("automatic", *words)) if words else ""


def _shape(buffer: Buffer) -> str:
    return f"[{', '.join(_expr(d, 0) for d in buffer.shape)}]"


def _operand(operand: Operand) -> str:
    if operand is None:
        return "none"
    return print_region(operand) if isinstance(operand, Region) else _expr(operand, 0)
