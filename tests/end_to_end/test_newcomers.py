"""The kernels of newcomers: against torch at `strict`, at sizes with edges."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from kept_cases import kept

from end_to_end.newcomers import NAMES, newcomer


def cases(names: list[str], which: int) -> list[Any]:
    return [pytest.param(name, newcomer(name).SMALL[which], id=name) for name in names]


def differences(name: str, sizes: dict[str, int]) -> list[float]:
    """The largest difference from torch in each result."""
    script = newcomer(name)
    torch.manual_seed(0)
    inputs = script.inputs(**sizes)
    made = script.kernel(**sizes)(*inputs)
    results = made if isinstance(made, (list, tuple)) else [made]
    expected = script.expected(*inputs)
    assert [(r.shape, r.dtype) for r in results] == [(e.shape, e.dtype) for e in expected]
    pairs = zip(results, expected, strict=True)
    return [float((r.double() - e.double()).abs().max()) for r, e in pairs]


@pytest.mark.whole
@pytest.mark.parametrize(("name", "sizes"), cases(kept(NAMES, 3), 0))
def test_equals_torch(strict: None, name: str, sizes: dict[str, int]) -> None:
    assert max(differences(name, sizes)) <= newcomer(name).TOLERANCE


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "sizes"), cases(NAMES, 1))
def test_equals_torch_at_other_sizes(strict: None, name: str, sizes: dict[str, int]) -> None:
    assert max(differences(name, sizes)) <= newcomer(name).TOLERANCE


@pytest.mark.whole
def test_products_of_neighbours_that_are_one_equal_torch(strict: None) -> None:
    """At sizes with edges, with more blocks than cores."""
    sizes = {"M": 1000, "N": 1250, "K": 500}
    allocs = newcomer("int8_gemm").kernel(**sizes).lowered.launch.allocs
    (total,) = [a.buffer for a in allocs if a.buffer.name == "total"]
    assert sorted(total.static_shape()) == [128, 256]
    assert max(differences("int8_gemm", sizes)) <= newcomer("int8_gemm").TOLERANCE


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.whole
def test_large_sizes_are_more_than_l2_holds(name: str) -> None:
    kernel = newcomer(name).kernel
    tensors = kernel.__wrapped__(**newcomer(name).LARGE).params
    moved = sum(t.dtype.size * math.prod(t.static_shape() or ()) for t in tensors)
    assert moved >= 192 * 2**20
