"""What Python shows of an operation before it is called: its signature and its help text, from the
record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature, getdoc, signature
from typing import Any, ParamSpec, TypeVar

from tile_ir import REQUIRED, AttrDef, OpDef, OperandDef
from tile_ir.opdef import words

P = ParamSpec("P")
R = TypeVar("R")
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
    return _with_arguments(f"{opdef.doc}.", opdef, opdef.call_order(), {})


def described(
    opdef: OpDef, operand_of: Mapping[str, str] | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Add to the text of a function that makes an operation what its arguments may be.
    `operand_of` has parameters with other names than their operands."""

    def add(function: Callable[P, R]) -> Callable[P, R]:
        names = tuple(signature(function).parameters)
        text = getdoc(function) or f"{opdef.doc}."
        function.__doc__ = _with_arguments(text, opdef, names, operand_of or {})
        return function

    return add


def _with_arguments(
    text: str, opdef: OpDef, names: tuple[str, ...], operand_of: Mapping[str, str]
) -> str:
    known = {o.name: _operand(o) for o in opdef.operands}
    known.update({a.name: _attribute(a) for a in opdef.attrs})
    lines = [f"{n}: {known[o]}" for n in names if (o := operand_of.get(n, n)) in known]
    return "\n".join([text, *([""] if lines else []), *lines])


def _operand(o: OperandDef) -> str:
    if not o.memories:
        place = "a scalar"
    else:
        place = f"a buffer in {words(o.memories)}"
        place += ", or a scalar" if o.scalar else ""
    types = f"; {', '.join(d.name for d in o.dtypes)}" if o.dtypes else ""
    return f"{place}, {_ACCESS[o.access.value]}{types}{' (optional)' if o.optional else ''}"


def _attribute(a: AttrDef) -> str:
    choices = f", one of {', '.join(map(repr, a.choices))}" if a.choices else ""
    default = "" if a.default is REQUIRED else f" ({a.default!r})"
    return f"a Python {a.type.__name__}{choices}{default}"
