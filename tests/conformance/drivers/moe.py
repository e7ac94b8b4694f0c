"""Kernels of experts: mixtures of them, and products in groups of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from conformance.drivers.case import Compared, Draw, driver, tolerance
from conformance.drivers.formulas import int32, rounded

_FUSED = "fusedmoe/example_fusedmoe_tilelang.py"


def _starts(sizes: Sequence[int], tile: int = 1) -> list[int]:
    """Where groups begin whose sizes are rounded up to a tile."""
    ends = torch.tensor([-(-size // tile) * tile for size in sizes]).cumsum(0).tolist()
    return [0, *ends[:-1]]


def _gated(x: torch.Tensor, gate: torch.Tensor, up: torch.Tensor, dtype: str) -> torch.Tensor:
    """silu(x gate) * (x up), as it is stored."""
    along = x.double() @ gate.double().T
    return rounded(along * torch.sigmoid(along) * (x.double() @ up.double().T), dtype)


@driver(f"{_FUSED}:moe_forward_tilelang_shared", """
    tokens hidden expert dtype block_token block_dhidden block_dexpert num_stages
    96     128    64     f16   32          32            32            1
    70     96     80     bf16  32          64            32            2
""")  # fmt: skip
def shared_expert(
    factory: Any, draw: Draw, tokens: int, hidden: int, expert: int, dtype: str, **blocks: int
) -> Iterator[Compared]:
    x = draw(tokens, hidden, dtype=dtype, scale=0.5)
    gate, up = (draw(expert, hidden, dtype=dtype, scale=0.2) for _ in range(2))
    down = draw(hidden, expert, dtype=dtype, scale=0.2)
    logits, out = x.new_zeros(tokens, expert), x.new_zeros(tokens, hidden)
    factory(x, gate, up, down, logits, out, dtype, threads=128, **blocks)
    want = _gated(x, gate, up, dtype)
    yield Compared("up", logits, want, 3 * tolerance(dtype))
    yield Compared("out", out, want @ down.double().T, 3 * tolerance(dtype))


@driver(f"{_FUSED}:moe_forward_tilelang_routed", """
    sizes      hidden expert dtype block_token block_dhidden block_dexpert num_stages
    20,33,0,47 64     96     f16   32          32            32            1
    64,5       96     64     bf16  32          64            64            2
""")  # fmt: skip
def routed_experts(
    factory: Any, draw: Draw, sizes: tuple[int, ...], hidden: int, expert: int, dtype: str,
    block_token: int, **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    count, rows = len(sizes), sum(sizes)
    x, weights = draw(rows, hidden, dtype=dtype, scale=0.5), draw(rows, dtype=dtype)
    gate, up = (draw(count, expert, hidden, dtype=dtype, scale=0.2) for _ in range(2))
    down = draw(count, hidden, expert, dtype=dtype, scale=0.2)
    # The expert of each tile of rows; there are more tiles than needed.
    of_tile = [n for n, size in enumerate(sizes) for _ in range(-(-size // block_token))]
    of_tile += [count - 1] * (-(-rows // block_token) + count - len(of_tile))
    logits, out = x.new_zeros(rows, expert), x.new_zeros(rows, hidden)
    factory(x, gate, up, down, weights, int32(*sizes), int32(*_starts(sizes)),
            int32(*_starts(sizes, block_token)), int32(*of_tile), logits, out, dtype,
            group_sum=rows, group_count=count, block_token=block_token, threads=128,
            **blocks)  # fmt: skip
    parts = zip(x.split(sizes), gate, up, strict=True)
    wanted = [_gated(part, g, u, dtype) for part, g, u in parts]
    outs = [a @ d.double().T for a, d in zip(wanted, down, strict=True)]
    yield Compared("up", logits, torch.cat(wanted), 3 * tolerance(dtype))
    want = torch.cat(outs) * weights.double()[:, None]
    yield Compared("out", out, want, 3 * tolerance(dtype))


GROUPED_ROWS = """
    sizes      k  n  block_M block_N block_K dtype
    20,33,7    64 96 32      32      32      f16
    64,1,40,16 50 70 16      32      32      bf16
"""


def _product(a: torch.Tensor, b: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
    parts = zip(a.double().split(list(sizes)), b.double(), strict=True)
    return torch.cat([x @ y for x, y in parts])


@driver("grouped_gemm/example_grouped_gemm_bwd.py:grouped_gemm_fwd", GROUPED_ROWS)
def grouped_of_bwd(
    factory: Any, draw: Draw, sizes: tuple[int, ...], k: int, n: int, block_M: int, block_N: int,
    block_K: int, dtype: str,
) -> Iterator[Compared]:  # fmt: skip
    a, b = draw(sum(sizes), k, dtype=dtype), draw(len(sizes), k, n, dtype=dtype)
    got = factory(a, b, int32(*sizes), int32(*_starts(sizes)), int32(*_starts(sizes, block_M)),
                  block_M, block_N, block_K, dtype=dtype)  # fmt: skip
    yield Compared("c", got, _product(a, b, sizes), tolerance(dtype))


@driver("grouped_gemm/example_grouped_gemm_fwd.py:grouped_gemm", """
    sizes      k  n  block_M block_N block_K dtype trans_b
    20,33,7    64 96 32      32      32      f16   False
    64,1,40,16 50 70 16      32      32      bf16  True
""")  # fmt: skip
def grouped_fwd(
    factory: Any, draw: Draw, sizes: tuple[int, ...], k: int, n: int, block_M: int, block_N: int,
    block_K: int, dtype: str, trans_b: bool,
) -> Iterator[Compared]:  # fmt: skip
    a, b = draw(sum(sizes), k, dtype=dtype), draw(len(sizes), k, n, dtype=dtype)
    given = b.transpose(1, 2).contiguous() if trans_b else b
    got = factory(a, given, int32(*sizes), int32(*_starts(sizes)), int32(*_starts(sizes, block_M)),
                  sizes, block_M, block_N, block_K, trans_b=trans_b, dtype=dtype)  # fmt: skip
    yield Compared("c", got, _product(a, b, sizes), tolerance(dtype))


@driver("grouped_gemm/example_grouped_gemm_bwd.py:grouped_gemm_bwd", """
    sizes    m  n
    32,16,32 64 48
    16,64    40 72
""")  # fmt: skip
def grouped_bwd(
    factory: Any, draw: Draw, sizes: tuple[int, ...], m: int, n: int
) -> Iterator[Compared]:
    """Of the matrix of each group, from its rows."""
    a, b = (draw(sum(sizes), columns, dtype="float16") for columns in (m, n))
    got = factory(a, b, int32(*sizes), int32(*_starts(sizes)), 32, 32, 32)
    parts = zip(a.double().split(sizes), b.double().split(sizes), strict=True)
    yield Compared("d", got, torch.stack([x.T @ y for x, y in parts]), 2e-3)
