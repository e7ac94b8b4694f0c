"""Describe the arguments of a compiled kernel: tensors, scalars, symbols, added workspaces.

A signature is all that calling a kernel needs to know about it, so a cache entry keeps it as
JSON and a cached kernel is called without lowering or parsing anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tile_frontend._tracing.dtype_names import DataType
from tile_ir import (
    DTYPES,
    Binary,
    Buffer,
    Cast,
    Const,
    DType,
    Effect,
    Expr,
    Func,
    IRError,
    KernelError,
    LaunchSequence,
    Select,
    Unary,
    Var,
    constant_value,
    walk_ops,
)
from tile_ir.analysis import steps_of_call
from tile_ir.quick_dataclasses import dataclass
from tile_ir.ranks import instance, is_symmetric
from tile_ir.scalars.arithmetic import EXACT

# A size of a tensor: a number, the name of a symbol or scalar, or [operator, left, right].
Dim: TypeAlias = "int | str | list[Any]"


@dataclass(frozen=True, slots=True)
class TensorParam:
    """A tensor; of a `symmetric` one every rank has an instance, of which it is the shape. Counters
    of blocks that the compiler added are `kept` from call to call."""

    name: str
    dtype: DType
    dims: tuple[Dim, ...]
    symmetric: bool = False
    kept: bool = False

    @property
    def shape(self) -> tuple[int | str, ...]:
        """The declared shape as scripts read it: numbers, and the text of symbolic sizes."""
        return tuple(d if isinstance(d, int) else dim_text(d) for d in self.dims)

    @property
    def shape_text(self) -> str:
        """The declared shape as the user wrote it, near enough: `(N, (N + 1) // 2)`."""
        inner = ", ".join(dim_text(d) for d in self.dims)
        return f"({inner},)" if len(self.dims) == 1 else f"({inner})"


@dataclass(frozen=True, slots=True)
class ScalarParam:
    """A scalar. One that the compiler added counts calls; a call takes so many steps of it."""

    name: str
    dtype: DType
    steps: Dim = 1


Param: TypeAlias = TensorParam | ScalarParam


@dataclass(frozen=True, slots=True)
class KernelParam:
    """A parameter as scripts look at it: the type is a string; a scalar has no dimensions."""

    name: str
    dtype: DataType
    shape: tuple[int | str, ...] = ()

    @staticmethod
    def of(param: Param) -> KernelParam:
        shape = param.shape if isinstance(param, TensorParam) else ()
        return KernelParam(param.name, DataType(param.dtype.name), shape)


@dataclass(frozen=True, slots=True)
class Signature:
    """Parameters in the order of the lowered kernel; the first `declared` are the user's, the
    rest are workspaces the compiler added, and a scalar for the number of the call. `symbols` are
    in the order `call` takes them."""

    name: str
    params: tuple[Param, ...]
    symbols: tuple[str, ...]
    declared: int

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "params": [_param_to_json(p) for p in self.params],
            "symbols": list(self.symbols),
            "declared": self.declared,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Signature:
        """The inverse of `to_json`; KeyError or TypeError for anything else."""
        return Signature(
            data["name"],
            tuple(_param_from_json(p) for p in data["params"]),
            tuple(data["symbols"]),
            data["declared"],
        )


def signature_of(lowered: Func, declared: int) -> Signature:
    """The signature of a lowered kernel whose source declares `declared` parameters."""
    params: list[Param] = []
    awaited = {
        op.region("word").buffer
        for op in walk_ops(lowered.launch.body)
        if op.opdef.effect is Effect.AWAIT_SIGNAL
    }
    for number, param in enumerate(lowered.params):
        if isinstance(param, Buffer):
            symmetric = is_symmetric(param)
            dims = tuple(_dim(d, param) for d in (instance(param) if symmetric else param).shape)
            kept = number >= declared and (symmetric or param in awaited)
            params.append(TensorParam(param.name, param.dtype, dims, symmetric, kept))
        else:
            steps = _steps(lowered, param) if number >= declared else 1
            params.append(ScalarParam(param.name, param.dtype, steps))
    symbols = tuple(s.name for s in lowered.symbols)
    return Signature(lowered.name, tuple(params), symbols, declared)


def _steps(lowered: Func, number: Var) -> Dim:
    """How far a call counts."""
    steps = steps_of_call(lowered, number)
    return steps.name if isinstance(steps, Var) else int(constant_value(steps) or 1)


# How the launcher stores a scalar; the entry reads the low bytes of it (both hosts are little
# endian), and 16-bit floats travel as float.
_KINDS = {
    "int8": "i32", "int16": "i32", "int32": "i32", "int64": "i64", "uint8": "i32",
    "uint16": "i32", "uint32": "i64", "uint64": "i64", "bool": "bool",
    "float16": "f32", "bfloat16": "f32", "float32": "f32", "float64": "f64",
}  # fmt: skip


def launcher_kinds(signature: Signature) -> list[str]:
    """How the launcher stores each argument: pointers, numbers, then symbols."""
    kinds = [
        "ptr" if isinstance(p, TensorParam) else _KINDS[p.dtype.name] for p in signature.params
    ]
    return kinds + ["i64"] * len(signature.symbols)


def resolve_indices(
    indices: int | Sequence[int] | None,
    count: int,
    what: str,
    func: Func | LaunchSequence,
) -> tuple[int, ...]:
    """Positions named by `out_idx` or `workspace_idx`; negatives count from the end of the
    declared parameters.

    Raises KernelError if one is out of range, repeated, or not the position of a tensor.
    """
    if indices is None:
        return ()
    wanted = [indices] if isinstance(indices, int) else list(indices)
    resolved: list[int] = []
    for index in wanted:
        position = index + count if index < 0 else index
        if not 0 <= position < count:
            raise KernelError(
                "out-index",
                f"{what} {index}: kernel `{func.name}` has {count} parameters",
                func.loc,
                f"use a position from {-count} to {count - 1}",
                sources=func.sources,
            )
        if position in resolved:
            raise KernelError(
                "out-index",
                f"{what} names parameter {position} of `{func.name}` twice",
                func.loc,
                sources=func.sources,
            )
        param = func.params[position]
        if not isinstance(param, Buffer):
            raise KernelError(
                "out-index",
                f"{what} {index} is the scalar `{param.name}`, expected a tensor",
                func.loc,
                sources=func.sources,
            )
        resolved.append(position)
    return tuple(resolved)


def evaluate(dim: Dim, values: Mapping[str, int]) -> int:
    """The size when the symbols have these values, which may themselves be symbols of torch.
    KeyError names an unbound one."""
    if isinstance(dim, int):
        return dim
    if isinstance(dim, str):
        return values[dim]
    op, left, right = dim
    size = EXACT[op](evaluate(left, values), evaluate(right, values))
    return int(size) if isinstance(size, (bool, float)) else size


def sized_text(dim: Dim, values: Mapping[str, int]) -> str:
    """The size and how it is declared, as messages show them."""
    size = evaluate(dim, values)
    return str(size) if isinstance(dim, int) else f"{size} ({dim_text(dim)})"


def names_in(dim: Dim) -> set[str]:
    """Symbols and scalars a size depends on."""
    if isinstance(dim, str):
        return {dim}
    return set() if isinstance(dim, int) else names_in(dim[1]) | names_in(dim[2])


def dim_text(dim: Dim) -> str:
    """A size as a sentence shows it."""
    if not isinstance(dim, list):
        return str(dim)
    op, left, right = (x if isinstance(x, str) else dim_text(x) for x in dim)
    if op in ("min", "max"):
        return f"{op}({left}, {right})"
    left, right = (
        f"({text})" if isinstance(side, list) and side[0] not in ("min", "max") else text
        for side, text in zip(dim[1:], (left, right), strict=True)
    )
    return f"{left} {op} {right}"


def _dim(expr: Expr, tensor: Buffer) -> Dim:
    match expr:
        case Const(value=value):
            return int(value)
        case Var(name=name):
            return name
        case Binary(op=op, left=left, right=right):
            return [op, _dim(left, tensor), _dim(right, tensor)]
        case Cast(operand=operand):
            return _dim(operand, tensor)
        case Unary(op="-", operand=operand):
            return ["-", 0, _dim(operand, tensor)]
        case Unary() | Select() | Expr():
            raise IRError(
                "shape-expression",
                f"the shape of `{tensor.name}` has a size that only the device can evaluate",
                tensor.loc,
                "use constants, symbols, and arithmetic on them",
            )


def _param_to_json(param: Param) -> dict[str, Any]:
    data: dict[str, Any] = {"name": param.name, "dtype": param.dtype.name}
    if isinstance(param, TensorParam):
        data["dims"] = list(param.dims)
        data["symmetric"] = param.symmetric
        data["kept"] = param.kept
    else:
        data["steps"] = param.steps
    return data


def _param_from_json(data: Mapping[str, Any]) -> Param:
    dtype = DTYPES[data["dtype"]]
    if "dims" in data:
        return TensorParam(
            data["name"], dtype, tuple(data["dims"]), data["symmetric"], data["kept"]
        )
    return ScalarParam(data["name"], dtype, data["steps"])
