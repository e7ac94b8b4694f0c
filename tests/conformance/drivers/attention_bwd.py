"""Kernels of the backward pass of attention, in three steps, with the forward pass that they need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from conformance.drivers.attention import AMD, attention, mask, same, swapped
from conformance.drivers.case import Compared, Draw, driver

F16 = "float16"

PREPARE_ROWS = """
    b h s   size
    1 2 160 64
    2 1 50  32
"""


def _prepare(order: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    def check(factory: Any, draw: Draw, b: int, h: int, s: int, size: int) -> Iterator[Compared]:
        """Row sums of the result times its gradient."""
        out, d_o = (draw(b, s, h, size, dtype=F16) for _ in range(2))
        want = (out.double() * d_o.double()).sum(-1).transpose(1, 2)
        got = factory(b, h, s, size)(order(out), order(d_o))
        yield Compared("delta", got, want, 2e-3)

    return check


def _round_off(order: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    def check(factory: Any, draw: Draw, b: int, h: int, s: int, size: int) -> Iterator[Compared]:
        """The gradient of q from the type it is summed in. The kernels annotate its order in memory,
        which is ignored here in those that write it as in those that read it."""
        x = order(draw(b, s, h, size))
        yield Compared("dq", factory(b, h, s, size)(x), x, 1e-3)

    return check


_BSHD, _BHSD = "flash_attention/example_mha_bwd_bshd.py", "flash_attention/example_mha_bwd_bhsd.py"
_GQA, _TMA = "flash_attention/example_gqa_bwd.py", "flash_attention/example_gqa_bwd_tma_reduce.py"
_AMD = "amd/example_amd_flash_attn_bwd.py"

prepare_bshd = driver(f"{_BSHD}:flashattn_bwd_preprocess", PREPARE_ROWS)(_prepare(same))
prepare_bhsd = driver(f"{_BHSD}:flashattn_bwd_preprocess", PREPARE_ROWS)(_prepare(swapped))
prepare_gqa = driver(f"{_GQA}:flashattn_bwd_preprocess", PREPARE_ROWS)(_prepare(same))
prepare_tma = driver(f"{_TMA}:flashattn_bwd_preprocess", PREPARE_ROWS)(_prepare(same))
prepare_amd = driver(f"{_AMD}:flashattn_bwd_preprocess", PREPARE_ROWS)(_prepare(same))
round_bshd = driver(f"{_BSHD}:flashattn_bwd_postprocess", PREPARE_ROWS)(_round_off(same))
round_bhsd = driver(f"{_BHSD}:flashattn_bwd_postprocess", PREPARE_ROWS)(_round_off(swapped))
round_gqa = driver(f"{_GQA}:flashattn_bwd_postprocess", PREPARE_ROWS)(_round_off(same))
round_amd = driver(f"{_AMD}:flashattn_bwd_postprocess", PREPARE_ROWS)(_round_off(same))


@driver(f"{_TMA}:flashattn_bwd_postprocess", """
    b h groups s   size size_v
    1 2 1      160 64   32
    2 4 2      50  32   32
""")  # fmt: skip
def round_tma(
    factory: Any, draw: Draw, b: int, h: int, groups: int, s: int, size: int, size_v: int
) -> Iterator[Compared]:
    sizes = (h, size), (h // groups, size), (h // groups, size_v)
    given = [draw(b, s, *each) for each in sizes]
    got = factory(b, h, h // groups, s, size, size_v)(*given)
    for name, x, y in zip(("dq", "dk", "dv"), got, given, strict=True):
        yield Compared(name, x, y, 1e-3)


MHA_ROWS = """
    b h s   size is_causal block_M block_N
    1 2 160 64   True      32      64
    1 1 128 32   False     64      32
    1 2 96  64   True      64      32
"""


def _mha_fwd(order: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    def check(
        factory: Any, draw: Draw, b: int, h: int, s: int, size: int, is_causal: bool,
        block_M: int, block_N: int,
    ) -> Iterator[Compared]:  # fmt: skip
        x = attention(draw, b, h, s, s, size, allowed=mask(is_causal, s, s))
        kernel = factory(b, h, s, size, is_causal, block_M, block_N)
        out, lse = kernel(*map(order, (x.q, x.k, x.v)))
        yield Compared("o", out, order(x.out), 3e-3)
        yield Compared("lse", lse, x.lse, 3e-3)

    return check


def _mha_bwd(order: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    def check(
        factory: Any, draw: Draw, b: int, h: int, s: int, size: int, is_causal: bool,
        block_M: int, block_N: int,
    ) -> Iterator[Compared]:  # fmt: skip
        x = attention(draw, b, h, s, s, size, allowed=mask(is_causal, s, s))
        d_q = order(torch.zeros(b, s, h, size))
        d_k, d_v = (torch.zeros_like(d_q, dtype=torch.float16) for _ in range(2))
        kernel = factory(b, h, s, size, is_causal, block_M, block_N)
        kernel(*map(order, (x.q, x.k, x.v, x.d_o)), x.lse.float(), x.delta.float(), d_q, d_k, d_v)
        yield Compared("dq", d_q, order(x.d_q), 5e-3)
        yield Compared("dk", d_k, order(x.d_k), 5e-3)
        yield Compared("dv", d_v, order(x.d_v), 5e-3)

    return check


forward_bshd = driver(f"{_BSHD}:flashattn_fwd", MHA_ROWS)(_mha_fwd(same))
forward_bhsd = driver(f"{_BHSD}:flashattn_fwd", MHA_ROWS)(_mha_fwd(swapped))
backward_bshd = driver(f"{_BSHD}:flashattn_bwd", MHA_ROWS)(_mha_bwd(same))
backward_bhsd = driver(f"{_BHSD}:flashattn_bwd", MHA_ROWS)(_mha_bwd(swapped))


@driver(f"{_AMD}:flashattn_bwd", """
    b h s   size groups is_causal block_M block_N num_stages
    1 2 160 64   2      True      32      32      1
    1 2 128 32   1      False     32      32      0
    1 4 96  64   2      True      64      32      1
""")  # fmt: skip
def amd_bwd(
    factory: Any, draw: Draw, b: int, h: int, s: int, size: int, groups: int, is_causal: bool,
    **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    x = attention(draw, b, h, s, s, size, groups=groups, allowed=mask(is_causal, s, s))
    lse = x.lse / torch.log2(torch.tensor(torch.e))
    got = [torch.zeros_like(t, dtype=torch.float32) for t in (x.q, x.k, x.v)]
    kernel = factory(b, h, s, size, is_causal, groups, **AMD, **blocks)
    kernel(x.q, x.k, x.v, x.d_o, lse.float(), x.delta.float(), *got)
    for name, y, z in zip(("dq", "dk", "dv"), got, (x.d_q, x.d_k, x.d_v), strict=True):
        yield Compared(name, y, z, 5e-3)


GQA_ROWS = """
    b h groups s   size size_v is_causal block_M block_N num_stages
    1 4 2      160 64   64     True      64      32      2
    2 2 2      96  32   64     False     32      32      1
    1 3 1      75  64   32     True      32      32      2
"""


def _gqa_fwd(
    factory: Any, draw: Draw, b: int, h: int, groups: int, s: int, size: int, size_v: int,
    is_causal: bool, block_M: int, block_N: int, num_stages: int,
) -> Iterator[Compared]:  # fmt: skip
    x = attention(draw, b, h, s, s, size, size_v, groups, mask(is_causal, s, s))
    out, lse = factory(b, h, s, size, size_v, is_causal, block_M, block_N, groups)(x.q, x.k, x.v)
    yield Compared("o", out, x.out, 3e-3)
    yield Compared("lse", lse, x.lse, 3e-3)


def _gqa_bwd(split: bool) -> Any:
    def check(
        factory: Any, draw: Draw, b: int, h: int, groups: int, s: int, size: int, size_v: int,
        is_causal: bool, block_M: int, block_N: int, num_stages: int,
    ) -> Iterator[Compared]:  # fmt: skip
        """Those that split have gradients of k and v for each head of a group, to be summed up."""
        x = attention(draw, b, h, s, s, size, size_v, groups, mask(is_causal, s, s))
        d_q = torch.zeros(b, s, h, size)
        if split:
            d_k, d_v = (torch.zeros(groups, *t.shape, dtype=t.dtype) for t in (x.k, x.v))
        else:
            d_k, d_v = (torch.zeros(t.shape) for t in (x.k, x.v))
        kernel = factory(b, h, s, size, size_v, is_causal, block_M, block_N, threads=128,
                         num_stages=num_stages, groups=groups)  # fmt: skip
        kernel(x.q, x.k, x.v, x.d_o, x.lse.float(), x.delta.float(), d_q, d_k, d_v)
        yield Compared("dq", d_q, x.d_q, 5e-3)
        yield Compared("dk", d_k.double().sum(0) if split else d_k, x.d_k, 5e-3)
        yield Compared("dv", d_v.double().sum(0) if split else d_v, x.d_v, 5e-3)

    return check


forward_gqa = driver(f"{_GQA}:flashattn_fwd", GQA_ROWS)(_gqa_fwd)
forward_tma = driver(f"{_TMA}:flashattn_fwd", GQA_ROWS)(_gqa_fwd)
atomic_gqa = driver(f"{_GQA}:flashattn_bwd_atomic_add", GQA_ROWS)(_gqa_bwd(False))
atomic_tma = driver(f"{_TMA}:flashattn_bwd_atomic_add", GQA_ROWS)(_gqa_bwd(False))
split_gqa = driver(f"{_GQA}:flashattn_bwd_split", GQA_ROWS)(_gqa_bwd(True))
split_tma = driver(f"{_TMA}:flashattn_bwd_split_novarlen", GQA_ROWS)(_gqa_bwd(True))
