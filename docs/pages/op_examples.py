"""One line of a real kernel for each operation, made from its golden: the kernel of the golden is
written as a script would, traced, compared with the golden, and compiled."""

from __future__ import annotations

import re
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import tile_ir
from pages.markdown import ROOT
from pages.signatures import needs_count, parameters
from tile_codegen_ascendc import emit
from tile_ir import (
    DEFAULT_TARGET,
    Buffer,
    Func,
    KernelError,
    Op,
    OpDef,
    Region,
    Section,
    call_arguments,
)
from tile_ir.expr import Const, Expr, Load, Var, constant_value
from tile_ir.layout.geometry import element_count
from tile_ir.ranks import RANK, RANKS, inside_instance, is_symmetric, rank_of
from tile_ir.text.printer import print_expr
from tile_ir.traversal import loads
from tile_passes import PassOptions, run_pipeline
from tile_runtime.tools.command_line.ops import language_name

GOLDENS = ROOT / "tests" / "codegen" / "ops"
SEPARATOR = "# ---- expected\n"
DECLARES = "const AscendC::LocalTensor<"
LETTER = {tile_ir.Core.CUBE: "C", tile_ir.Core.VECTOR: "V"}

# An example alone reads buffers that nothing has written.
FRAGMENT = PassOptions(skip=("check_written",))


class FalseExample(Exception):
    """What is written does not mean what the golden says."""


@dataclass(frozen=True)
class Example:
    """Lines of a script, the buffers they name, and what the first one becomes. `refused` is the
    slug of the error if no pass takes it."""

    lines: tuple[str, ...]
    operands: tuple[str, ...]
    becomes: tuple[str, ...]
    refused: str = ""


@cache
def op_example(opdef: OpDef) -> Example:
    """The lines of the golden with the operation, each in a kernel of its own. A line that a
    script cannot write, as what only passes make of it, is left out."""
    path = GOLDENS / f"{opdef.name}.tir"
    before, _, expected = path.read_text().partition(SEPARATOR)
    func = tile_ir.parse(before, str(path))
    found = [
        (line, op, traced)
        for op in _ops(func.launch.body)
        if op.opdef is opdef
        for line, traced in [_written(func, op)]
        if line
    ]
    if not found:
        raise FalseExample(f"{path.name}: no line of it comes back from a script")
    lines = tuple(dict.fromkeys(line for line, _, _ in found))
    buffers = dict.fromkeys(o.buffer for _, op, _ in found for o in op.operands if _is_region(o))
    names = tuple(_declared(b) for b in buffers)
    sources = []
    for _, _, traced in found:
        try:
            sources.append(
                emit(run_pipeline(traced, DEFAULT_TARGET, FRAGMENT).func, DEFAULT_TARGET)
            )
        except KernelError as error:
            return Example(lines, names, (), error.slug)
    place = next(o for o in _ops(found[0][2].launch.body) if o.opdef is opdef).loc
    # A barrier that orders nothing is dropped; then the golden shows it among other statements.
    becomes = statements(sources[0], place.line) or statements(expected, found[0][1].loc.line)
    if not becomes:
        raise FalseExample(f"{path.name}: nothing is emitted for `{lines[0]}`")
    return Example(lines, names, tuple(becomes))


def _is_region(operand: Any) -> bool:
    return isinstance(operand, Region)


def _written(func: Func, op: Op) -> tuple[str, Func]:
    """The line of a script with one operation of a kernel, and the kernel traced from it; an empty
    line if another kernel comes of it."""
    alone = _with_only(func, op)
    try:
        text = script(alone)
        traced = trace(text)
    except (FalseExample, KernelError):
        return "", func
    if without_places(alone) != without_places(replace(traced, automatic=alone.automatic)):
        return "", func
    place = next(o for o in _ops(traced.launch.body) if o.opdef is op.opdef).loc
    return text.splitlines()[place.line - 1].strip(), traced


def _with_only(func: Func, op: Op) -> Func:
    """The kernel with one of its operations, and the buffers of that."""
    used = {o.buffer for o in op.operands if isinstance(o, Region)}
    used |= {load.buffer for load in loads(op)}

    def kept(body: Any) -> tuple[Any, ...]:
        return tuple(
            replace(s, body=kept(s.body)) if isinstance(s, Section) else s
            for s in body
            if s is op or (isinstance(s, Section) and op in tuple(_ops(s.body)))
        )

    launch = func.launch
    allocs = tuple(a for a in launch.allocs if a.buffer in used)
    launch = replace(launch, allocs=allocs, body=kept(launch.body))
    return replace(func, params=tuple(p for p in func.params if p in used), launch=launch)


def statements(source: str, line: int) -> list[str]:
    """The C++ that carries a line of the script, with the ends of its blocks, and without what
    declares buffers."""
    kept: list[str] = []
    depth = 0
    for text in source.splitlines():
        code, _, place = text.rpartition("  // ")
        if not place.endswith(f"kernel.py:{line}") and not depth:
            continue
        code = code or text
        if not code.strip().startswith(DECLARES):
            kept.append(code)
            depth += code.count("{") - code.count("}")
    return textwrap.dedent("\n".join(kept)).splitlines()


def _ops(body: Any) -> Iterator[Op]:
    for stmt in body:
        if isinstance(stmt, Op):
            yield stmt
        elif isinstance(stmt, Section):
            yield from _ops(stmt.body)


def without_places(func: Func) -> str:
    """The text of a kernel, without where it stands."""
    text = re.sub(r" @\d+:\d+:\d+", "", tile_ir.print_func(func))
    return "\n".join(line for line in text.splitlines() if not line.startswith("file "))


def trace(text: str) -> Func:
    """The only kernel of a script, traced."""
    with tempfile.TemporaryDirectory(prefix="docs-") as folder:
        path = Path(folder) / "kernel.py"
        path.write_text(text)
        names: dict[str, Any] = {"__name__": "kernel"}
        exec(compile(text, str(path), "exec"), names)
        return next(v for v in names.values() if isinstance(v, Func))


# A kernel of the IR as a script ------------------------------------------------------------------


def script(func: Func) -> str:
    """A kernel of tensors, allocations, sections and operations as a person writes it."""
    symbols = dict.fromkeys(
        dim.name
        for p in func.params
        if isinstance(p, Buffer)
        for dim in p.shape
        if isinstance(dim, Var) and dim != RANKS
    )
    parameters = [f"{p.name}: T.{_kind(p)}({_shape(p)}, {str(p.dtype)!r})" for p in func.params]
    launch = func.launch
    lines = ["import tile_frontend as T", ""]
    lines += [f'{name} = T.symbolic("{name}")' for name in symbols]
    lines += ["", "@T.prim_func", f"def {func.name}({', '.join(parameters)}):"]
    indices = f"({launch.block.name}, {launch.lane.name})"
    lines.append(f"    with T.Kernel({_expression(launch.blocks)}) as {indices}:")
    lines += [
        f"        {a.buffer.name} = T.{ALLOCATOR[a.buffer.memory]}({_shape(a.buffer)}, "
        f"{str(a.buffer.dtype)!r})"
        for a in launch.allocs
    ]
    lines += _body(launch.body, 2)
    return "\n".join(lines).replace("'", '"') + "\n"


ALLOCATOR = {
    tile_ir.Memory.UB: "alloc_ub",
    tile_ir.Memory.L1: "alloc_L1",
    tile_ir.Memory.L0A: "alloc_L0A",
    tile_ir.Memory.L0B: "alloc_L0B",
    tile_ir.Memory.L0C: "alloc_L0C",
    tile_ir.Memory.BT: "alloc_BT",
    tile_ir.Memory.SHARED: "alloc_shared",
    tile_ir.Memory.FRAGMENT: "alloc_fragment",
}


def _kind(tensor: Any) -> str:
    return "SymmTensor" if is_symmetric(tensor) else "Tensor"


def _shape(buffer: Buffer) -> str:
    shape = buffer.shape[1:] if is_symmetric(buffer) else buffer.shape
    sizes = [_expression(d) for d in shape]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


def _declared(buffer: Buffer) -> str:
    return f"{buffer.name}: {buffer.memory.value} {buffer.dtype} {_shape(buffer)}"


def _body(body: Any, depth: int) -> Iterator[str]:
    for stmt in body:
        match stmt:
            case Section(core=core):
                yield "    " * depth + f'with T.Scope("{LETTER[core]}"):'
                yield from _body(stmt.body, depth + 1)
            case Op():
                yield "    " * depth + call(stmt)
            case _:
                raise FalseExample(f"no words for {type(stmt).__name__}")


def call(op: Op) -> str:
    """An operation as a script writes it; arguments that have their default are left out."""
    given = arguments(op)
    words = []
    for parameter in parameters(op.opdef):
        if parameter.many:
            words += [_argument(v) for v in given.get(parameter.name, ())]
        elif parameter.required:
            words.append(_argument(given[parameter.name]))
        elif not _same(given.get(parameter.name), parameter.default) and parameter.name in given:
            words.append(f"{parameter.name}={_argument(given[parameter.name])}")
    return f"{language_name(op.opdef)}({', '.join(words)})"


def arguments(op: Op) -> dict[str, Any]:
    """Values by the names the language gives them."""
    opdef = op.opdef
    values: dict[str, Any] = {}
    for i, definition in enumerate(opdef.operands):
        if definition.name not in opdef.hidden:
            rest = op.operands[i:] if definition.variadic else None
            values[definition.name] = rest if rest is not None else op.operands[i]
    values.update(zip((a.name for a in opdef.attrs), op.attrs, strict=True))
    if needs_count(opdef) and values["count"] is None:
        values["count"] = element_count(op.region("dst"))
    return {
        a.name: values[a.parts[0]] if len(a.parts) == 1 else [values[part] for part in a.parts]
        for a in call_arguments(opdef)
        if a.parts
    }


def _same(value: Any, default: Any) -> bool:
    number = constant_value(value) if isinstance(value, Expr) else value
    if isinstance(value, Expr) and number is None:
        return False
    return type(number) is type(default) and bool(number == default)


def _argument(value: Any) -> str:
    match value:
        case Region():
            return _region(value)
        case Expr():
            return _expression(value)
        case list():
            return f"[{', '.join(map(_argument, value))}]"
    return repr(value)


def _region(region: Region) -> str:
    if is_symmetric(region.buffer):
        if rank_of(region) != RANK:
            raise FalseExample("an argument of its own names another rank")
        region = inside_instance(region)
    if region.is_whole():
        return region.buffer.name
    parts = []
    for s, size in zip(region.dims, region.buffer.shape, strict=True):
        start = _expression(s.offset)
        if constant_value(s.offset) == 0 and s.extent == size:
            parts.append(":")
        elif constant_value(s.extent) == 1:
            parts.append(start)
        else:
            known = constant_value(s.offset), constant_value(s.extent)
            stop = (
                str(known[0] + known[1])
                if known[0] is not None and known[1] is not None
                else f"{start} + {_expression(s.extent)}"
            )
            parts.append(f"{start}:{stop}")
    return f"{region.buffer.name}[{', '.join(parts)}]"


def _expression(expr: Expr) -> str:
    """The text of the IR without its marks; the operators are Python's."""
    if isinstance(expr, Const):
        return repr(expr.value)
    if isinstance(expr, Load):
        return f"{expr.buffer.name}[{', '.join(_expression(i) for i in expr.indices)}]"
    return re.sub(r"[%$](?=\w)", "", print_expr(expr))
