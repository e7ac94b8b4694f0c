"""Kernels along rows: norms, a softmax, the largest values, and mixing of streams."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import torch

from conformance.drivers.case import Compared, Draw, driver, tolerance

EPSILON = 1e-5
NORM_ROWS = """
    rows columns dtype blk_m
    64   128     bf16  16
    96   80      f32   32
    24   33      f16   8
"""


def _normed(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows without mean and size, with both."""
    mean = x.double().mean(1)
    scale = 1 / (x.double().var(1, unbiased=False) + EPSILON).sqrt()
    return (x.double() - mean[:, None]) * scale[:, None], mean, scale


@driver("norm/layernorm.py:_layernorm_fwd", NORM_ROWS)
def layer_norm(
    factory: Any, draw: Draw, rows: int, columns: int, dtype: str, blk_m: int
) -> Iterator[Compared]:
    x, gamma, beta = draw(rows, columns, dtype=dtype), *(draw(columns, dtype=dtype) for _ in "ab")
    kernel = factory(rows, columns, EPSILON, blk_m=blk_m, threads=128, in_dtype=dtype,
                     out_dtype=dtype)  # fmt: skip
    y, mean, scale = kernel(x, gamma, beta)
    normed, want_mean, want_scale = _normed(x)
    yield Compared("y", y, normed * gamma.double() + beta.double(), tolerance(dtype))
    yield Compared("mean", mean, want_mean, tolerance(dtype))
    yield Compared("scale", scale, want_scale, tolerance(dtype))


@driver("norm/layernorm.py:_layernorm_bwd", NORM_ROWS)
def layer_norm_bwd(
    factory: Any, draw: Draw, rows: int, columns: int, dtype: str, blk_m: int
) -> Iterator[Compared]:
    x, d_y = (draw(rows, columns, dtype=dtype) for _ in range(2))
    gamma, d_gamma, d_beta = draw(columns, dtype=dtype), *torch.zeros(2, columns).unbind()
    normed, mean, scale = _normed(x)
    kernel = factory(rows, columns, blk_m=blk_m, threads=128, in_dtype=dtype)
    got = kernel(d_y, x, gamma, mean.float(), scale.float(), d_gamma, d_beta)
    along = d_y.double() * gamma.double()
    both = (along * normed).mean(1, keepdim=True)
    want = scale[:, None] * (along - along.mean(1, keepdim=True) - normed * both)
    yield Compared("dx", got, want, tolerance(dtype))
    yield Compared("dgamma", d_gamma, (d_y.double() * normed).sum(0), tolerance(dtype))
    yield Compared("dbeta", d_beta, d_y.double().sum(0), tolerance(dtype))


def _root_mean_square(x: torch.Tensor) -> torch.Tensor:
    return x.double() / (x.double().square().mean(1, keepdim=True) + 1e-12).sqrt()


@driver("norm/rms_norm.py:rms_norm", """
    rows columns blk_m
    64   128     16
    30   100     8
    17   65      4
""")  # fmt: skip
def rms_norm(factory: Any, draw: Draw, rows: int, columns: int, blk_m: int) -> Iterator[Compared]:
    x = draw(rows, columns)
    yield Compared("y", factory(x, blk_m), _root_mean_square(x), 1e-5)


@driver("norm/rms_norm.py:rms_norm_splitk", """
    rows columns blk_m blk_k
    64   128     16    32
    30   100     8     32
    17   65      4     16
""")  # fmt: skip
def rms_norm_parts(
    factory: Any, draw: Draw, rows: int, columns: int, blk_m: int, blk_k: int
) -> Iterator[Compared]:
    x = draw(rows, columns)
    yield Compared("y", factory(x, blk_m, blk_k), _root_mean_square(x), 1e-5)


@driver("online_softmax/online_softmax.py:softmax_kernel", """
    rows columns BLOCK_M BLOCK_N
    16   128     4       32
    10   64      1       64
    7    96      2       32
""")  # fmt: skip
def softmax(factory: Any, draw: Draw, rows: int, columns: int, **blocks: int) -> Iterator[Compared]:
    """The module names the sizes; they are made smaller here."""
    vars(importlib.import_module("example_online_softmax")).update(M=rows, N=columns)
    x = draw(rows, columns, dtype="float16")
    yield Compared("y", factory(x, **blocks), torch.softmax(x.double(), 1), 2e-3)


@driver("topk/example_topk.py:tl_topk", """
    rows columns count blk_m
    64   128     6     32
    50   40      3     16
    20   33      5     8
""")  # fmt: skip
def top_k(
    factory: Any, draw: Draw, rows: int, columns: int, count: int, blk_m: int
) -> Iterator[Compared]:
    """No two values of a row are the same."""
    x = torch.stack([draw.permutation(columns) for _ in range(rows)]).float() / columns
    values, places = factory(x, count, blk_m=blk_m, threads=128)
    want_values, want_places = x.topk(count, dim=1)
    yield Compared("values", values, want_values, 1e-6)
    yield Compared("places", places, want_places, 1e-6)


@driver("deepseek_mhc/example_mhc_bwd.py:sinkhorn_bwd_implicit_cg", """
    tokens streams tilesize
    64     16      8
    20     4       8
    6      8       1
""")  # fmt: skip
def sinkhorn_bwd(
    factory: Any, draw: Draw, tokens: int, streams: int, tilesize: int
) -> Iterator[Compared]:
    """The gradient through a matrix whose rows and columns sum up to 1: of the two sums, those
    multipliers are wanted that solve a singular system in the least-squares sense."""
    x = torch.exp(draw.uniform(tokens, streams, streams).double() * 2)
    for _ in range(100):
        x = x / x.sum(-2, keepdim=True)
        x = x / x.sum(-1, keepdim=True)
    d = draw(tokens, streams, streams).double()
    got = factory(x.float(), d.float(), tilesize=tilesize, threads=128)
    one = torch.eye(streams).double().expand(tokens, -1, -1)
    system = torch.cat([torch.cat([one, x], -1), torch.cat([x.transpose(1, 2), one], -1)], -2)
    sums = torch.cat([(x * d).sum(-1), (x * d).sum(-2)], -1)
    of_rows, of_columns = (torch.linalg.pinv(system) @ sums[..., None])[..., 0].chunk(2, -1)
    yield Compared("dx", got, (d - of_rows[:, :, None] - of_columns[:, None, :]) * x, 1e-3)


@driver("deepseek_mhc/example_mhc_post.py:mhc_post_tilelang", """
    tokens streams hidden h_blk
    5      4       256    64
    3      2       96     96
""")  # fmt: skip
def mix_streams(
    factory: Any, draw: Draw, tokens: int, streams: int, hidden: int, h_blk: int
) -> Iterator[Compared]:
    mix, share = draw(tokens, streams, streams), draw(tokens, streams)
    residual = draw(tokens, streams, hidden, dtype="bfloat16")
    x = draw(tokens, hidden, dtype="bfloat16")
    out = torch.zeros_like(residual)
    factory(mix, residual, share, x, out, streams, hidden, h_blk=h_blk)
    want = mix.double().transpose(1, 2) @ residual.double()
    want = want + share.double()[..., None] * x.double()[:, None]
    yield Compared("out", out, want, 8e-3)
