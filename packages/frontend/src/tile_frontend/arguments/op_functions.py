"""`T.` operations, made from the op table: arguments bound to operands and attributes, checked,
and handed back as a statement for the caller's expression statement to emit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from inspect import Signature
from itertools import takewhile
from typing import Any

from tile_frontend.arguments.call_signature import call_signature, help_text
from tile_frontend.arguments.first_elements import narrowed
from tile_frontend.arguments.tile_bytes import in_bytes
from tile_frontend.arguments.working_memory import without_working_memory, working_in
from tile_frontend.dialects.older_spellings import OPERATIONS, argument_today
from tile_frontend.tracing.faults import Fault, reject
from tile_frontend.tracing.scalars import Scalar, describe, python_number, scalar_expr
from tile_frontend.tracing.subscripts import View
from tile_frontend.tracing.trace import current, traced_number
from tile_frontend.tracing.values import Pending, Tile
from tile_ir import (
    REQUIRED,
    AttrDef,
    AttrValue,
    Const,
    Expr,
    Load,
    Op,
    OpDef,
    Operand,
    OperandDef,
    Region,
    Slice,
    check_form,
    check_op,
    did_you_mean,
)

# Operands that scripts may leave out although the operation always has them.
DEFAULTS: Mapping[tuple[str, str], Any] = {
    ("gemm_v0", "init"): False,
    ("mma", "init"): False,
    ("init_sort_buf", "rsv"): 0,
    # What newer versions add; see `product_arguments`.
    **{("gemm_v0", name): None for name in ("kL0Size", "n_actual", "bias")},
    **{("mma", name): None for name in ("n_actual", "unit_flag", "k_actual", "bias")},
}
MISSING = object()


class OpFunction:
    """One operation as a callable of the language."""

    def __init__(self, opdef: OpDef) -> None:
        self.opdef = opdef
        self.parameters = opdef.call_order()
        with_memory = {o.name for o in opdef.operands if o.memories}
        # How many arguments at the front may be buffers: all, if the last ones are a list of them.
        listed = bool(opdef.operands) and opdef.operands[-1].variadic
        front = takewhile(with_memory.__contains__, self.parameters)
        self.buffers = sys.maxsize if listed else sum(1 for _ in front)
        scalars = {o.name for o in opdef.operands if not o.memories}
        self.numbers = {i for i, name in enumerate(self.parameters) if name in scalars}
        self.__name__ = f"{opdef.namespace}.{opdef.name}" if opdef.namespace else opdef.name
        self.__doc__ = help_text(opdef)

    def default(self, name: str) -> Any:
        """What stands for an argument that is left out; MISSING where it may not be."""
        return _default(self.opdef, name)

    @property
    def __signature__(self) -> Signature:
        return call_signature(self.opdef, self.parameters, self.default, MISSING)

    def __call__(self, *args: Any, **kwargs: Any) -> Pending:
        call = without_working_memory(
            self.opdef, self.__name__, self.buffers, args, kwargs, self.numbers
        )
        with call.placing_faults(self.parameters):
            return working_in(self.build(bind(self, call.args, call.kwargs)), call.memory)

    def build(self, given: dict[str, Any]) -> Pending:
        """The operation of these arguments by name."""
        return build_op(self.opdef, given, self.__name__)

    def __repr__(self) -> str:
        return f"<T.{self.__name__}({', '.join(self.parameters)})>"


def bind(function: OpFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name. A last variadic operand takes the rest as a tuple."""
    opdef, names = function.opdef, function.parameters
    variadic = opdef.operands[-1].name if opdef.operands and opdef.operands[-1].variadic else None
    given: dict[str, Any] = {}
    if variadic is not None and names[-1] == variadic:
        fixed = names[:-1]
        given[variadic] = args[len(fixed) :]
        args = args[: len(fixed)]
    elif len(args) > len(names):
        raise Fault(
            "arity",
            f"T.{function.__name__} takes {len(names)} {_arguments(len(names))} "
            f"({', '.join(names)}), found {len(args)}",
            argument=len(names),
        )
    given.update(zip(names, args, strict=False))
    for written, value in kwargs.items():
        name = argument_today(written, names, given)
        if name not in names:
            raise Fault(
                "unknown-argument",
                f"T.{function.__name__} has no argument `{written}`",
                did_you_mean(written, names) or f"it takes {', '.join(names)}",
                written,
            )
        if name in given:
            raise Fault("arity", f"T.{function.__name__} got `{name}` twice", argument=written)
        given[name] = value
    missing = [n for n in names if n not in given and _default(opdef, n) is MISSING]
    if missing:
        raise Fault(
            "arity",
            f"T.{function.__name__} misses {', '.join(f'`{n}`' for n in missing)}",
            f"it takes {', '.join(names)}"
            + (", and stores its result in dst" if "dst" in names else ""),
        )
    return given


def _arguments(count: int) -> str:
    return "argument" if count == 1 else "arguments"


def _default(opdef: OpDef, name: str) -> Any:
    if (opdef.name, name) in DEFAULTS:
        return DEFAULTS[opdef.name, name]
    for operand in opdef.operands:
        if operand.name == name:
            return None if operand.optional else () if operand.variadic else MISSING
    attr = opdef.attrs[opdef.attr_index(name)]
    return MISSING if attr.default is REQUIRED else attr.default


def build_op(opdef: OpDef, given: Mapping[str, Any], name: str) -> Pending:
    """The operation with its arguments by name, once every rule of its record holds."""
    trace = current(name)
    operands: list[Operand] = []
    for definition in opdef.operands:
        value = given.get(definition.name, MISSING)
        if value is MISSING:
            default = None if definition.name in opdef.hidden else _default(opdef, definition.name)
            value = default
        if definition.variadic:
            operands.extend(_operand(opdef, definition, v) for v in value)
        else:
            operand = _operand(opdef, definition, _whole_number(operands, value))
            operands.append(in_bytes(definition, operand))
    attrs = tuple(_attribute(opdef, a, given.get(a.name, a.default)) for a in opdef.attrs)
    op = Op(opdef, tuple(operands), attrs, trace.here)
    problem = check_form(op)
    if problem is None:
        op = narrowed(op)
        problem = check_op(op, trace.target)
    if problem is not None:
        reject(problem)
    pending = Pending(op, name, trace.here)
    trace.pending.append(pending)
    return pending


def _whole_number(operands: list[Operand], value: Any) -> Any:
    """`10.0` for a tile of integers is the integer: nothing is lost."""
    first = operands[0] if operands else None
    if isinstance(value, float) and isinstance(first, Region) and first.dtype.is_integer:
        return int(value) if value.is_integer() else value
    return value


def _operand(opdef: OpDef, definition: OperandDef, value: Any) -> Operand:
    element = _only_element(value) if not definition.memories else None
    if element is not None:
        return element
    match value:
        case None:
            return None
        case Tile():
            return Region.whole(value.buffer)
        case View(region=region):
            return region
        case Region():
            return value
        case Scalar():
            expr = value.expr
            only_memory = definition.memories and not definition.scalar
            if only_memory and isinstance(expr, Load) and expr.indices:
                return element_region(expr)
            return scalar_expr(value)
    if python_number(value) is None and not isinstance(value, Expr):
        raise Fault(
            "operand-kind",
            f"{opdef.name}: {definition.name} is {describe(value)}, expected "
            + _expected(definition),
            argument=definition.name,
        )
    return scalar_expr(value)


def _only_element(value: Any) -> Load | None:
    """The element of a buffer or slice that has one: scripts pass it where a number is meant."""
    match value:
        case Tile(buffer=buffer) if buffer.static_shape() in ((1,), (1, 1)):
            return Load(buffer, (Const(0),) * buffer.rank)
        case View(region=region) if region.static_extents() in ((1,), (1, 1)):
            return Load(region.buffer, tuple(s.offset for s in region.dims))
    return None


def _expected(definition: OperandDef) -> str:
    if not definition.memories:
        return "a scalar"
    return "a buffer or a scalar" if definition.scalar else "a buffer"


def element_region(load: Load) -> Region:
    """The region of one element."""
    return Region(load.buffer, tuple(Slice(i, Const(1)) for i in load.indices))


def _attribute(opdef: OpDef, definition: AttrDef, value: Any) -> AttrValue:
    """A compile-time argument as plain Python data. Strings that choose are compared without
    regard to case."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.lower() if definition.choices else value
    number = traced_number(value)
    if number is None:
        raise Fault(
            "attribute-type",
            f"{opdef.name}: {definition.name} is {describe(value)}, "
            f"expected a Python {definition.type.__name__}",
            "it is chosen while compiling: use a value from outside the kernel"
            if isinstance(value, Scalar)
            else None,
            definition.name,
        )
    if definition.type is float and not isinstance(number, bool):
        return float(number)
    return number


def table_functions(namespace: str, ops: Mapping[str, OpDef]) -> dict[str, Callable[..., Any]]:
    """The functions of one namespace of the language."""
    return {name: OpFunction(opdef) for name, opdef in ops.items() if opdef.namespace == namespace}


def with_older_names(
    functions: dict[str, Callable[..., Any]], namespace: str
) -> dict[str, Callable[..., Any]]:
    """Functions of a namespace under the names other versions have for them too."""
    older = OPERATIONS[namespace]
    return {**functions, **{name: functions[today] for name, today in older.items()}}
