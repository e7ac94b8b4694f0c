"""Kernels of attention of one row, over a cache of keys that blocks may share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from conformance.drivers.case import Compared, Draw, driver
from conformance.drivers.formulas import int32

F16 = "float16"


@driver("flash_decoding/example_gqa_decode.py:flashattn", """
    b h  groups keys size block_N block_H num_split num_stages
    1 32 2      256  64   64      64      1         2
    2 16 1      192  32   32      16      1         1
    1 32 2      256  64   64      64      2         2
""")  # fmt: skip
def gqa_decode(
    factory: Any, draw: Draw, b: int, h: int, groups: int, keys: int, size: int, **blocks: int
) -> Iterator[Compared]:
    """Some keys are hidden, none of the first block."""
    q = draw(b, h, size, dtype=F16)
    k, v = (draw(b, keys, groups, size, dtype=F16) for _ in range(2))
    seen = draw.uniform(b, keys, groups) > 0.3
    seen[:, ::32] = True
    got = factory(b, h, groups, keys, size, threads=128, **blocks)(q, k, v, seen.to(torch.uint8))
    Q = q.double().view(b, groups, h // groups, size)
    K, V = (x.double().transpose(1, 2) for x in (k, v))
    scores = Q @ K.transpose(-1, -2) * size**-0.5
    scores = scores.masked_fill(~seen.transpose(1, 2)[:, :, None], -torch.inf)
    yield Compared("o", got, (torch.softmax(scores, -1) @ V).view(b, h, size), 3e-3)


def latent(
    q: torch.Tensor, q_pe: torch.Tensor, kv: torch.Tensor, k_pe: torch.Tensor, lengths: list[int]
) -> torch.Tensor:
    """Of q [batch, heads, size] over keys [batch, rows, size], as many as there are of each; keys
    are values too, without the part that tells places."""
    scores = q.double() @ kv.double().transpose(1, 2)
    scores = scores + q_pe.double() @ k_pe.double().transpose(1, 2)
    for number, length in enumerate(lengths):
        scores[number, :, length:] = -torch.inf
    return torch.softmax(scores * (q.shape[-1] + q_pe.shape[-1]) ** -0.5, -1) @ kv.double()


LATENT_ROWS = """
    b h  keys size pe block_N block_H splits
    1 32 192  64   16 64      32      1
    2 64 128  128  32 32      64      2
    1 16 256  64   64 64      16      4
"""


@driver("deepseek_mla/example_mla_decode.py:flashattn", LATENT_ROWS)
def latent_decode(
    factory: Any, draw: Draw, b: int, h: int, keys: int, size: int, pe: int, block_N: int,
    block_H: int, splits: int,
) -> Iterator[Compared]:  # fmt: skip
    q, q_pe = draw(b, h, size, dtype=F16), draw(b, h, pe, dtype=F16)
    kv, k_pe = draw(b, keys, 1, size, dtype=F16), draw(b, keys, 1, pe, dtype=F16)
    kernel = factory(b, h, 1, keys, size, pe, block_N, block_H, splits, (size + pe) ** -0.5)
    want = latent(q, q_pe, kv[:, :, 0], k_pe[:, :, 0], [keys] * b)
    yield Compared("o", kernel(q, q_pe, kv, k_pe), want, 3e-3)


@driver("deepseek_mla/amd/benchmark_mla_decode_amd_tilelang.py:flashmla_decode", LATENT_ROWS)
def latent_decode_amd(
    factory: Any, draw: Draw, b: int, h: int, keys: int, size: int, pe: int, block_N: int,
    block_H: int, splits: int,
) -> Iterator[Compared]:  # fmt: skip
    """Partial results are passed in."""
    q, q_pe = draw(b, h, size, dtype=F16), draw(b, h, pe, dtype=F16)
    kv, k_pe = draw(b, keys, 1, size, dtype=F16), draw(b, keys, 1, pe, dtype=F16)
    sums, parts = q.new_zeros(b, h, splits), q.new_zeros(b, h, splits, size)
    kernel = factory(b, h, 1, keys, size, pe, block_N=block_N, block_H=block_H, num_split=splits,
                     threads=128)  # fmt: skip
    want = latent(q, q_pe, kv[:, :, 0], k_pe[:, :, 0], [keys] * b)
    yield Compared("o", kernel(q, q_pe, kv, k_pe, sums, parts), want, 3e-3)


@driver("deepseek_mla/example_mla_decode_paged.py:mla_decode_tilelang", """
    lengths h  keys size pe block_N block_H splits page
    130,192 32 192  64   16 64      32      1      64
    100,61  16 128  64   32 32      16      2      32
""")  # fmt: skip
def latent_decode_paged(
    factory: Any, draw: Draw, lengths: tuple[int, ...], h: int, keys: int, size: int, pe: int,
    block_N: int, block_H: int, splits: int, page: int,
) -> Iterator[Compared]:  # fmt: skip
    """The pages of all sequences are shuffled."""
    b = len(lengths)
    q, q_pe = draw(b, h, size, dtype=F16), draw(b, h, pe, dtype=F16)
    kv, k_pe = draw(b * keys, 1, size, dtype=F16), draw(b * keys, 1, pe, dtype=F16)
    pages = draw.permutation(b * keys // page).int().view(b, keys // page)
    rows = (pages[..., None] * page + torch.arange(page)).view(b, keys)
    sums, parts = q.new_zeros(b, h, splits), q.new_zeros(b, h, splits, size)
    kernel = factory(b, h, 1, keys, size, pe, block_N, block_H, splits, page)
    got = kernel(q, q_pe, kv, k_pe, pages, int32(*lengths), sums, parts)
    want = latent(q, q_pe, kv[rows, 0], k_pe[rows, 0], list(lengths))
    yield Compared("o", got, want, 3e-3)
