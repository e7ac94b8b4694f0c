"""SYNCED IR to one Ascend C source file.

The kernel part has one block per kind of core; every operation carries the user's line as a
trailing comment, by which reports find it again. The host part is `call`
(docs/language/index.md#emitted-source).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tile_codegen_ascendc.cxx.expressions import Known, assigned, cxx_expr, gm_offset, linear_index
from tile_codegen_ascendc.cxx.names import GIVEN, HANDLE, STOP, cxx_name, without_entry_word
from tile_codegen_ascendc.cxx.tensors import tensor_on
from tile_codegen_ascendc.grid_barriers import grid_barrier
from tile_codegen_ascendc.templates import render_op, template
from tile_codegen_ascendc.windows import uncertain_windows
from tile_ir import (
    CORE_OF_MEMORY,
    INT8,
    Body,
    Break,
    Buffer,
    Core,
    DType,
    Effect,
    Expr,
    For,
    Func,
    If,
    IRError,
    KernelError,
    Let,
    Load,
    Loc,
    LoopKind,
    Memory,
    Op,
    Phase,
    Region,
    Section,
    Stmt,
    Store,
    Target,
    TileError,
    Var,
    While,
    buffer_bytes,
    buffers_of,
    variables_in,
    walk,
    walk_expr,
    walk_ops,
)
from tile_ir.analysis import Ranges, launch_ranges, ranges_inside, with_ranges
from tile_ir.ranks import NUMBERS_OF_RANKS, RANK, RANKS, instance, is_symmetric

# Those whose instructions the templates are.
AI_CORES = frozenset({"dav-c220"})
DEVICE_HEADER_DIR = Path(__file__).with_name("device")
INDENT = "  "


def emit(func: Func, target: Target) -> str:
    """The Ascend C source of a kernel.

    Raises IRError unless the function is SYNCED, and KernelError for other AI cores and for
    constructs that C++ lacks.
    """
    if target.ai_core not in AI_CORES:
        raise KernelError(
            "chip-not-emitted",
            f"Ascend C is emitted for AI cores of {', '.join(AI_CORES)}, but {target.name} has "
            f"those of {target.ai_core}",
            func.loc,
            "`tile-ascend check` says what is not available there; compile it for a chip of "
            "another family",
            sources=func.sources,
        )
    if func.phase is not Phase.SYNCED:
        raise IRError(
            "emit-phase",
            f"only SYNCED functions are emitted, this one is {func.phase.name}",
            func.loc,
            "run the whole pipeline first",
        )
    try:
        return _Emitter(func, target).text()
    except TileError as error:
        raise error.with_sources(func.sources) from None


def entry_source(func: Func) -> str:
    """A second translation unit through which a host process starts the kernel with an array of
    argument addresses: tensors as pointers, scalars by their type, symbols as int64."""
    types = [*(_host_type(p) for p in func.params), *("int64_t" for _ in func.symbols)]
    context = {
        "entry_declaration": ", ".join([*types, "void*"]),
        "entry_arguments": ", ".join(f"*static_cast<{t}*>(args[{i}])" for i, t in enumerate(types)),
    }
    return template("entry.cpp.jinja").render(func=context)


# Scalars cross the host boundary in the types every launcher has
# (docs/language/index.md#emitted-source); the kernel narrows them again.
_BOUNDARY_TYPES = {
    "int8": "int",
    "int16": "int",
    "int32": "int",
    "uint8": "int",
    "uint16": "int",
    "uint32": "int64_t",
    "uint64": "int64_t",
    "float16": "float",
    "bfloat16": "float",
}
_SAME = {("int", "int32_t")}


def _boundary_type(dtype: DType) -> str:
    return _BOUNDARY_TYPES.get(dtype.name, dtype.c_name)


def _host_type(param: Buffer | Var) -> str:
    return "uint8_t*" if isinstance(param, Buffer) else _boundary_type(param.dtype)


def _parameter_name(param: Buffer | Var) -> str:
    if isinstance(param, Buffer):
        return param.name + HANDLE
    given, wanted = _boundary_type(param.dtype), param.dtype.c_name
    narrowed = given != wanted and (given, wanted) not in _SAME
    return param.name + GIVEN if narrowed else cxx_name(param.name)


class _Emitter:
    def __init__(self, func: Func, target: Target) -> None:
        self.func = func
        self.target = target
        self.lines_of = {file: text.splitlines() for file, text in func.sources.items()}
        self.symbols = frozenset(func.symbols)
        self.sections = [s for s in func.launch.body if isinstance(s, Section)]
        self.used = {s: _names_used(s.body) for s in self.sections}

    def text(self) -> str:
        func = self.func
        names = [*map(_parameter_name, func.params), *(cxx_name(s.name) for s in func.symbols)]
        host = [*map(_host_type, func.params), *("int64_t" for _ in func.symbols)]
        kernel = [t if t != "uint8_t*" else "GM_ADDR" for t in host]
        blocks = cxx_expr(func.launch.blocks, self.known(launch_ranges(func)), func.launch.loc)
        context: dict[str, Any] = {
            "name": func.name,
            "display": without_entry_word(func.name),
            "kernel_parameters": ", ".join(
                [*map(" ".join, zip(kernel, names, strict=True)), "uint64_t fftsAddr"]
            ),
            "host_parameters": ", ".join(
                [*map(" ".join, zip(host, names, strict=True)), "aclrtStream stream"]
            ),
            "arguments": "".join(f", {n}" for n in names),
            "task_type": self.task_type(),
            "capacity": {m.value: size for m, size in self.target.capacity.items()},
            "bias_tables": any(a.buffer.memory is Memory.BT for a in func.launch.allocs),
            "blocks": blocks,
            "host_scalars": list(self.narrowed_parameters(_names_in(func.launch.blocks))),
            "blocks_note": self.comment(func.launch.loc) if "tile::" in blocks else "",
            "ranked": self.ranked(),
            "tensors": list(self.tensors()),
            "sections": [self.section(s) for s in self.sections],
        }
        return template("kernel.cpp.jinja").render(func=context)

    def task_type(self) -> str:
        """Which cores take part: none that has nothing to do, for each takes time to start. Blocks
        are counted in cube cores, so that vector cores alone come with theirs."""
        if all(section.core is Core.CUBE for section in self.sections):
            return "KERNEL_TYPE_MIX_AIC_1_0"
        return f"KERNEL_TYPE_MIX_AIC_1_{1 if self.func.launch.threads == 1 else 2}"

    def tensors(self) -> Iterator[str]:
        views = [
            (a.buffer, a.alias_of)
            for a in self.func.launch.allocs
            if a.alias_of is not None and a.buffer.memory is Memory.GM
        ]
        for tensor, root in (*((t, t) for t in self.func.tensors), *views):
            name, kind = cxx_name(tensor.name), _moved_as(tensor.dtype)
            yield f"AscendC::GlobalTensor<{kind}> {name};"
            handle = _parameter_name(root)
            yield f"{name}.SetGlobalBuffer(reinterpret_cast<__gm__ {kind}*>({handle}));"
        used = set[str]().union(*self.used.values())
        yield from self.narrowed_parameters(used)
        for number, call in ((RANK, "my_pe"), (RANKS, "n_pes")):
            if number.name in used:
                yield f"const int32_t {number.name} = aclshmem_{call}();"

    def ranked(self) -> bool:
        """Whether the kernel is for several devices."""
        ops = walk_ops(self.func.launch.body)
        names = {v.name for v in NUMBERS_OF_RANKS}
        return (
            any(map(is_symmetric, self.func.tensors))
            or any(op.opdef.family == "ranks" and not op.operands for op in ops)
            or any(names & used for used in self.used.values())
        )

    def narrowed_parameters(self, used: set[str]) -> Iterator[str]:
        """Scalars that crossed the host boundary in another type, in their own."""
        for param in self.func.params:
            if isinstance(param, Var) and param.name in used:
                kind, name = param.dtype.c_name, cxx_name(param.name)
                if _parameter_name(param) != name:
                    yield f"const {kind} {name} = static_cast<{kind}>({_parameter_name(param)});"

    def section(self, section: Section) -> dict[str, Any]:
        launch = self.func.launch
        lines: list[str] = []
        used = self.used[section]
        block, lane = cxx_name(launch.block.name), cxx_name(launch.lane.name)
        if section.core is Core.CUBE:
            guard = "ASCEND_IS_AIC"
            index = "AscendC::GetBlockIdx()"
            lane_index = "0"
        else:
            guard = "ASCEND_IS_AIV"
            index = "AscendC::GetBlockIdx() / AscendC::GetSubBlockNum()"
            lane_index = "AscendC::GetSubBlockIdx()"
        if launch.block.name in used:
            lines.append(f"const int32_t {block} = static_cast<int32_t>({index});")
        if launch.lane.name in used:
            lines.append(f"const int32_t {lane} = static_cast<int32_t>({lane_index});")
        lines += self.declarations(section.core, used)
        ranges = launch_ranges(self.func)
        lines += self.body(section.body, ranges, 0, section.core)
        return {"guard": guard, "lines": lines}

    def declarations(self, core: Core, used: set[str]) -> Iterator[str]:
        for alloc in self.func.launch.allocs:
            b = alloc.buffer
            if b.memory is Memory.GM or b.name not in used:
                continue
            if CORE_OF_MEMORY.get(b.memory, core) is not core:
                continue
            kind = b.dtype.c_name
            if b.memory is Memory.VAR:
                yield f"{kind} {cxx_name(b.name)} = 0;{self.comment(alloc.loc)}"
                continue
            view = _placed(b, buffer_bytes(alloc), alloc.address)
            yield (
                f"const AscendC::LocalTensor<{kind}> {cxx_name(b.name)} = {view};"
                f"{self.comment(alloc.loc)}"
            )

    def known(self, ranges: Ranges) -> Known:
        return Known(ranges, self.symbols)

    def body(self, body: Body, ranges: Ranges, depth: int, core: Core) -> list[str]:
        lines: list[str] = []
        for stmt, known in with_ranges(body, ranges):
            lines += self.stmt(stmt, known, depth, core)
        return lines

    def stmt(self, stmt: Stmt, known: Ranges, depth: int, core: Core) -> list[str]:
        pad, note = INDENT * depth, self.comment(stmt.loc)
        here = self.known(known)

        def cxx(expr: Expr) -> str:
            return cxx_expr(expr, here, stmt.loc)

        match stmt:
            case Op():
                lines = [*self.windows(stmt, here), *self.op(stmt, here, core)]
                return [f"{pad}{line}{note}" for line in lines]
            case Let(var=var, value=value):
                text = assigned(value, var.dtype, here, stmt.loc)
                return [f"{pad}const {var.dtype.c_name} {cxx_name(var.name)} = {text};{note}"]
            case Store(buffer=b, indices=indices, value=value):
                text = assigned(value, b.dtype, here, stmt.loc)
                if b.memory is Memory.VAR:
                    return [f"{pad}{cxx_name(b.name)} = {text};{note}"]
                name = cxx_name(b.name)
                if is_symmetric(b):
                    name = tensor_on(b, indices[0], cxx)
                    b, indices = instance(b), indices[1:]
                index = linear_index(b, indices)
                place = cxx(gm_offset(index, b, here) if b.memory is Memory.GM else index)
                store = f"{name}.SetValue({place}, {text});"
                if b.memory is Memory.GM:
                    store = f"tile::store_gm({name}, {place}, {text});"
                lines = [*self.windows(stmt, here), store]
                return [f"{pad}{line}{note}" for line in lines]
            case For():
                return self.loop(stmt, known, depth, core)
            case While(condition=c, body=body):
                return [
                    f"{pad}while ({cxx(c)}) {{{note}",
                    *self.body(body, known, depth + 1, core),
                    f"{pad}}}",
                ]
            case If(condition=c, then=then, orelse=orelse):
                lines = [f"{pad}if ({cxx(c)}) {{{note}", *self.body(then, known, depth + 1, core)]
                if orelse:
                    lines += [f"{pad}}} else {{", *self.body(orelse, known, depth + 1, core)]
                return [*lines, f"{pad}}}"]
            case Break():
                return [f"{pad}break;{note}"]
        raise KernelError("emit-statement", f"no C++ for {type(stmt).__name__}", stmt.loc)

    def loop(self, loop: For, known: Ranges, depth: int, core: Core) -> list[str]:
        pad, note, here = INDENT * depth, self.comment(loop.loc), self.known(known)
        lines = self.body(loop.body, ranges_inside(loop, known), depth + 1, core)
        if loop.task is not None:
            return [f"{pad}{{  // task {without_entry_word(loop.task.name)}", *lines, f"{pad}}}"]
        kind, name = loop.var.dtype.c_name, cxx_name(loop.var.name)
        start, stop = (cxx_expr(e, here, loop.loc) for e in (loop.start, loop.stop))
        start = f"{kind} {name} = {start}"
        if any(isinstance(e, Load) for e in walk_expr(loop.stop)):
            # The body may change what the bound is made of.
            start += f", {name}{STOP} = {stop}"
            stop = name + STOP
        head = f"for ({start}; {name} < {stop}; ++{name}) {{"
        unroll = [f"{pad}#pragma GCC unroll 8"] if loop.kind is LoopKind.UNROLL else []
        return [*unroll, f"{pad}{head}{note}", *lines, f"{pad}}}"]

    def windows(self, stmt: Op | Store, here: Known) -> Iterator[str]:
        """Write the checks of the simulator before a statement: one for each part that may leave
        its row."""
        for w in uncertain_windows(stmt, here.ranges):
            texts = [cxx_expr(e, here, stmt.loc) for e in (w.offset, w.extent, w.size)]
            yield f"TILE_INSIDE({cxx_name(w.buffer.name)}, {w.dimension}, {', '.join(texts)});"

    def op(self, op: Op, here: Known, core: Core) -> list[str]:
        if op.opdef.effect is Effect.SYNC_ALL:
            return grid_barrier(op, core, self.sections, self.func.launch.threads or 2)
        return render_op(op, here).splitlines()

    def comment(self, loc: Loc) -> str:
        """Where a statement of the author's stands; with its column behind another one."""
        lines = self.lines_of.get(loc.file, ())
        before = lines[loc.line - 1][: loc.column - 1] if 0 < loc.line <= len(lines) else ""
        column = f":{loc.column}" if ";" in before else ""
        return f"  // {without_entry_word(loc.file)}:{loc.line}{column}"


def _moved_as(dtype: DType) -> str:
    """The type of a tensor in gm: elements that share bytes come and go as bytes."""
    return dtype.c_name if dtype.whole_bytes else INT8.c_name


def _placed(buffer: Buffer, size: int, address: int | None) -> str:
    """The tensor of `size` bytes at an address. The vendor's GetWithOffset counts elements that
    share bytes as one byte each: they are a view of bytes."""
    memory, kind = buffer.memory.value, buffer.dtype.c_name
    if not buffer.dtype.whole_bytes:
        return f"{memory}.GetWithOffset<{INT8.c_name}>({size}, {address}).ReinterpretCast<{kind}>()"
    elements = -(-size // buffer.dtype.size)
    return f"{memory}.GetWithOffset<{kind}>({elements}, {address})"


def _names_in(expr: Expr) -> set[str]:
    return {part.name for part in walk_expr(expr) if isinstance(part, Var)}


def _names_used(body: Body) -> set[str]:
    """Names of scalars and buffers that a body mentions."""
    names = {var.name for var in variables_in(body)}
    names |= {buffer.name for stmt in walk(body) for buffer in buffers_of(stmt)}
    operands = {o.buffer for op in walk_ops(body) for o in op.operands if isinstance(o, Region)}
    for buffer in operands:
        if buffer.static_shape() is None:
            for dim in buffer.shape:
                names |= _names_in(dim)
    return names
