"""Kernels of attention over chosen blocks of rows: native sparse attention, and masks of blocks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch

from conformance.drivers.case import Compared, Draw, driver
from conformance.drivers.formulas import LOG2_E, attend, causal, gradients, offsets, tokens, wanting

F16 = "float16"


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
        want[at], _ = attend(own, k[at[0], rows, at[2]], v[at[0], rows, at[2]], size**-0.5)
    yield Compared("o", got, want.view(b, s, groups * heads, size), 3e-3)


nsa_fwd = driver("deepseek_nsa/example_tilelang_nsa_fwd.py:native_sparse_attention", NSA_ROWS)(
    _nsa_fwd
)
nsa_benchmark = driver(
    "deepseek_nsa/benchmark/benchmark_nsa_fwd.py:tilelang_sparse_attention", NSA_ROWS
)(_nsa_fwd)


@driver("deepseek_nsa/example_tilelang_nsa_decode.py:native_sparse_attention", """
    b keys groups heads size block count
    2 96   2      16    32   16    1
    2 96   2      16    32   16    3
    1 50   1      32    64   8     4
    1 38   2      16    32   16    4
""")  # fmt: skip
def nsa_decode(
    factory: Any, draw: Draw, b: int, keys: int, groups: int, heads: int, size: int, block: int,
    count: int,
) -> Iterator[Compared]:  # fmt: skip
    """One row, which sees whole blocks, or fewer than it has room for. This is attention for one
    block alone, as the script runs it: the kernel never scales its products to the maximum of a
    later block, so a block counts exp(maximum of the last - its own) times."""
    q = draw(b, 1, groups * heads, size, dtype=F16)
    k, v = (draw(b, keys, groups, size, dtype=F16) for _ in range(2))
    blocks = torch.full((b, 1, groups, count), -1)
    for at in [(x, z) for x in range(b) for z in range(groups)]:
        some = draw.permutation(keys // block)[:count]
        blocks[at[0], 0, at[1]][: len(some)] = some
    got = factory(q, k, v, blocks.int(), size, block_size=block, groups=heads,
                  selected_blocks=count)  # fmt: skip
    want = torch.zeros(b, 1, groups, heads, size).double()
    for x, z in [(x, z) for x in range(b) for z in range(groups)]:
        rows = _rows_of(blocks[x, 0, z], block, keys)
        scores = q[x, 0].chunk(groups)[z].double() @ k[x, rows, z].double().T * size**-0.5
        highest = scores.unflatten(1, (-1, block)).amax(2)
        more = torch.exp(highest[:, -1:] - highest).repeat_interleave(block, 1)
        want[x, 0, z] = (torch.softmax(scores, 1) * more) @ v[x, rows, z].double()
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
            want[row, group], _ = attend(own, k[at, group], v[at, group], size**-0.5)
    yield Compared("o", out, want.view(rows, groups * heads, size), 3e-3)


# --- backward -----------------------------------------------------------------------------------

_BWD = "deepseek_nsa/example_tilelang_nsa_bwd.py"
BWD_ROWS = """
    b s  groups heads size block count
    1 48 1      16    32   16    3
    1 32 2      16    64   16    2
"""


@dataclass(frozen=True, slots=True)
class Selected:
    """Inputs [batch, rows, heads, size], the chosen blocks, and all results; `seen` tells which row
    sees which block."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    d_o: torch.Tensor
    blocks: torch.Tensor
    seen: torch.Tensor
    out: torch.Tensor
    lse: torch.Tensor
    gradients: tuple[torch.Tensor, ...]

    @property
    def given(self) -> tuple[torch.Tensor, ...]:
        """What the kernels of the backward pass take first."""
        delta = (self.out * self.d_o.double()).sum(-1)
        return self.q, self.k, self.v, self.lse.float(), delta.float(), self.d_o


def selected(
    draw: Draw, b: int, s: int, groups: int, heads: int, size: int, block: int, count: int
) -> Selected:
    """Causal attention; the module takes the number of groups from a name that its main defines."""
    sys.modules["example_example_tilelang_nsa_bwd"].__dict__["H"] = groups
    h = groups * heads
    q, d_o = (draw(b, s, h, size, dtype=F16) for _ in range(2))
    k, v = (draw(b, s, groups, size, dtype=F16) for _ in range(2))
    blocks = _chosen_blocks(draw, b, s, groups, block, count)
    seen = torch.zeros(b, s, groups, -(-s // block), dtype=torch.int32)
    inputs, outs, sums = wanting(q, k, v), [], []
    for at in product(range(b), range(s), range(groups)):
        seen[at][blocks[at][blocks[at] >= 0].long()] = 1
        rows = _rows_of(blocks[at], block, at[1] + 1)
        own = inputs[0][at[:2]].chunk(groups)[at[2]]
        out, lse = attend(
            own, inputs[1][at[0], rows, at[2]], inputs[2][at[0], rows, at[2]], size**-0.5
        )
        outs.append(out)
        sums.append(lse * LOG2_E)
    out, lse = torch.stack(outs).view(b, s, h, size), torch.stack(sums).view(b, s, h)
    found = gradients(out, d_o, inputs)
    return Selected(q, k, v, d_o, blocks, seen, out.detach(), lse.detach(), found)


@driver(f"{_BWD}:tilelang_kernel_fwd", BWD_ROWS)
def nsa_fwd_with_sums(
    factory: Any, draw: Draw, b: int, s: int, groups: int, heads: int, size: int, block: int,
    count: int,
) -> Iterator[Compared]:  # fmt: skip
    x = selected(draw, b, s, groups, heads, size, block, count)
    out, lse = factory(x.q, x.k, x.v, x.blocks, size, True, block_size=block, groups=heads,
                       selected_blocks=count)  # fmt: skip
    yield Compared("o", out, x.out, 3e-3)
    yield Compared("lse", lse, x.lse, 3e-3)


@driver(f"{_BWD}:tilelang_kernel_bwd_dkv", BWD_ROWS)
def nsa_bwd_dkv(
    factory: Any, draw: Draw, b: int, s: int, groups: int, heads: int, size: int, block: int,
    count: int,
) -> Iterator[Compared]:  # fmt: skip
    x = selected(draw, b, s, groups, heads, size, block, count)
    d_k, d_v = torch.zeros_like(x.k)[None], torch.zeros_like(x.v)
    factory(*x.given, d_k, d_v, x.seen, size, True, block_size=block, groups=heads,
            selected_blocks=count)  # fmt: skip
    yield Compared("dk", d_k[0], x.gradients[1], 5e-3)
    yield Compared("dv", d_v, x.gradients[2], 5e-3)


@driver(f"{_BWD}:tilelang_kernel_bwd_dqkv", BWD_ROWS)
def nsa_bwd_dqkv(
    factory: Any, draw: Draw, b: int, s: int, groups: int, heads: int, size: int, block: int,
    count: int,
) -> Iterator[Compared]:  # fmt: skip
    """The gradient of q is summed up in float16."""
    x = selected(draw, b, s, groups, heads, size, block, count)
    d_q, d_k, d_v = torch.zeros_like(x.q)[None], torch.zeros_like(x.k)[None], torch.zeros_like(x.v)
    factory(*x.given, d_q, d_k, d_v, x.seen, size, True, block_size=block, groups=heads,
            selected_blocks=count)  # fmt: skip
    yield Compared("dq", d_q[0], x.gradients[0], 5e-3)
    yield Compared("dk", d_k[0], x.gradients[1], 5e-3)
    yield Compared("dv", d_v, x.gradients[2], 5e-3)


@driver(f"{_BWD}:tilelang_kernel_preprocess", """
    b s  h  size
    1 48 16 32
    2 33 3  96
""")  # fmt: skip
def nsa_prepare(factory: Any, draw: Draw, b: int, s: int, h: int, size: int) -> Iterator[Compared]:
    out, d_o = (draw(b, s, h, size, dtype=F16) for _ in range(2))
    yield Compared("delta", factory(out, d_o), (out.double() * d_o.double()).sum(-1), 2e-3)


@driver(f"{_BWD}:tilelang_kernel_block_mask", """
    b s  groups block
    1 48 2      16
    2 20 1      8
""")  # fmt: skip
def nsa_block_mask(
    factory: Any, draw: Draw, b: int, s: int, groups: int, block: int
) -> Iterator[Compared]:
    """Whether each chosen block counts, of as many as there are blocks: the kernel leaves the rest
    of its result unwritten. The module asks a name of its main whether there are counts."""
    sys.modules["example_example_tilelang_nsa_bwd"].__dict__["block_counts"] = True
    count = -(-s // block)
    blocks = draw.integers(0, count, b, s, groups, count)
    counts = draw.integers(0, count + 1, b, s, groups)
    rows, slots = torch.arange(s)[:, None, None], torch.arange(count)
    want = (blocks * block <= rows) & (slots < counts[..., None])
    yield Compared("mask", factory(blocks, counts, block), want, 1e-9)
