"""Print the outline of a section as HIVM, the dialect that the vendor's open compiler plans memory
and order in.

Every instruction is a `hivm.hir.custom` on its pipe, with the buffers it reads and writes: what the
compiler's solvers look at is that alone. Elements that the scalar unit touches are `memref.load`
and `memref.store`. Numbers that only a call decides are parameters of the printed function.

There are two texts. `order_text` gives every operand the addresses of the kernel, for the solvers
of order. `memory_text` gives none, for the planner: there an operation on whole buffers has the
name that the dialect has for it, since the planner puts results of those in place of operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field

from tile_checkers.second_opinion.outline import (
    Outline,
    OutlineBranch,
    OutlineLoop,
    PipeWork,
    Spot,
    Unsayable,
    instructions,
)
from tile_ir import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    INT8,
    INT16,
    INT32,
    INT64,
    Alloc,
    Buffer,
    Core,
    DType,
    Func,
    Memory,
    Op,
    Pipe,
    Region,
    Var,
)
from tile_ir.layout.footprint import buffer_bytes
from tile_ir.quick_dataclasses import dataclass

SPACES = {
    Memory.GM: "gm",
    Memory.UB: "ub",
    Memory.L1: "cbuf",
    Memory.L0A: "ca",
    Memory.L0B: "cb",
    Memory.L0C: "cc",
}
# Those that the planner gives addresses in.
PLANNED = frozenset({Memory.UB, Memory.L1, Memory.L0C})
PIPES = {
    Pipe.S: "PIPE_S",
    Pipe.V: "PIPE_V",
    Pipe.M: "PIPE_M",
    Pipe.MTE1: "PIPE_MTE1",
    Pipe.MTE2: "PIPE_MTE2",
    Pipe.MTE3: "PIPE_MTE3",
    Pipe.FIX: "PIPE_FIX",
}
CORES = {Core.CUBE: ("AIC", "CUBE"), Core.VECTOR: ("AIV", "VECTOR")}
ELEMENTS = {FLOAT16: "f16", FLOAT32: "f32", BFLOAT16: "bf16", INT8: "i8", INT16: "i16",
            INT32: "i32", INT64: "i64"}  # fmt: skip
_NUMBERS = (FLOAT16, FLOAT32, INT16, INT32)
_FLOATS = (FLOAT16, FLOAT32)
# Operations element by element, sources first in HIVM: its name, and the types it takes.
NAMED: dict[str, tuple[str, tuple[DType, ...]]] = {
    "add": ("vadd", _NUMBERS), "sub": ("vsub", _NUMBERS), "mul": ("vmul", _NUMBERS),
    "max": ("vmax", _NUMBERS), "min": ("vmin", _NUMBERS), "div": ("vdiv", _FLOATS),
    "exp": ("vexp", _FLOATS), "ln": ("vln", _FLOATS), "abs": ("vabs", _FLOATS),
    "sqrt": ("vsqrt", _FLOATS), "rsqrt": ("vrsqrt", _FLOATS), "relu": ("vrelu", _FLOATS),
    "reciprocal": ("vrec", _FLOATS),
}  # fmt: skip

# Type and name of an operand, with the definition it needs.
Value = tuple[str, str]


def order_text(func: Func, core: Core, outline: Outline) -> str:
    """Return the section with the addresses of the kernel and without any order."""
    return _HivmWriter(core, _placed).function(func, outline)


def memory_text(func: Func, core: Core, outline: Outline) -> str:
    """Return the section with buffers that have no address, those in PLANNED memories only."""
    allocs = {a.buffer: a for a in func.launch.allocs}
    touched = {s.buffer for i in instructions(outline) for s in (*i.reads, *i.writes)}
    writer = _HivmWriter(core, _whole, allocs)
    for buffer in sorted(touched, key=lambda b: b.name):
        if buffer.memory in PLANNED:
            writer.head.append(f"{_name(buffer)} = memref.alloc() : {_alloc_type(allocs[buffer])}")
    return writer.function(func, outline)


def _name(value: Buffer | Var) -> str:
    return f"%{_spelled(value.name)}"


def _spelled(name: str) -> str:
    """A name of the kernel in letters that the dialect has. Those that the writer makes up begin
    with `$`, which is in no name of a kernel."""
    plain = (c if c.isascii() and (c.isalnum() or c == "_") else f"$u{ord(c):X}" for c in name)
    return "".join(plain)


def _space(memory: Memory) -> str:
    if memory not in SPACES:
        raise Unsayable(f"memory {memory.value}")
    return f"#hivm.address_space<{SPACES[memory]}>"


def _bytes_type(size: int | None, memory: Memory) -> str:
    return f"memref<{'?' if size is None else size}xi8, {_space(memory)}>"


def _alloc_type(alloc: Alloc) -> str:
    """All the bytes of a buffer in elements of its type, where the dialect has that."""
    size, dtype = buffer_bytes(alloc), alloc.buffer.dtype
    if dtype not in ELEMENTS:
        return _bytes_type(size, alloc.buffer.memory)
    return f"memref<{size // dtype.size}x{ELEMENTS[dtype]}, {_space(alloc.buffer.memory)}>"


def _placed(writer: _HivmWriter, spot: Spot) -> Value:
    """The bytes at their addresses, defined where these take turns."""
    kind = _bytes_type(spot.size, spot.buffer.memory)
    lines = writer.head if spot.loop is None else writer.turns[spot.loop]
    key = spot.addresses, kind, spot.loop
    if key not in writer.values:
        writer.values[key] = name = f"%$p{writer.defined}"
        writer.defined += 1
        at = ", ".join(writer.constant(a, "i64") for a in spot.addresses)
        lines.append(f"{name} = hivm.hir.pointer_cast({at}) : {kind}")
    return writer.values[key], kind


def _whole(writer: _HivmWriter, spot: Spot) -> Value:
    return _name(spot.buffer), _alloc_type(writer.allocs[spot.buffer])


@dataclass(slots=True)
class _HivmWriter:
    """Writes one function: its lines, and the definitions they need before them."""

    core: Core
    operand_of: Callable[[_HivmWriter, Spot], Value]
    allocs: dict[Buffer, Alloc] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    head: list[str] = field(default_factory=list)
    turns: dict[Var, list[str]] = field(default_factory=dict)
    values: dict[tuple[tuple[int, ...], str, Var | None], str] = field(default_factory=dict)
    loads: int = 0
    defined: int = 0

    def function(self, func: Func, outline: Outline) -> str:
        for tensor in func.tensors:
            self.parameters[_name(tensor)] = _bytes_type(None, Memory.GM)
        body = self.body(outline)
        kind = CORES[self.core][0]
        signature = ", ".join(f"{name}: {type}" for name, type in self.parameters.items())
        lines = [
            "module {",
            f"  func.func @{_spelled(func.name)}({signature}) attributes {{hacc.entry, "
            "hacc.function_kind = #hacc.function_kind<DEVICE>, "
            f"hivm.func_core_type = #hivm.func_core_type<{kind}>}} {{",
            *(f"    {line}" for line in (*self.constants.values(), *self.head, *body, "return")),
            "  }",
            "}",
        ]
        return "\n".join(lines) + "\n"

    def constant(self, value: int, type: str) -> str:
        name = f"%$c{value}_{type}".replace("-", "m")
        self.constants.setdefault(name, f"{name} = arith.constant {value} : {type}")
        return name

    def parameter(self, type: str) -> str:
        name = f"%$n{len(self.parameters)}"
        self.parameters[name] = type
        return name

    def body(self, outline: Outline) -> list[str]:
        lines: list[str] = []
        for step in outline:
            match step:
                case PipeWork():
                    lines += self.instruction(step)
                case OutlineLoop():
                    lines += self.loop(step)
                case OutlineBranch(then=then, orelse=orelse):
                    lines += self.branch(then, orelse)
        return lines

    def loop(self, loop: OutlineLoop) -> list[str]:
        if loop.var is None:
            condition = [line for i in loop.condition for line in self.instruction(i)]
            again = self.parameter("i1")
            return [
                "scf.while : () -> () {",
                *_indented((*condition, f"scf.condition({again})")),
                "} do {",
                *_indented((*self.body(loop.body), "scf.yield")),
                "}",
            ]
        turns: list[str] = []
        self.turns[loop.var] = turns
        inside = self.body(loop.body)
        del self.turns[loop.var]
        # Another loop may have a variable of this name.
        self.values = {key: name for key, name in self.values.items() if key[-1] != loop.var}
        start, stop = (
            self.parameter("index") if bound is None else self.constant(bound, "index")
            for bound in (loop.start, loop.stop)
        )
        var, step = _name(loop.var), self.constant(1, "index")
        return [
            f"scf.for {var} = {start} to {stop} step {step} {{",
            *_indented((*turns, *inside)),
            "}",
        ]

    def branch(self, then: Outline, orelse: Outline) -> list[str]:
        if not then and not orelse:
            return []
        condition = self.parameter("i1")
        lines = [f"scf.if {condition} {{", *_indented(self.body(then))]
        if orelse:
            lines += ["} else {", *_indented(self.body(orelse))]
        return [*lines, "}"]

    def instruction(self, step: PipeWork) -> list[str]:
        if step.op is None:
            return [line for spot in step.reads for line in self.element(spot, False)] + [
                line for spot in step.writes for line in self.element(spot, True)
            ]
        named = self.named(step.op) if self.operand_of is _whole else None
        if named is not None:
            return [named]
        attributes = (
            f"hivm.pipe = #hivm.pipe<{PIPES[step.pipe]}>, "
            f"hivm.tcore_type = #hivm.tcore_type<{CORES[self.core][1]}>, "
            f'hivm.vf_mode = #hivm.vf_mode<SIMD>, symbol = "{step.name}"'
        )
        reads = _operands("ins", self.operands(step.reads))
        writes = _operands("outs", self.operands(step.writes))
        return [f'hivm.hir.custom {{{attributes}}} "{step.name}"{reads}{writes}']

    def named(self, op: Op) -> str | None:
        """The operation by the dialect's own name, if all its operands are whole buffers of one
        size and type, the first of which it writes, or numbers."""
        name, types = NAMED.get(op.opdef.name, ("", ()))
        written, *sources = op.operands
        if not isinstance(written, Region) or written.dtype not in types:
            return None
        values = []
        for operand in (*sources, written):
            if isinstance(operand, Region):
                alloc = self.allocs.get(operand.buffer)
                if alloc is None or alloc.alias_of or operand != Region.whole(operand.buffer):
                    return None
                values.append((_name(operand.buffer), _alloc_type(alloc)))
            elif operand is not None:
                values.append((self.parameter(ELEMENTS[written.dtype]), ELEMENTS[written.dtype]))
        shaped = {kind for _, kind in values if kind.startswith("memref")}
        if len(shaped) != 1 or not values[0][1].startswith("memref"):
            return None
        return f"hivm.hir.{name}{_operands('ins', values[:-1])}{_operands('outs', values[-1:])}"

    def element(self, spot: Spot, stored: bool) -> list[str]:
        operands = self.operands((spot,))
        if not operands:
            return []
        [(name, kind)] = operands
        first = self.constant(0, "index")
        if not stored:
            self.loads += 1
            return [f"%$e{self.loads} = memref.load {name}[{first}] : {kind}"]
        element = kind.split("<")[1].split(",")[0].rpartition("x")[2]
        value = self.parameter(element)
        return [f"memref.store {value}, {name}[{first}] : {kind}"]

    def operands(self, spots: Iterable[Spot]) -> list[Value]:
        found: dict[str, str] = {}
        for spot in spots:
            if spot.buffer.memory is Memory.GM:
                name, kind = _name(spot.buffer), _bytes_type(None, Memory.GM)
                self.parameters.setdefault(name, kind)
            elif self.operand_of is _whole and spot.buffer.memory not in PLANNED:
                continue
            else:
                name, kind = self.operand_of(self, spot)
            found[name] = kind
        return list(found.items())


def _operands(word: str, values: list[Value]) -> str:
    if not values:
        return ""
    names, kinds = (", ".join(part) for part in zip(*values, strict=True))
    return f" {word}({names} : {kinds})"


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


__all__ = ["memory_text", "order_text"]
