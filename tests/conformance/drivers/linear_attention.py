"""Kernels of linear attention, retention and Mamba."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from conformance.drivers.case import Compared, Draw, driver, tolerance
from conformance.drivers.formulas import gradients, heads_first, wanting

F16 = "float16"


def _per_head(x: torch.Tensor, heads: int, along: int) -> torch.Tensor:
    """Groups repeated for the heads that share them."""
    return x.repeat_interleave(heads // x.shape[along], along).double()


@driver("linear_attention/example_mamba_chunk_scan.py:chunk_scan_fwd", """
    b s   chunk groups h p  n   block_M block_N block_K block_Dstate num_stages
    1 256 128   1      3 64 128 64      64      64      128          2
    2 128 64    2      4 32 64  32      32      64      64           3
    1 256 256   1      2 96 64  128     64      64      64           1
    1 192 96    1      2 48 64  32      32      32      64           1
""")  # fmt: skip
def mamba_chunk_scan(
    factory: Any, draw: Draw, b: int, s: int, chunk: int, groups: int, h: int, p: int, n: int,
    **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    parts = s // chunk
    cb = draw(b, parts, groups, chunk, chunk, dtype=F16)
    x, steps = draw(b, s, h, p, dtype=F16), draw(b, h, parts, chunk, dtype=F16).abs() * 0.3
    a = (draw(b, h, parts, chunk).abs() * -0.1).cumsum(-1).half()
    c, state = draw(b, s, groups, n, dtype=F16), draw(b, parts, h, p, n, dtype=F16)
    skip = draw(h, dtype=F16)
    got = factory(cb, x, steps, a, c, state, skip, threads=128, **blocks)
    X, A = x.double().view(b, parts, chunk, h, p), a.double()
    decay = torch.exp((A[..., :, None] - A[..., None, :]).clamp(max=30))
    weights = _per_head(cb, h, 2).transpose(1, 2) * decay * steps.double()[..., None, :]
    inside = torch.einsum("bhcls,bcshp->bclhp", torch.tril(weights), X)
    C = _per_head(c, h, 2).view(b, parts, chunk, h, n)
    before = torch.einsum("bclhn,bchpn->bclhp", C, state.double())
    before = before * torch.exp(A).permute(0, 2, 3, 1)[..., None]
    want = (inside + before + X * skip.double()[:, None]).reshape(b, s, h, p)
    yield Compared("out", got, want, 3e-3)


@driver("linear_attention/example_mamba_chunk_state.py:chunk_state_fwd", """
    b s   chunk groups h p  n   block_M block_N block_K num_stages
    1 256 128   1      3 64 128 64      128     64      2
    2 192 96    2      4 48 80  32      64      32      3
    1 128 64    1      2 64 64  64      32      64      1
""")  # fmt: skip
def mamba_chunk_state(
    factory: Any, draw: Draw, b: int, s: int, chunk: int, groups: int, h: int, p: int, n: int,
    **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    parts = s // chunk
    b_in, x = draw(b, s, groups, n, dtype=F16), draw(b, s, h, p, dtype=F16)
    steps = draw(b, h, parts, chunk, dtype=F16).abs() * 0.3
    a = (draw(b, h, parts, chunk).abs() * -0.1).cumsum(-1).half()
    got = factory(b_in, x, steps, a, threads=128, **blocks)
    A, B = a.double(), _per_head(b_in, h, 2).view(b, parts, chunk, h, n)
    weights = torch.exp(A[..., -1:] - A) * steps.double()
    X = x.double().view(b, parts, chunk, h, p)
    yield Compared("state", got, torch.einsum("bclhn,bhcl,bclhp->bchpn", B, weights, X), 3e-3)


ROWS = """
    b s   h size dtype
    1 192 2 128  f16
    2 128 1 64   bf16
"""


@driver("linear_attention/example_linear_attn_fwd.py:tl_fused_chunk_fwd_kernel", ROWS)
def linear_attention_fwd(
    factory: Any, draw: Draw, b: int, s: int, h: int, size: int, dtype: str
) -> Iterator[Compared]:
    q, k, v = (draw(b, s, h, size, dtype=dtype, scale=0.3) for _ in range(3))
    out = torch.zeros(b, s, h, size)
    state = factory(b, s, h, size, size, dtype=dtype)(q, k, v, out)
    Q, K, V = map(heads_first, (q, k, v))
    want = torch.tril(Q @ K.transpose(-1, -2)) * size**-0.5 @ V
    yield Compared("o", out, heads_first(want), tolerance(dtype))
    yield Compared("state", state, K.transpose(-1, -2) @ V, tolerance(dtype))


@driver("linear_attention/example_linear_attn_bwd.py:tl_fused_chunk_bwd_kernel", ROWS)
def linear_attention_bwd(
    factory: Any, draw: Draw, b: int, s: int, h: int, size: int, dtype: str
) -> Iterator[Compared]:
    q, k, v, d_o = (draw(b, s, h, size, dtype=dtype, scale=0.3) for _ in range(4))
    got = torch.zeros(3, b, s, h, size).unbind()
    factory(b, s, h, size, size, dtype=dtype)(q, k, v, d_o, *got)
    inputs = wanting(q, k, v)
    Q, K, V = (heads_first(x) for x in inputs)
    out = heads_first(torch.tril(Q @ K.transpose(-1, -2)) * size**-0.5 @ V)
    want = gradients(out, d_o, inputs)
    for name, x, y in zip(("dq", "dk", "dv"), got, want, strict=True):
        yield Compared(name, x, y, 2 * tolerance(dtype))


@driver("linear_attention/example_retention_fwd.py:chunk_retention_fwd_kernel", ROWS)
def retention_fwd(
    factory: Any, draw: Draw, b: int, s: int, h: int, size: int, dtype: str
) -> Iterator[Compared]:
    """The result is in parts, one for 64 columns of the keys each."""
    q, k, v = (draw(b, s, h, size, dtype=dtype, scale=0.3) for _ in range(3))
    got = factory(b, s, h, size, size, dtype=dtype)(q, k, v)
    rows = torch.arange(s).double()
    decay = torch.log2(1 - torch.exp2(-5.0 - torch.arange(h).double()))[:, None, None]
    mask = torch.tril(torch.exp2((rows[:, None] - rows).clamp(min=0) * decay))
    Q, K, V = map(heads_first, (q, k, v))
    Q = Q * size**-0.5
    parts = [
        heads_first((x @ y.transpose(-1, -2) * mask) @ V)
        for x, y in zip(Q.split(64, -1), K.split(64, -1), strict=True)
    ]
    yield Compared("o", got, torch.stack(parts), 2 * tolerance(dtype))
