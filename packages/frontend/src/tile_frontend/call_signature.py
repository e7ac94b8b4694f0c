"""What Python shows of an operation before it is called: its signature and its help text, from the
record."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from tile_ir import Memory, OpDef
from tile_ir.opdef import REQUIRED, AttrDef, OperandDef

_ACCESS = {"r": "read", "w": "written", "rw": "read and written"}


def call_signature(
    opdef: OpDef, names: tuple[str, ...], default: Callable[[str], Any], missing: object
) -> Signature:
    """The parameters of a call. A default of `missing` is none."""
    variadic = {o.name for o in opdef.operands if o.variadic}
    parameters = []
    for name in names:
        if name in variadic:
            parameters.append(Parameter(name, Parameter.VAR_POSITIONAL))
            continue
        value = default(name)
        given = Parameter.empty if value is missing else value
        parameters.append(Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=given))
    return Signature(parameters)


def help_text(opdef: OpDef) -> str:
    """What the operation does, and what each argument may be."""
    known = {o.name: _operand(o) for o in opdef.operands}
    known.update({a.name: _attribute(a) for a in opdef.attrs})
    lines = [f"{name}: {known[name]}" for name in opdef.call_order() if name in known]
    return "\n".join([f"{opdef.doc}.", *([""] if lines else []), *lines])


def _operand(o: OperandDef) -> str:
    if not o.memories:
        place = "a scalar"
    else:
        place = "a buffer in " + " or ".join(m.value for m in Memory if m in o.memories)
        place += ", or a scalar" if o.scalar else ""
    types = f"; {', '.join(d.name for d in o.dtypes)}" if o.dtypes else ""
    return f"{place}, {_ACCESS[o.access.value]}{types}{' (optional)' if o.optional else ''}"


def _attribute(a: AttrDef) -> str:
    choices = f", one of {', '.join(map(repr, a.choices))}" if a.choices else ""
    default = "" if a.default is REQUIRED else f" ({a.default!r})"
    return f"a Python {a.type.__name__}{choices}{default}"
