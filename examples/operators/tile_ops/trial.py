"""Make the tensors of a call from a manifest, and compare an operator with its reference."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import torch

from .manifest import Case, Operator
from .signature import ScalarParameter, Sizes


def type_choices(described: Operator) -> Iterator[dict[str, str]]:
    """All types of an operator's variables together."""
    for names in itertools.product(*described.types.values()):
        yield dict(zip(described.types, names, strict=True))


def make_arguments(described: Operator, case: Case, types: dict[str, str]) -> list[Any]:
    """Random tensors and the scalars of a case. Types that the case names come first."""
    chosen = {v: getattr(torch, case.sizes.get(v, name)) for v, name in types.items()}
    scalars = {
        p.name: case.sizes.get(p.name, p.value)
        for p in described.signature.parameters
        if isinstance(p, ScalarParameter)
    }
    sizes = Sizes({**case.sizes, **scalars}, chosen, case.rest)
    made: list[Any] = []
    for parameter in described.signature.parameters:
        if isinstance(parameter, ScalarParameter):
            made.append(scalars[parameter.name])
            continue
        dtype = chosen.get(parameter.dtype) or getattr(torch, parameter.dtype)
        shape = sizes.shape(parameter)
        make = described.make.get(parameter.name)
        made.append(make(sizes, shape, dtype) if make else _random(shape, dtype))
    return made


def _random(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    if dtype.is_floating_point:
        return torch.randn(shape).to(dtype)
    return torch.randint(-100, 100, shape).to(dtype)


def referred(described: Operator, arguments: list[Any]) -> list[torch.Tensor]:
    """What the reference gives, on float32."""
    wide = [
        a.float() if isinstance(a, torch.Tensor) and a.dtype.is_floating_point else a
        for a in arguments
    ]
    found = described.reference(*wide)
    return list(found) if isinstance(found, (tuple, list)) else [found]


def errors(described: Operator, arguments: list[Any]) -> list[float]:
    """The largest error of each result, relative to the largest value expected; nan for NaN."""
    found = getattr(torch.ops.tile_ops, described.name)(*arguments)
    several = list(found) if isinstance(found, (tuple, list)) else [found]
    return [relative(f, e) for f, e in zip(several, referred(described, arguments), strict=True)]


def relative(found: torch.Tensor, expected: torch.Tensor) -> float:
    if found.shape != expected.shape:
        raise AssertionError(f"shape {list(found.shape)}, expected {list(expected.shape)}")
    if not expected.numel():
        return 0.0
    scale = max(expected.double().abs().max().item(), 1e-30)
    return (found.double() - expected.double()).abs().max().item() / scale
