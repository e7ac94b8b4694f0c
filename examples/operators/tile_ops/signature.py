"""Parse the signature of an operator, and match tensors against it.

    rms_norm(x: T[..., N], weight: T[N], eps: float = 1e-6) -> T[..., N]

Types are names of torch or variables, sizes are names, numbers or expressions of names that tensors
before or beside them give. `...` stands for any sizes, the same ones wherever it stands. The same
text gives the schema for torch, the checks of a call, and the shapes of results.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

REST = "..."
_TENSOR = re.compile(r"(\w+)\[(.*)\]")
_OPERATIONS: dict[type, Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Eq: operator.eq,
    ast.LtE: operator.le, ast.GtE: operator.ge,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TensorParameter:
    """A tensor: the name of its type, and its sizes as text."""

    name: str
    dtype: str
    sizes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(self.sizes)}]"


@dataclass(frozen=True, slots=True)
class ScalarParameter:
    """A number or truth value; `default` is text, as the schema has it."""

    name: str
    kind: str
    default: str

    @property
    def value(self) -> float | int | bool:
        """The default as a number."""
        value: float | int | bool = ast.literal_eval(self.default)
        return value


@dataclass(frozen=True, slots=True)
class Signature:
    """Parameters and results, in order."""

    name: str
    parameters: tuple[TensorParameter | ScalarParameter, ...]
    results: tuple[TensorParameter, ...]

    def __str__(self) -> str:
        taken = [
            f"{p.name}: {p}"
            if isinstance(p, TensorParameter)
            else f"{p.name}: {p.kind} = {p.default}"
            for p in self.parameters
        ]
        return f"{self.name}({', '.join(taken)}) -> {', '.join(map(str, self.results))}"

    @property
    def tensors(self) -> tuple[TensorParameter, ...]:
        return tuple(p for p in self.parameters if isinstance(p, TensorParameter))

    def complete(self, arguments: Sequence[Any]) -> list[Any]:
        """All arguments of a call: torch leaves defaults at the end out."""
        missing = self.parameters[len(arguments) :]
        return [*arguments, *(p.value for p in missing if isinstance(p, ScalarParameter))]

    def schema(self) -> str:
        """The schema of torch, without the name."""
        taken = [
            f"Tensor {p.name}"
            if isinstance(p, TensorParameter)
            else f"{p.kind} {p.name}={p.default}"
            for p in self.parameters
        ]
        results = ", ".join("Tensor" for _ in self.results)
        return f"({', '.join(taken)}) -> {results if len(self.results) == 1 else f'({results})'}"


def parse_signature(text: str) -> Signature:
    """Parse `name(parameter, ...) -> result, ...`. Raises ValueError for other text."""
    match = re.fullmatch(r"\s*(\w+)\((.*)\)\s*->\s*(.*)", " ".join(text.split()))
    if match is None:
        raise ValueError(f"not a signature: {text!r}; write name(x: T[M, N]) -> T[M, N]")
    name, taken, given = match.groups()
    parameters = tuple(_parameter(part) for part in _parts(taken))
    results = tuple(_tensor(f"result {i}", part) for i, part in enumerate(_parts(given)))
    return Signature(name, parameters, results)


def _parts(text: str) -> list[str]:
    """Split at the commas outside brackets."""
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text) if part.strip()]


def _parameter(text: str) -> TensorParameter | ScalarParameter:
    name, _, rest = (part.strip() for part in text.partition(":"))
    if _TENSOR.fullmatch(rest):
        return _tensor(name, rest)
    kind, _, default = (part.strip() for part in rest.partition("="))
    if kind not in ("float", "int", "bool") or not default:
        raise ValueError(f"not a parameter: {text!r}; write x: T[M, N] or eps: float = 1e-6")
    return ScalarParameter(name, kind, default)


def _tensor(name: str, text: str) -> TensorParameter:
    match = _TENSOR.fullmatch(text)
    if match is None:
        raise ValueError(f"not a tensor: {text!r}; write T[M, N]")
    return TensorParameter(name, match[1], tuple(size.strip() for size in match[2].split(",")))


class Mismatch(Exception):
    """A call that does not fit: which argument, what is wrong, and what to write instead."""

    def __init__(self, argument: str, problem: str, hint: str) -> None:
        super().__init__(argument, problem, hint)
        self.argument, self.problem, self.hint = argument, problem, hint


@dataclass(frozen=True, slots=True)
class Sizes:
    """What one call gives: sizes by name, types by variable, scalars, and the sizes of `...`."""

    values: Mapping[str, Any]
    types: Mapping[str, torch.dtype]
    rest: tuple[Any, ...]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.values[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def rows(self) -> Any:
        """The product of the sizes of `...`."""
        return math.prod(self.rest)

    def dtype(self, variable: str = "T") -> str:
        """The name of a type, as kernels have it."""
        return str(self.types[variable]).removeprefix("torch.")

    def value(self, expression: str) -> Any:
        """Evaluate sums, differences, products, quotients, remainders and comparisons of names."""
        return _evaluated(ast.parse(expression, mode="eval").body, self.values)

    def shape(self, tensor: TensorParameter) -> tuple[Any, ...]:
        """The sizes of a tensor, those of `...` with it."""
        parts = ([*self.rest] if s == REST else [self.value(s)] for s in tensor.sizes)
        return tuple(size for part in parts for size in part)


def _evaluated(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return values[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATIONS[type(op)](_evaluated(left, values), _evaluated(right, values))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _OPERATIONS[type(op)](_evaluated(left, values), _evaluated(right, values))
    raise ValueError(f"no size: {ast.unparse(node)}")


def match_arguments(
    signature: Signature, types: Mapping[str, Sequence[str]], arguments: Sequence[Any]
) -> Sizes:
    """The sizes of a call. Raises Mismatch for a tensor of another type or shape."""
    values: dict[str, Any] = {}
    found_types: dict[str, torch.dtype] = {}
    rest: tuple[Any, ...] | None = None
    later: list[tuple[TensorParameter, str, Any]] = []
    for parameter, argument in zip(signature.parameters, arguments, strict=True):
        if isinstance(parameter, ScalarParameter):
            values[parameter.name] = argument
            continue
        _match_type(parameter, types, argument.dtype, found_types)
        leading, sizes = _split(parameter, tuple(argument.shape))
        if leading is not None:
            if rest is not None and leading != rest:
                raise Mismatch(
                    parameter.name, f"begins with sizes {list(leading)}, not {list(rest)}",
                    "give both the same leading sizes: expand or reshape one",
                )  # fmt: skip
            rest = leading
        named = [size for size in parameter.sizes if size != REST]
        for name, size in zip(named, sizes, strict=True):
            if name.isidentifier() and name not in values:
                values[name] = size
            else:
                later.append((parameter, name, size))
    known = Sizes(values, found_types, rest or ())
    for parameter, expression, size in later:
        if known.value(expression) != size:
            raise Mismatch(
                parameter.name, f"has {size} where {parameter} has "
                f"{expression} = {known.value(expression)}",
                f"its shape must be {list(known.shape(parameter))}",
            )  # fmt: skip
    return known


def _match_type(
    parameter: TensorParameter,
    types: Mapping[str, Sequence[str]],
    found: torch.dtype,
    known: dict[str, torch.dtype],
) -> None:
    name = str(found).removeprefix("torch.")
    allowed = types.get(parameter.dtype, (parameter.dtype,))
    if name not in allowed:
        raise Mismatch(
            parameter.name, f"is {name}, expected {' or '.join(allowed)}",
            f"convert it: {parameter.name}.to(torch.{allowed[0]})",
        )  # fmt: skip
    if parameter.dtype in types and known.setdefault(parameter.dtype, found) != found:
        first = str(known[parameter.dtype]).removeprefix("torch.")
        raise Mismatch(
            parameter.name, f"is {name}, but another tensor of type {parameter.dtype} is {first}",
            f"convert it: {parameter.name}.to(torch.{first})",
        )  # fmt: skip


def _split(
    parameter: TensorParameter, shape: tuple[Any, ...]
) -> tuple[tuple[Any, ...] | None, tuple[Any, ...]]:
    """The sizes that `...` stands for, and the others."""
    named = len(parameter.sizes) - (REST in parameter.sizes)
    fits = len(shape) >= named if REST in parameter.sizes else len(shape) == named
    if not fits:
        raise Mismatch(
            parameter.name, f"has {len(shape)} dimensions, {list(shape)}, expected {parameter}",
            "add or drop dimensions: unsqueeze, squeeze or reshape",
        )  # fmt: skip
    if REST not in parameter.sizes:
        return None, shape
    at = parameter.sizes.index(REST)
    end = len(shape) - (named - at)
    return shape[at:end], shape[:at] + shape[end:]
