"""Kernels of attention over chosen rows, with the latent heads of DeepSeek."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from conformance.drivers.case import Compared, Draw, driver
from conformance.drivers.formulas import (
    LOG2_E,
    attend,
    gradients,
    offsets,
    rounded,
    tokens,
    wanting,
)

F16, BF16 = "float16", "bfloat16"


def _chosen_rows(draw: Draw, lengths: tuple[int, ...], groups: int, top: int) -> torch.Tensor:
    """For each row and group some rows of its sequence that are not behind it, the first one among
    them; -1 where there is none."""
    found = []
    for length in lengths:
        for place in range(length):
            for _ in range(groups):
                rows = draw.permutation(max(top, length))[:top]
                rows = torch.where(rows <= place, rows, -1)
                rows[0] = 0
                found.append(rows)
    return torch.stack(found).int().view(-1, groups, top)


# --- latent attention over chosen rows ---------------------------------------------------------------

LATENT_ROWS = """
    lengths h   size tail top groups block_I num_stages
    9,12    16  64   16   32  1      16      2
    10,     8   32   32   16  1      16      1
    7,      32  32   16   32  2      32      2
    5,      128 64   16   16  1      16      2
"""


def _latent(
    draw: Draw, lengths: tuple[int, ...], h: int, size: int, tail: int, top: int, groups: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries, keys whose first columns are values, chosen rows, results, logarithms of sums."""
    rows, first = sum(lengths), offsets(lengths)
    q = draw(rows, h, size + tail, dtype=BF16)
    kv = draw(rows, groups, size + tail, dtype=BF16)
    chosen = _chosen_rows(draw, lengths, groups, top)
    out, lse = torch.zeros(rows, h, size).double(), torch.zeros(rows, h).double()
    for row, (sequence, _) in enumerate(tokens(lengths).tolist()):
        for group, heads in enumerate(torch.arange(h).chunk(groups)):
            places = chosen[row, group]
            k = kv[int(first[sequence]) + places[places >= 0], group]
            scale = (size + tail) ** -0.5
            out[row, heads], lse[row, heads] = attend(q[row, heads], k, k[:, :size], scale)
    return q, kv, chosen, out, lse


@driver("dsa_sparse_finetune/sparse_mla_fwd.py:sparse_mla_fwd", LATENT_ROWS)
def sparse_latent_fwd(
    factory: Any, draw: Draw, lengths: tuple[int, ...], h: int, size: int, tail: int, top: int,
    groups: int, **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    q, kv, chosen, out, lse = _latent(draw, lengths, h, size, tail, top, groups)
    got = factory(q, kv, chosen, offsets(lengths), tokens(lengths), h, size, tail, top, groups,
                  **blocks)  # fmt: skip
    yield Compared("o", got[0], out, 1e-2)
    yield Compared("lse", got[1], lse, 1e-2)


@driver(
    "dsa_sparse_finetune/sparse_mla_topk_reducesum.py:tl_sparse_mla_topk_reducesum_impl",
    LATENT_ROWS,
)
def sparse_latent_sums(
    factory: Any, draw: Draw, lengths: tuple[int, ...], h: int, size: int, tail: int, top: int,
    groups: int, **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    """Weights of each chosen row, summed over 64 heads each. Fewer heads than 16 are not what the
    script runs: the kernel adds up 16 rows then, and each row of zeros has the weight exp(0)."""
    q, kv, chosen, _, lse = _latent(draw, lengths, h, size, tail, top, groups)
    got = factory(q, kv, chosen, lse.float(), offsets(lengths), tokens(lengths), h, size, tail, top,
                  groups, **blocks)  # fmt: skip
    per_group, first = h // groups, offsets(lengths)
    missing = max(0, 16 - per_group)
    want = torch.zeros(sum(lengths), groups, max(1, per_group // 64), top).double()
    for row, (sequence, _) in enumerate(tokens(lengths).tolist()):
        for group, heads in enumerate(torch.arange(h).chunk(groups)):
            places = chosen[row, group]
            k = kv[int(first[sequence]) + places.clamp(min=0), group].double()
            scores = q[row, heads].double() @ k.T * (size + tail) ** -0.5
            weights = torch.exp(scores - lse[row, heads, None]) * (places >= 0)
            sums = weights.view(-1, min(64, per_group), top).sum(1)
            want[row, group] = sums + missing * (places >= 0)
    yield Compared("sums", got, want, 1e-2)


@driver("dsa_sparse_finetune/indexer_bwd.py:tl_indexer_bwd_impl", """
    lengths h  size top block_I
    20,17   16 32   16  16
    9,      8  64   32  16
""")  # fmt: skip
def indexer_bwd(
    factory: Any, draw: Draw, lengths: tuple[int, ...], h: int, size: int, top: int, block_I: int
) -> Iterator[Compared]:
    """Of scores relu(k . q) weighted by head; chosen rows behind a row count for nothing."""
    rows, first, scale = sum(lengths), offsets(lengths), size**-0.5
    q, weights = draw(rows, h, size, dtype=BF16), draw(rows, h, dtype=BF16)
    k = draw(rows, size, dtype=BF16)
    attention, index = draw(rows, top).abs(), draw(rows, top).abs()
    places = torch.stack([draw.permutation(max(top, n))[:top] for n in lengths for _ in range(n)])
    got = factory(q, weights, k, attention, index, places.int(), first, tokens(lengths), h, size,
                  top, block_I=block_I)  # fmt: skip
    d_q, d_k = torch.zeros(rows, h, size).double(), torch.zeros(rows, size).double()
    d_w = torch.zeros(rows, h).double()
    for row, (sequence, place) in enumerate(tokens(lengths).tolist()):
        seen = places[row] <= place
        at = (int(first[sequence]) + places[row]).clamp(max=rows - 1)
        keys = k[at].double() * seen[:, None]
        scaled = rounded(q[row].double() * scale, BF16)
        logits = (keys @ scaled.T).clamp(min=0)
        off = (index[row] - attention[row]).double()[:, None]
        d_w[row] = (off * logits).sum(0)
        d_logits = rounded(off * (logits > 0) * weights[row].double(), BF16)
        d_q[row] = d_logits.T @ keys * scale
        d_k.index_add_(0, at, d_logits @ scaled * seen[:, None])
    for name, x, y in zip(("dq", "dw", "dk"), got, (d_q, d_w, d_k), strict=True):
        yield Compared(name, x, y, 2e-2)


_V32 = "deepseek_v32/sparse_mla_bwd.py"
V32_ROWS = """
    b s  h  size tail top groups block_size
    1 36 16 64   16   32  1      32
    1 17 32 32   32   16  2      16
    2 33 64 128  64   32  1      32
"""


@driver(f"{_V32}:bwd", V32_ROWS)
def latent_bwd(
    factory: Any, draw: Draw, b: int, s: int, h: int, size: int, tail: int, top: int, groups: int,
    block_size: int,
) -> Iterator[Compared]:  # fmt: skip
    """A row that is named where there is none is the last one, which nothing before it sees."""
    q, kv = draw(b, s, h, size + tail, dtype=BF16), draw(b, s, groups, size + tail, dtype=BF16)
    d_o = draw(b, s, h, size, dtype=BF16)
    chosen = torch.full((b, s, groups, top), s - 1)
    for at in [(x, y, z) for x in range(b) for y in range(s - 1) for z in range(groups)]:
        rows = draw.permutation(at[1] + 1)[:top]
        chosen[at][: len(rows)] = rows
    chosen[:, -1] = draw.permutation(s)[:top]
    inputs = wanting(q, kv)
    outs, sums = [], []
    for at in [(x, y, z) for x in range(b) for y in range(s) for z in range(groups)]:
        rows = chosen[at][chosen[at] <= at[1]]
        k = inputs[1][at[0], rows, at[2]]
        heads = inputs[0][at[:2]].chunk(groups)[at[2]]
        scores = heads @ k.T * (size + tail) ** -0.5
        outs.append(torch.softmax(scores, 1) @ k[:, :size])
        sums.append(torch.logsumexp(scores, 1) * LOG2_E)
    out, lse = torch.stack(outs).view(b, s, h, size), torch.stack(sums).view(b, s, h)
    d_q, d_kv = gradients(out, d_o, inputs)
    delta = (out.detach() * d_o.double()).sum(-1).float()
    got = torch.zeros(b, s, groups, size + tail)
    got_q = factory(q, kv, d_o, chosen.int(), lse.detach().float(), delta, got, h, size, tail, top,
                    groups, block_size=block_size)  # fmt: skip
    yield Compared("dq", got_q, d_q, 1.5e-2)
    yield Compared("dkv", got, d_kv, 1.5e-2)


@driver(f"{_V32}:preprocess", """
    b s  h  size
    1 36 16 64
    2 33 64 128
""")  # fmt: skip
def latent_prepare(
    factory: Any, draw: Draw, b: int, s: int, h: int, size: int
) -> Iterator[Compared]:
    out, d_o = (draw(b, s, h, size, dtype=BF16) for _ in range(2))
    yield Compared("delta", factory(out, d_o), (out.double() * d_o.double()).sum(-1), 2e-3)


@driver(f"{_V32}:postprocess", """
    b s  size tail groups
    1 36 64   16   1
    1 17 32   32   2
""")  # fmt: skip
def latent_round(
    factory: Any, draw: Draw, b: int, s: int, size: int, tail: int, groups: int
) -> Iterator[Compared]:
    x = draw(b, s, groups, size + tail)
    yield Compared("dkv", factory(x, size, tail, groups), x, 5e-3)


@driver("deepseek_v4/sparse_attn_fwd_sm90.py:sparse_attn_fwd", """
    b s h   keys size top block_N dtype
    2 3 64  90   64   64  32      bf16
    1 2 128 50   32   32  32      f16
""")  # fmt: skip
def sparse_with_sinks(
    factory: Any, draw: Draw, b: int, s: int, h: int, keys: int, size: int, top: int, block_N: int,
    dtype: str,
) -> Iterator[Compared]:  # fmt: skip
    """One head of keys, which are values too; a sink takes its share of each sum. The last of the
    chosen rows are missing."""
    q, kv = draw(b, s, h, size, dtype=dtype), draw(b, keys, size, dtype=dtype)
    sinks = draw(h, dtype=dtype)
    chosen = torch.stack([draw.permutation(max(keys, top))[:top] for _ in range(b * s)])
    chosen = torch.where(chosen < keys, chosen, -1).view(b, s, top)
    chosen[..., -3:] = -1
    want = torch.zeros(b, s, h, size).double()
    for at in [(x, y) for x in range(b) for y in range(s)]:
        k = kv[at[0], chosen[at][chosen[at] >= 0]].double()
        scores = q[at].double() @ k.T * size**-0.5
        shares = torch.softmax(torch.cat([scores, sinks.double()[:, None]], 1), 1)
        want[at] = shares[:, :-1] @ k
    kernel = factory(b, h, s, keys, size, top, block_N=block_N, num_stages=2, threads=128,
                     dtype=dtype)  # fmt: skip
    yield Compared("o", kernel(q, kv, chosen.int(), sinks), want, 8e-3)
