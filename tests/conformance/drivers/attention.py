"""Kernels of attention with a softmax, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from conformance.drivers.case import Compared, Draw, driver
from conformance.drivers.formulas import (
    causal,
    gradients,
    int32,
    offsets,
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


# --- backward, in three steps --------------------------------------------------------------------

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


# --- sequences one behind the other ---------------------------------------------------------------

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


# --- decoding with one latent head ------------------------------------------------------------------


def _latent(
    q: torch.Tensor, q_pe: torch.Tensor, kv: torch.Tensor, k_pe: torch.Tensor, lengths: list[int]
) -> torch.Tensor:
    """Of q [batch, heads, size] over keys [batch, rows, size], as many as there are of each."""
    scale = (q.shape[-1] + q_pe.shape[-1]) ** -0.5
    scores = q.double() @ kv.double().transpose(1, 2) + q_pe.double() @ k_pe.double().transpose(
        1, 2
    )
    for number, length in enumerate(lengths):
        scores[number, :, length:] = -torch.inf
    return torch.softmax(scores * scale, -1) @ kv.double()


@driver("deepseek_mla/example_mla_decode.py:flashattn", """
    b h  keys size pe block_N block_H splits
    1 32 192  64   16 64      32      1
    2 64 128  128  32 32      64      2
    1 16 256  64   64 64      16      4
""")  # fmt: skip
def mla_decode(
    factory: Any, draw: Draw, b: int, h: int, keys: int, size: int, pe: int, block_N: int,
    block_H: int, splits: int,
) -> Iterator[Compared]:  # fmt: skip
    q, q_pe = draw(b, h, size, dtype=F16), draw(b, h, pe, dtype=F16)
    kv, k_pe = draw(b, keys, 1, size, dtype=F16), draw(b, keys, 1, pe, dtype=F16)
    kernel = factory(b, h, 1, keys, size, pe, block_N, block_H, splits, (size + pe) ** -0.5)
    want = _latent(q, q_pe, kv[:, :, 0], k_pe[:, :, 0], [keys] * b)
    yield Compared("o", kernel(q, q_pe, kv, k_pe), want, 3e-3)


@driver("deepseek_mla/example_mla_decode_paged.py:mla_decode_tilelang", """
    lengths h  keys size pe block_N block_H splits page
    130,192 32 192  64   16 64      32      1      64
    100,61  16 128  64   32 32      16      2      32
""")  # fmt: skip
def mla_decode_paged(
    factory: Any, draw: Draw, lengths: tuple[int, ...], h: int, keys: int, size: int, pe: int,
    block_N: int, block_H: int, splits: int, page: int,
) -> Iterator[Compared]:  # fmt: skip
    """The pages of all sequences are shuffled."""
    b = len(lengths)
    q, q_pe = draw(b, h, size, dtype=F16), draw(b, h, pe, dtype=F16)
    kv, k_pe = draw(b * keys, 1, size, dtype=F16), draw(b * keys, 1, pe, dtype=F16)
    pages = draw.permutation(b * keys // page).int().view(b, keys // page)
    rows = (pages[..., None] * page + torch.arange(page)).view(b, keys)
    sums = torch.zeros(b, h, splits, dtype=torch.float16)
    parts = torch.zeros(b, h, splits, size, dtype=torch.float16)
    kernel = factory(b, h, 1, keys, size, pe, block_N, block_H, splits, page)
    got = kernel(q, q_pe, kv, k_pe, pages, int32(*lengths), sums, parts)
    want = _latent(q, q_pe, kv[rows, 0], k_pe[rows, 0], list(lengths))
    yield Compared("o", got, want, 3e-3)
