"""The kernels of newcomers: against torch at `strict`, at sizes with edges."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from kept_cases import kept

import tile_frontend as T
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
@pytest.mark.parametrize("retile", [None, True])
def test_products_of_neighbours_that_are_one_equal_torch(strict: None, retile: bool | None) -> None:
    """At sizes with edges, with more blocks than cores; with tiles that all are the compiler's,
    sums over k begin elsewhere in each block."""
    script, sizes = newcomer("int8_gemm"), {"M": 1000, "N": 1250, "K": 1024 if retile else 500}
    configs = {} if retile is None else {"tl.ascend_retile": retile}
    kernel = T.jit(out_idx=[-1], pass_configs=configs)(script.kernel.__wrapped__)(**sizes)
    (total,) = [a.buffer for a in kernel.lowered.launch.allocs if a.buffer.name == "total"]
    assert sorted(total.static_shape()) == [128, 256]
    torch.manual_seed(0)
    inputs = script.inputs(**sizes)
    (expected,) = script.expected(*inputs)
    found = (kernel(*inputs).double() - expected.double()).abs().max()
    assert float(found) <= script.TOLERANCE


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.whole
def test_large_sizes_are_more_than_l2_holds(name: str) -> None:
    kernel = newcomer(name).kernel
    tensors = kernel.__wrapped__(**newcomer(name).LARGE).params
    moved = sum(t.dtype.size * math.prod(t.static_shape() or ()) for t in tensors)
    assert moved >= 192 * 2**20
