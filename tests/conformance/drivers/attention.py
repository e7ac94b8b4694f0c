"""Kernels of attention with a softmax, forward; and its results and gradients for others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from conformance.drivers.case import Compared, Draw, driver
from conformance.drivers.formulas import (
    causal,
    gradients,
    softmax_attention,
    wanting,
)

F16 = "float16"


@dataclass(frozen=True, slots=True)
class Attention:
    """Inputs [batch, rows, heads, size] and all results; `lse` and `delta` are [batch, heads, rows],
    the former in powers of two."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    d_o: torch.Tensor
    out: torch.Tensor
    lse: torch.Tensor
    d_q: torch.Tensor
    d_k: torch.Tensor
    d_v: torch.Tensor

    @property
    def delta(self) -> torch.Tensor:
        """Of the result as it is stored."""
        return (self.out.half().double() * self.d_o.double()).sum(-1).transpose(1, 2).contiguous()


def attention(
    draw: Draw, b: int, h: int, rows: int, keys: int, size: int, size_v: int = 0, groups: int = 1,
    allowed: torch.Tensor | None = None, dtype: str = F16, scale: float = 0.0,
) -> Attention:  # fmt: skip
    q = draw(b, rows, h, size, dtype=dtype)
    k = draw(b, keys, h // groups, size, dtype=dtype)
    v = draw(b, keys, h // groups, size_v or size, dtype=dtype)
    d_o = draw(b, rows, h, size_v or size, dtype=dtype)
    inputs = wanting(q, k, v)
    out, lse = softmax_attention(*inputs, allowed, scale)
    d_q, d_k, d_v = gradients(out, d_o, inputs)
    return Attention(q, k, v, d_o, out.detach(), lse.detach(), d_q, d_k, d_v)


def mask(is_causal: bool, rows: int, keys: int) -> torch.Tensor | None:
    return causal(rows, keys) if is_causal else None


def swapped(x: torch.Tensor) -> torch.Tensor:
    """Rows before heads, or heads before rows."""
    return x.transpose(1, 2).contiguous()


def same(x: torch.Tensor) -> torch.Tensor:
    return x


# --- forward -----------------------------------------------------------------------------------


@driver("flash_attention/example_mha_fwd_bshd.py:flashattn", """
    b h s   size is_causal block_M block_N num_stages
    1 2 160 64   True      64      32      1
    2 1 100 32   False     32      64      2
    1 3 75  80   True      32      32      0
    1 2 33  48   False     16      16      2
""")  # fmt: skip
def mha_fwd_bshd(
    factory: Any, draw: Draw, b: int, h: int, s: int, size: int, is_causal: bool, **blocks: int
) -> Iterator[Compared]:
    x = attention(draw, b, h, s, s, size, allowed=mask(is_causal, s, s))
    kernel = factory(b, h, s, size, is_causal, threads=128, **blocks)
    yield Compared("o", kernel(x.q, x.k, x.v), x.out, 3e-3)


@driver("flash_attention/example_gqa_fwd_bshd.py:flashattn", """
    b h s   size groups is_causal block_M block_N num_stages
    1 4 160 64   2      True      64      32      1
    2 2 100 32   2      False     32      64      2
    1 6 75  80   3      True      32      32      0
""")  # fmt: skip
def gqa_fwd_bshd(
    factory: Any, draw: Draw, b: int, h: int, s: int, size: int, groups: int, is_causal: bool,
    **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    x = attention(draw, b, h, s, s, size, groups=groups, allowed=mask(is_causal, s, s))
    kernel = factory(b, h, s, size, is_causal, groups=groups, threads=128, **blocks)
    yield Compared("o", kernel(x.q, x.k, x.v), x.out, 3e-3)


@driver("flash_attention/example_mha_fwd_bhsd.py:flashattn", """
    b h rows keys size is_causal block_M block_N num_stages
    1 2 96   160  64   True      32      32      1
    1 2 40   100  32   False     32      64      2
    1 1 64   64   128  True      64      64      0
    1 2 31   77   64   True      16      32      1
""")  # fmt: skip
def mha_fwd_bhsd(
    factory: Any, draw: Draw, b: int, h: int, rows: int, keys: int, size: int, is_causal: bool,
    **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    x = attention(draw, b, h, rows, keys, size, allowed=mask(is_causal, rows, keys))
    kernel = factory(b, h, rows, keys, size, is_causal, threads=128, **blocks)
    yield Compared("o", kernel(*map(swapped, (x.q, x.k, x.v))), swapped(x.out), 3e-3)


AMD_ROWS = """
    b h s   size groups is_causal block_M block_N num_stages num_split_q
    1 2 160 64   2      True      64      32      1          2
    1 2 128 32   1      False     32      64      0          2
    1 4 96  64   2      True      32      32      1          1
"""
AMD = dict(threads=128, enable_rasterization=True, panel_size=7)


def _amd_fwd(
    factory: Any, draw: Draw, b: int, h: int, s: int, size: int, groups: int, is_causal: bool,
    **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    """One of the two also returns the logarithm of the sums, a natural one."""
    x = attention(draw, b, h, s, s, size, groups=groups, allowed=mask(is_causal, s, s))
    kernel = factory(b, h, s, size, is_causal, groups, k_pack=2, qk_coalesced_width=8,
                     v_coalesced_width=4, **AMD, **blocks)  # fmt: skip
    got = kernel(x.q, x.k, x.v)
    out, *sums = got if isinstance(got, (list, tuple)) else [got]
    yield Compared("o", out, x.out, 3e-3)
    for lse in sums:
        yield Compared("lse", lse, x.lse / torch.log2(torch.tensor(torch.e)), 3e-3)


amd_fwd = driver("amd/example_amd_flash_attn_fwd.py:fast_flashattn", AMD_ROWS)(_amd_fwd)
amd_fwd_of_bwd = driver("amd/example_amd_flash_attn_bwd.py:fast_flashattn", AMD_ROWS)(_amd_fwd)
