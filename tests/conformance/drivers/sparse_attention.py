"""Kernels of attention over chosen rows: of DeepSeek's latent attention, and over blocks (NSA)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import torch

from conformance.drivers.case import Compared, Draw, driver
from conformance.drivers.formulas import (
    LOG2_E,
    causal,
    gradients,
    offsets,
    rounded,
    tokens,
    wanting,
)

F16, BF16 = "float16", "bfloat16"


def _attend(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Heads [heads, size] over rows that all of them see; and the logarithm of the sums."""
    scores = q.double() @ k.double().T * scale
    return torch.softmax(scores, 1) @ v.double(), torch.logsumexp(scores, 1)


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
            out[row, heads], lse[row, heads] = _attend(q[row, heads], k, k[:, :size], scale)
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
    """Weights of each chosen row, summed over 64 heads each."""
    q, kv, chosen, _, lse = _latent(draw, lengths, h, size, tail, top, groups)
    got = factory(q, kv, chosen, lse.float(), offsets(lengths), tokens(lengths), h, size, tail, top,
                  groups, **blocks)  # fmt: skip
    per_group, first = h // groups, offsets(lengths)
    want = torch.zeros(sum(lengths), groups, max(1, per_group // 64), top).double()
    for row, (sequence, _) in enumerate(tokens(lengths).tolist()):
        for group, heads in enumerate(torch.arange(h).chunk(groups)):
            places = chosen[row, group]
            k = kv[int(first[sequence]) + places.clamp(min=0), group].double()
            scores = q[row, heads].double() @ k.T * (size + tail) ** -0.5
            weights = torch.exp(scores - lse[row, heads, None]) * (places >= 0)
            want[row, group] = weights.view(-1, min(64, per_group), top).sum(1)
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


# --- over chosen blocks ------------------------------------------------------------------------------


def _chosen_blocks(draw: Draw, b: int, s: int, groups: int, block: int, count: int) -> torch.Tensor:
    """For each row and group some blocks up to the row's own; -1 where there is none."""
    found = torch.full((b, s, groups, count), -1)
    for at in [(x, y, z) for x in range(b) for y in range(s) for z in range(groups)]:
        blocks = draw.permutation(at[1] // block + 1)[:count]
        found[at][: len(blocks)] = blocks
    return found.int()


def _rows_of(blocks: torch.Tensor, block: int, end: int) -> torch.Tensor:
    """All rows of these blocks before the end."""
    rows = blocks[blocks >= 0].long()[:, None] * block + torch.arange(block)
    return rows[rows < end]


@driver("seer_attention/block_sparse_attn_tilelang.py:blocksparse_flashattn", """
    b h rows keys size is_causal
    1 2 192  192  64   True
    2 1 64   200  32   False
""")  # fmt: skip
def block_sparse_attention(
    factory: Any, draw: Draw, b: int, h: int, rows: int, keys: int, size: int, is_causal: bool
) -> Iterator[Compared]:
    """Which blocks of 64 keys a block of 64 rows sees, the first one always."""
    q = draw(b, h, rows, size, dtype=F16)
    k, v = (draw(b, h, keys, size, dtype=F16) for _ in range(2))
    count = -(-keys // 64)
    seen = draw.uniform(b, h, count, count) > 0.5
    seen[..., 0] = True
    if is_causal:
        seen = seen.tril()
    else:  # rows of keys behind the end count as keys of zero there
        seen[..., keys // 64 :] = False
    allowed = seen.repeat_interleave(64, 2).repeat_interleave(64, 3)[:, :, :rows, :keys]
    if is_causal:
        allowed = allowed & causal(rows, keys)
    scores = q.double() @ k.double().transpose(-1, -2) * size**-0.5
    want = torch.softmax(scores.masked_fill(~allowed, -torch.inf), -1) @ v.double()
    kernel = factory(b, h, rows, keys, size, count, is_causal)
    yield Compared("o", kernel(q, k, v, seen.to(torch.int8)), want, 3e-3)


NSA_ROWS = """
    b s  groups heads size block count is_causal
    1 40 1      16    32   16    3     True
    1 33 2      16    64   8     4     True
"""


def _nsa_fwd(
    factory: Any, draw: Draw, b: int, s: int, groups: int, heads: int, size: int, block: int,
    count: int, is_causal: bool,
) -> Iterator[Compared]:  # fmt: skip
    """`heads` is how many of them share a group."""
    q = draw(b, s, groups * heads, size, dtype=F16)
    k, v = (draw(b, s, groups, size, dtype=F16) for _ in range(2))
    blocks = _chosen_blocks(draw, b, s, groups, block, count)
    got = factory(q, k, v, blocks, size, is_causal, block_size=block, groups=heads,
                  selected_blocks=count)  # fmt: skip
    want = torch.zeros(b, s, groups, heads, size).double()
    for at in [(x, y, z) for x in range(b) for y in range(s) for z in range(groups)]:
        rows = _rows_of(blocks[at], block, at[1] + 1 if is_causal else s)
        own = q[at[:2]].chunk(groups)[at[2]]
        want[at], _ = _attend(own, k[at[0], rows, at[2]], v[at[0], rows, at[2]], size**-0.5)
    yield Compared("o", got, want.view(b, s, groups * heads, size), 3e-3)


nsa_fwd = driver("deepseek_nsa/example_tilelang_nsa_fwd.py:native_sparse_attention", NSA_ROWS)(
    _nsa_fwd
)
nsa_benchmark = driver(
    "deepseek_nsa/benchmark/benchmark_nsa_fwd.py:tilelang_sparse_attention", NSA_ROWS
)(_nsa_fwd)


@driver("deepseek_nsa/example_tilelang_nsa_decode.py:native_sparse_attention", """
    b keys groups heads size block count
    2 96   2      16    32   16    3
    1 50   1      32    64   8     4
""")  # fmt: skip
def nsa_decode(
    factory: Any, draw: Draw, b: int, keys: int, groups: int, heads: int, size: int, block: int,
    count: int,
) -> Iterator[Compared]:  # fmt: skip
    """One row, which sees whole blocks."""
    q = draw(b, 1, groups * heads, size, dtype=F16)
    k, v = (draw(b, keys, groups, size, dtype=F16) for _ in range(2))
    blocks = torch.full((b, 1, groups, count), -1)
    for at in [(x, z) for x in range(b) for z in range(groups)]:
        blocks[at[0], 0, at[1]] = draw.permutation(keys // block)[:count]
    got = factory(q, k, v, blocks.int(), size, block_size=block, groups=heads,
                  selected_blocks=count)  # fmt: skip
    want = torch.zeros(b, 1, groups, heads, size).double()
    for x, z in [(x, z) for x in range(b) for z in range(groups)]:
        rows = _rows_of(blocks[x, 0, z], block, keys)
        own = q[x, 0].chunk(groups)[z]
        want[x, 0, z], _ = _attend(own, k[x, rows, z], v[x, rows, z], size**-0.5)
    yield Compared("o", got, want.view(b, 1, groups * heads, size), 3e-3)


@driver("deepseek_nsa/example_tilelang_nsa_fwd_varlen.py:native_sparse_attention_varlen", """
    lengths groups heads size block count is_causal
    20,33   1      16    32   16    3     True
    17,     2      16    64   16    4     True
""")  # fmt: skip
def nsa_fwd_varlen(
    factory: Any, draw: Draw, lengths: tuple[int, ...], groups: int, heads: int, size: int,
    block: int, count: int, is_causal: bool,
) -> Iterator[Compared]:  # fmt: skip
    """How many blocks a row sees is told by its place in the sequence, for all sequences."""
    rows, first = sum(lengths), offsets(lengths)
    q = draw(rows, groups * heads, size, dtype=F16)
    k, v = (draw(rows, groups, size, dtype=F16) for _ in range(2))
    counts = draw.integers(1, count + 1, max(lengths), groups)
    blocks = torch.cat([_chosen_blocks(draw, 1, n, groups, block, count)[0] for n in lengths])
    of_row = torch.zeros(rows, groups, dtype=torch.int32)
    of_row[: max(lengths)] = counts
    out = torch.zeros(rows, groups * heads, size, dtype=torch.float16)
    factory(q, k, v, out, blocks, of_row, first, tokens(lengths), batch=len(lengths), dim=size,
            is_causal=is_causal, block_size=block, groups=heads, selected_blocks=count)  # fmt: skip
    want = torch.zeros(rows, groups, heads, size).double()
    for row, (sequence, place) in enumerate(tokens(lengths).tolist()):
        for group in range(groups):
            seen = blocks[row, group, : int(counts[place, group])]
            at = int(first[sequence]) + _rows_of(seen, block, place + 1)
            own = q[row].chunk(groups)[group]
            want[row, group], _ = _attend(own, k[at, group], v[at, group], size**-0.5)
    yield Compared("o", out, want.view(rows, groups * heads, size), 3e-3)


@driver("deepseek_nsa/example_tilelang_nsa_bwd.py:tilelang_kernel_bwd_dkv", """
    b s  groups heads size block count
    1 48 1      16    32   16    3
    1 32 2      16    64   16    2
""")  # fmt: skip
def nsa_bwd_dkv(
    factory: Any, draw: Draw, b: int, s: int, groups: int, heads: int, size: int, block: int,
    count: int,
) -> Iterator[Compared]:  # fmt: skip
    """The module takes the number of groups from a name that only its own main defines."""
    sys.modules["example_example_tilelang_nsa_bwd"].__dict__["H"] = groups
    h = groups * heads
    q, d_o = (draw(b, s, h, size, dtype=F16) for _ in range(2))
    k, v = (draw(b, s, groups, size, dtype=F16) for _ in range(2))
    blocks = _chosen_blocks(draw, b, s, groups, block, count)
    inputs = wanting(q, k, v)
    outs, sums = [], []
    for at in [(x, y, z) for x in range(b) for y in range(s) for z in range(groups)]:
        rows = _rows_of(blocks[at], block, at[1] + 1)
        own = inputs[0][at[:2]].chunk(groups)[at[2]]
        scores = own @ inputs[1][at[0], rows, at[2]].T * size**-0.5
        outs.append(torch.softmax(scores, 1) @ inputs[2][at[0], rows, at[2]])
        sums.append(torch.logsumexp(scores, 1) * LOG2_E)
    out, lse = torch.stack(outs).view(b, s, h, size), torch.stack(sums).view(b, s, h)
    _, d_k, d_v = gradients(out, d_o, inputs)
    delta = (out.detach() * d_o.double()).sum(-1)
    seen = torch.zeros(b, s, groups, -(-s // block), dtype=torch.int32)
    for at in [(x, y, z) for x in range(b) for y in range(s) for z in range(groups)]:
        seen[at][blocks[at][blocks[at] >= 0].long()] = 1
    got_k = torch.zeros(1, b, s, groups, size, dtype=torch.float16)
    got_v = torch.zeros(b, s, groups, size, dtype=torch.float16)
    factory(q, k, v, lse.detach().float(), delta.float(), d_o, got_k, got_v, seen, size, True,
            block_size=block, groups=heads, selected_blocks=count)  # fmt: skip
    yield Compared("dk", got_k[0], d_k, 5e-3)
    yield Compared("dv", got_v, d_v, 5e-3)
