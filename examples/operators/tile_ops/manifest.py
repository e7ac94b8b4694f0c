"""The manifest of an operator: everything that is said about it, once.

Schema, checks, shapes of results, tests, and the page docs/use/operators.md come from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch

from .signature import Signature, Sizes, parse_signature

FLOATS = ("float16", "bfloat16", "float32")
HALVES = ("float16", "bfloat16")
Tiles: TypeAlias = "tuple[int, ...]"
Make: TypeAlias = "Callable[[TensorSizes], torch.Tensor]"
# Sizes of a tensor to make, and its type.
TensorSizes: TypeAlias = "tuple[tuple[int, ...], torch.dtype]"


@dataclass(frozen=True, slots=True)
class Rule:
    """A comparison of sizes that a call must fulfil, and what to write where it does not."""

    holds: str
    hint: str


@dataclass(frozen=True, slots=True)
class Case:
    """Sizes and scalars of a call, and of `...`; `T` and other types by name."""

    rest: tuple[int, ...] = ()
    sizes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator.

    `kernel` compiles the kernel for sizes and tiles; it takes and returns the tensors of the
    signature with `...` as one dimension. `tiles` chooses by sizes, `choices` are what a sweep
    compares the choice with. `reference` is the same in torch, on float32 where types are floats.
    `backward` takes the gradients, the inputs and the results, and returns a gradient for each
    tensor. `make` gives tensors of inputs that are not any numbers, by name. `tolerance` is the
    largest error allowed, relative to the largest value, by type. `without_gradient` are places of
    results through which no gradient passes. `bound` is the part of the chip
    that limits the workload.
    """

    signature: Signature
    types: Mapping[str, Sequence[str]]
    kernel: Callable[[Sizes, Tiles], Any]
    tiles: Callable[[Sizes], Tiles]
    choices: Callable[[Sizes], Sequence[Tiles]]
    reference: Callable[..., Any]
    workload: Case
    cases: tuple[Case, ...]
    summary: str
    bound: str = "HBM"
    rules: tuple[Rule, ...] = ()
    backward: Callable[..., Sequence[torch.Tensor | None]] | None = None
    make: Mapping[str, Callable[..., torch.Tensor]] = field(default_factory=dict)
    tolerance: Mapping[str, float] = field(default_factory=dict)
    gradient_of: str = ""
    without_gradient: tuple[int, ...] = ()
    remark: str = ""

    @property
    def name(self) -> str:
        return self.signature.name


TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-5}


def operator(signature: str, types: Mapping[str, Sequence[str]], **parts: Any) -> Operator:
    """An operator of a signature as text; tolerances are the usual ones unless given."""
    tolerance = {**TOLERANCE, **parts.pop("tolerance", {})}
    return Operator(parse_signature(signature), types, tolerance=tolerance, **parts)
