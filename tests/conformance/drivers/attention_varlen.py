"""Kernels of attention over sequences that lie one behind the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from conformance.drivers.attention import Attention, attention
from conformance.drivers.case import Compared, Draw, driver
from conformance.drivers.formulas import (
    offsets,
)

F16 = "float16"

_VARLEN = "flash_attention/example_gqa_bwd_tma_reduce_varlen.py"
VARLEN_ROWS = """
    rows     keys     h groups size size_v is_causal block_M block_N num_stages
    64,32    64,96    4 2      64   64     True      32      32      2
    40,75    33,64    2 1      32   64     False     32      32      1
"""
# The kernel that splits stores whole blocks of the longest sequence for all of them: in a shorter
# one they would fall on rows of the next.
VARLEN_WHOLE_ROWS = """
    rows     keys     h groups size size_v is_causal block_M block_N num_stages
    64,32    64,64    4 2      64   64     True      32      32      2
    40,75    32,32    2 1      32   64     False     32      32      1
"""


@dataclass(frozen=True, slots=True)
class Sequences:
    """Each sequence by itself; rows of all lie one behind the other, and lengths differ."""

    rows: tuple[int, ...]
    keys: tuple[int, ...]
    each: tuple[Attention, ...]

    def joined(self, name: str) -> torch.Tensor:
        return torch.cat([getattr(x, name)[0] for x in self.each])

    def padded(self, name: str) -> torch.Tensor:
        """[sequences, heads, rows of the longest], zero behind the end."""
        found = [getattr(x, name)[0] for x in self.each]
        whole = torch.zeros(len(found), found[0].shape[0], max(self.rows)).double()
        for number, part in enumerate(found):
            whole[number, :, : part.shape[1]] = part
        return whole


def sequences(
    draw: Draw, rows: tuple[int, ...], keys: tuple[int, ...], h: int, groups: int, size: int,
    size_v: int, is_causal: bool,
) -> Sequences:  # fmt: skip
    """Causal from the first row on."""
    each = []
    for m, n in zip(rows, keys, strict=True):
        allowed = torch.ones(m, n, dtype=torch.bool).tril() if is_causal else None
        each.append(attention(draw, 1, h, m, n, size, size_v, groups, allowed))
    return Sequences(rows, keys, tuple(each))


@driver(f"{_VARLEN}:flashattn_fwd", VARLEN_ROWS)
def varlen_fwd(
    factory: Any, draw: Draw, rows: tuple[int, ...], keys: tuple[int, ...], h: int, groups: int,
    size: int, size_v: int, is_causal: bool, block_M: int, block_N: int, num_stages: int,
) -> Iterator[Compared]:  # fmt: skip
    x = sequences(draw, rows, keys, h, groups, size, size_v, is_causal)
    longest = max(rows)
    kernel = factory(len(rows), sum(rows), sum(keys), longest, h, longest, size, size_v, is_causal,
                     block_M, block_N, groups)  # fmt: skip
    out, lse = kernel(*map(x.joined, "qkv"), offsets(rows), offsets(keys))
    yield Compared("o", out, x.joined("out"), 3e-3)
    yield Compared("lse", lse, x.padded("lse"), 3e-3)


@driver(f"{_VARLEN}:flashattn_bwd_preprocess", VARLEN_ROWS)
def varlen_prepare(
    factory: Any, draw: Draw, rows: tuple[int, ...], keys: tuple[int, ...], h: int, groups: int,
    size: int, size_v: int, is_causal: bool, **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    x = sequences(draw, rows, keys, h, groups, size, size_v, is_causal)
    kernel = factory(len(rows), h, sum(rows), max(rows), max(rows), size_v)
    got = kernel(x.joined("out").half(), x.joined("d_o"), offsets(rows))
    yield Compared("delta", got, x.padded("delta"), 2e-3)


@driver(f"{_VARLEN}:flashattn_bwd_postprocess", """
    rows keys h groups size size_v
    160  96   2 1      64   32
    50   70   4 2      32   32
""")  # fmt: skip
def varlen_round(
    factory: Any, draw: Draw, rows: int, keys: int, h: int, groups: int, size: int, size_v: int
) -> Iterator[Compared]:
    few = h // groups
    given = draw(rows, h, size), draw(keys, few, size), draw(keys, few, size_v)
    got = factory(rows, keys, h, few, size, size_v)(*given)
    for name, x, y in zip(("dq", "dk", "dv"), got, given, strict=True):
        yield Compared(name, x, y, 1e-3)


def _varlen_bwd(split: bool) -> Any:
    def check(
        factory: Any, draw: Draw, rows: tuple[int, ...], keys: tuple[int, ...], h: int, groups: int,
        size: int, size_v: int, is_causal: bool, block_M: int, block_N: int, num_stages: int,
    ) -> Iterator[Compared]:  # fmt: skip
        x = sequences(draw, rows, keys, h, groups, size, size_v, is_causal)
        k, v, d_q = x.joined("k"), x.joined("v"), torch.zeros(sum(rows), h, size)
        if split:
            d_k, d_v = (torch.zeros(groups, *t.shape, dtype=t.dtype) for t in (k, v))
        else:
            d_k, d_v = (torch.zeros(t.shape) for t in (k, v))
        kernel = factory(len(rows), sum(rows), sum(keys), max(rows), h, max(keys), size,
                         size_v, is_causal, block_M, block_N, threads=128, num_stages=num_stages,
                         groups=groups)  # fmt: skip
        kernel(x.joined("q"), k, v, x.joined("d_o"), x.padded("lse").float(),
               x.padded("delta").float(), offsets(rows), offsets(keys), d_q, d_k, d_v)  # fmt: skip
        yield Compared("dq", d_q, x.joined("d_q"), 5e-3)
        yield Compared("dk", d_k.double().sum(0) if split else d_k, x.joined("d_k"), 5e-3)
        yield Compared("dv", d_v.double().sum(0) if split else d_v, x.joined("d_v"), 5e-3)

    return check


varlen_atomic = driver(f"{_VARLEN}:flashattn_bwd_atomic_add", VARLEN_ROWS)(_varlen_bwd(False))
varlen_split = driver(f"{_VARLEN}:flashattn_bwd_split", VARLEN_WHOLE_ROWS)(_varlen_bwd(True))


# --- one half of noisy rows, one of clean rows ------------------------------------------------------

_BLOCK_CAUSAL = "block_causal_attention/block_causal_attention_varlen.py"
BLOCK_CAUSAL_ROWS = """
    tiles h size block dtype
    1,2   2 64   16    f16
    2,0   1 64   64    bf16
"""
TILE = 64


def _noisy_and_clean(half: int, block: int) -> torch.Tensor:
    """A noisy row sees noisy rows of its block and clean ones of blocks before; a clean row sees
    clean ones up to its block."""
    row = torch.arange(half)[:, None] // block
    key = torch.arange(half)[None, :] // block
    never = torch.zeros(half, half, dtype=torch.bool)
    return torch.cat([torch.cat([row == key, row > key], 1), torch.cat([never, row >= key], 1)])


def _blocks(
    draw: Draw, tiles: tuple[int, ...], h: int, size: int, block: int, dtype: str
) -> Sequences:
    each, lengths = [], tuple(2 * TILE * t for t in tiles)
    for length in lengths:
        allowed = _noisy_and_clean(length // 2, block)
        each.append(attention(draw, 1, h, length, length, size, allowed=allowed, dtype=dtype))
    return Sequences(lengths, lengths, tuple(each))


def _of_rows(x: Sequences, name: str) -> torch.Tensor:
    """[heads, rows of all sequences]."""
    return torch.cat([getattr(each, name)[0] for each in x.each], -1).float()


@driver(f"{_BLOCK_CAUSAL}:_fwd_varlen_template", BLOCK_CAUSAL_ROWS)
def block_causal_fwd(
    factory: Any, draw: Draw, tiles: tuple[int, ...], h: int, size: int, block: int, dtype: str
) -> Iterator[Compared]:
    x = _blocks(draw, tiles, h, size, block, dtype)
    kernel = factory(len(tiles), h, size, block, size**-0.5, dtype=dtype)
    q = x.joined("q")
    out, lse = torch.zeros_like(q), torch.zeros(h, sum(x.rows))
    kernel(q, x.joined("k"), x.joined("v"), offsets(x.rows), max(x.rows), out, lse)
    yield Compared("o", out, x.joined("out"), 8e-3)
    yield Compared("lse", lse, _of_rows(x, "lse"), 3e-3)


@driver(f"{_BLOCK_CAUSAL}:_bwd_preprocess_varlen_template", BLOCK_CAUSAL_ROWS)
def block_causal_prepare(
    factory: Any, draw: Draw, tiles: tuple[int, ...], h: int, size: int, block: int, dtype: str
) -> Iterator[Compared]:
    rows = 2 * TILE * sum(tiles)
    out, d_o = (draw(rows, h, size, dtype=dtype) for _ in range(2))
    delta = torch.zeros(h, rows)
    factory(h, size, dtype=dtype)(out, d_o, delta)
    yield Compared("delta", delta, (out.double() * d_o.double()).sum(-1).T, 8e-3)


def _block_causal_bwd(names: tuple[str, ...]) -> Any:
    def check(
        factory: Any, draw: Draw, tiles: tuple[int, ...], h: int, size: int, block: int, dtype: str
    ) -> Iterator[Compared]:
        x = _blocks(draw, tiles, h, size, block, dtype)
        kernel = factory(len(tiles), h, size, block, size**-0.5, num_stages=2, dtype=dtype)
        q, k, v, d_o = map(x.joined, ("q", "k", "v", "d_o"))
        got = [torch.zeros_like(q) for _ in names]
        kernel(q, k, v, d_o, offsets(x.rows), max(x.rows), _of_rows(x, "lse"),
               _of_rows(x, "delta"), *got)  # fmt: skip
        for name, y in zip(names, got, strict=True):
            yield Compared(name, y, x.joined(name), 1e-2)

    return check


block_causal_dq = driver(f"{_BLOCK_CAUSAL}:_bwd_dq_varlen_template", BLOCK_CAUSAL_ROWS)(
    _block_causal_bwd(("d_q",))
)
block_causal_dkv = driver(f"{_BLOCK_CAUSAL}:_bwd_dkv_varlen_template", BLOCK_CAUSAL_ROWS)(
    _block_causal_bwd(("d_k", "d_v"))
)
