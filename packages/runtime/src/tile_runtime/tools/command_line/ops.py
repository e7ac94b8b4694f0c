"""`tile-ascend ops`: the op table as a person reads it."""

from __future__ import annotations

import argparse
import inspect
import itertools
from collections.abc import Iterable
from typing import Any

from tile_frontend._arguments.op_functions import OpFunction
from tile_frontend._dialects.foreign_names import written_here
from tile_ir import (
    FLOAT32,
    OPS,
    REQUIRED,
    AttrDef,
    Buffer,
    Const,
    Core,
    KernelError,
    Loc,
    Memory,
    Op,
    OpDef,
    OperandDef,
    Pipe,
    Region,
    argument_of,
    did_you_mean,
)
from tile_runtime.scripts.columns import columns


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="an operation")


def run(options: argparse.Namespace) -> int:
    if options.name is None:
        print(_table())
        return 0
    name = options.name.removeprefix("T.").removeprefix("tile.")
    if name not in OPS:
        known = written_here(name) or did_you_mean(name, OPS) or "`tile-ascend ops` lists them"
        raise KernelError("unknown-op", f"no operation is called `{options.name}`", hint=known)
    print(operation_page(OPS[name]))
    return 0


def language_name(opdef: OpDef) -> str:
    """How a script calls it: `T.tile.add`, `T.copy`, or the bare name if only passes make it."""
    if opdef.namespace is None:
        return opdef.name
    return "T." + ".".join(filter(None, (opdef.namespace, opdef.name)))


def _table() -> str:
    rows = [("operation", "core", "pipe", "Ascend C", "what it does")]
    for o in OPS.values():
        cores, pipes = zip(*placements(o), strict=True)
        core, pipe = _words(c.value for c in cores), _words(p.value for p in pipes)
        rows.append((language_name(o), core, pipe, o.ascend_c, o.doc))
    return columns(rows)


def placements(opdef: OpDef) -> list[tuple[Core, Pipe]]:
    """Every core and pipe the operation can run on, over the memories its operands may be in."""
    loc = Loc("<ops>", 1, 1)
    attrs = [a.choices or (_sample(a),) for a in opdef.attrs]
    choices: list[list[Memory | None]] = [
        [m for m in Memory if m in o.memories] or [None] for o in opdef.operands
    ]
    found: dict[tuple[Core, Pipe], None] = {}
    for memories, values in itertools.product(
        itertools.product(*choices), itertools.product(*attrs)
    ):
        operands = tuple(
            Const(0)
            if memory is None
            else Region.whole(Buffer("x", memory, FLOAT32, (Const(16), Const(16)), loc))
            for memory in memories
        )
        found.setdefault(opdef.placement(Op(opdef, operands, values, loc)))
    # What no pipe runs is left to the scalar unit, which says nothing if a pipe does run it.
    on_pipes = [p for p in found if p != (Core.EITHER, Pipe.S)]
    return on_pipes or list(found)


def _sample(a: AttrDef) -> Any:
    """Some legal value of an attribute without choices."""
    return a.type() if a.default is REQUIRED else a.default


def _words(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def operation_page(opdef: OpDef) -> str:
    arguments = ", ".join(_arguments(opdef))
    lines = [
        f"{language_name(opdef)}({arguments})",
        f"  {opdef.doc}",
        f"  family {opdef.family}, Ascend C: {opdef.ascend_c or 'none'}",
        "  runs on " + ", ".join(f"{c.value} ({p.value})" for c, p in placements(opdef)),
    ]
    lines += [
        f"  operand {operand_text(o, argument_of(opdef, o.name), o.name in opdef.hidden)}"
        for o in opdef.operands
    ]
    lines += [f"  attribute {_attribute(a)}" for a in opdef.attrs]
    facts = [
        text
        for text, holds in (
            ("elementwise", opdef.elementwise),
            ("the destination may be a source", opdef.may_alias),
            ("taken apart by lower_tile_ops", opdef.composite.value == "yes"),
            ("made by passes only", opdef.namespace is None),
        )
        if holds
    ]
    return "\n".join([*lines, *([f"  {'; '.join(facts)}"] if facts else [])])


def _arguments(opdef: OpDef) -> list[str]:
    """The parameters of the call as a script writes it; for operations that only passes insert,
    those of the record."""
    import tile_frontend as T

    if opdef.namespace is None:
        return list(opdef.call_order())
    function = getattr(T.tile if opdef.namespace == "tile" else T, opdef.name)
    if isinstance(function, OpFunction):
        return list(function.parameters)
    kept = (p for p in inspect.signature(function).parameters.values())
    return [p.name for p in kept if p.kind is not p.VAR_POSITIONAL]


def operand_text(o: OperandDef, name: str, hidden: bool) -> str:
    """Describe the access of an operation to an operand, under the name that scripts use."""
    access = {"r": "read", "w": "written", "rw": "read and written"}[o.access.value]
    if o.memories:
        order = [m.value for m in Memory if m in o.memories]
        where = "in " + " or ".join(order) + (" or a scalar" if o.scalar else "")
    else:
        where = "a scalar"
    dtypes = f"; {', '.join(d.name for d in o.dtypes)}" if o.dtypes else ""
    marks = [w for w, on in (("optional", o.optional), ("repeats", o.variadic)) if on]
    marks += ["added by the compiler"] if hidden else []
    return f"{name}: {access}, {where}{dtypes}" + (f" ({', '.join(marks)})" if marks else "")


def _attribute(a: AttrDef) -> str:
    text = f"{a.name}: {a.type.__name__}"
    if a.choices:
        text += " of " + ", ".join(repr(c) for c in a.choices)
    return text + ("" if a.default is REQUIRED else f", default {a.default!r}")
