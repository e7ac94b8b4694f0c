"""What a case of a kernel is: a row of a table, inputs drawn for it, and results to compare."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch

DTYPES = {
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "i8": "int8", "i32": "int32",
}  # fmt: skip
# Of the root mean square: what rounding to a type costs after a few operations in float32.
TOLERANCES = {"bfloat16": 8e-3, "float16": 2e-3, "float32": 1e-4}
# An element may be off by so many times the tolerance of the mean.
_WORST = 20

Check: TypeAlias = "Callable[..., Iterator[Compared]]"


@dataclass(frozen=True, slots=True)
class Compared:
    """One result of a kernel beside what it should be."""

    name: str
    got: torch.Tensor
    want: torch.Tensor
    tolerance: float

    def complaint(self) -> str:
        """What is wrong with the result; empty if nothing is."""
        got, want = self.got.double(), self.want.double()
        if got.shape != want.shape:
            return f"{self.name} has shape {tuple(got.shape)} instead of {tuple(want.shape)}"
        finite = torch.isfinite(want)
        strange = int((finite != torch.isfinite(got)).sum())
        if strange:
            return (
                f"{self.name}: {strange} of {got.numel()} elements are infinite or NaN by mistake"
            )
        got, want = got[finite], want[finite]
        if not want.numel():
            return ""
        off, size = (got - want).abs(), want.square().mean().sqrt() + 1e-30
        relative = float(off.square().mean().sqrt() / size)
        far = int((off > _WORST * self.tolerance * (size + want.abs())).sum())
        if relative < self.tolerance and not far:
            return ""
        return f"{self.name} is off by {relative:.1e} (allowed {self.tolerance:.1e}), far elements: {far}"


@dataclass(frozen=True, slots=True)
class Driver:
    """`kernel` is the name of a kernel, as `conformance.kernels` gives it, or of its factory, which
    has several kernels then."""

    kernel: str
    rows: tuple[dict[str, Any], ...]
    check: Check

    @property
    def file(self) -> str:
        return self.kernel.partition(":")[0]

    @property
    def factory(self) -> str:
        return self.kernel.partition(":")[2].partition(".")[0]

    def title(self, row: int) -> str:
        return " ".join(f"{name}={value}" for name, value in self.rows[row].items())

    def covers(self, kernel: str) -> bool:
        return kernel == self.kernel or kernel.startswith(self.kernel + ".")


def driver(kernel: str, rows: str) -> Callable[[Check], Driver]:
    """Make a driver of a function: it takes the kernel's factory, a Draw and the columns of a row."""
    return lambda check: Driver(kernel, table(rows), check)


def table(text: str) -> tuple[dict[str, Any], ...]:
    """Rows below a line of names. `f16` is a type, `1,2` a tuple; what Python does not read is
    a string."""
    names, *rows = (line.split() for line in text.strip().splitlines())
    return tuple(dict(zip(names, map(_value, row), strict=True)) for row in rows)


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return DTYPES.get(text, text)


@dataclass(frozen=True, slots=True)
class Draw:
    """Random tensors, the same ones for the same seed."""

    seed: int
    generator: torch.Generator = field(init=False, default_factory=torch.Generator)

    def __post_init__(self) -> None:
        self.generator.manual_seed(self.seed)

    def __call__(self, *shape: int, dtype: str = "float32", scale: float = 1.0) -> torch.Tensor:
        """Normally distributed numbers."""
        return (torch.randn(*shape, generator=self.generator) * scale).to(torch_type(dtype))

    def uniform(self, *shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=self.generator)

    def integers(self, low: int, high: int, *shape: int, dtype: str = "int32") -> torch.Tensor:
        """From `low` to below `high`."""
        found = torch.randint(low, high, shape, generator=self.generator)
        return found.to(torch_type(dtype))

    def permutation(self, count: int) -> torch.Tensor:
        return torch.randperm(count, generator=self.generator)


def torch_type(name: str) -> torch.dtype:
    found: torch.dtype = getattr(torch, name)
    return found


def tolerance(*dtypes: str) -> float:
    """What the coarsest of these types allows."""
    return max(TOLERANCES[d] for d in dtypes)
