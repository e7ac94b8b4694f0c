"""Kernels of gated delta nets: one gate per row and head, natural logarithms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from conformance.drivers.case import Compared, Draw, driver, tolerance, torch_type
from conformance.drivers.formulas import chunks, decays, gates, heads_first, rounded

F32 = "float32"


@driver("gdn/example_cumsum.py:tilelang_chunk_local_cumsum_scalar", """
    b s   h chunk reverse head_first use_fragment dtype out
    1 192 3 64    True    False      False        f32   f32
    2 96  2 32    False   True       True         f16   f32
    1 128 5 64    True    True       False        bf16  f32
    1 64  3 32    False   False      True         f16   f16
    1 100 3 32    False   False      False        f32   f32
    1 100 3 32    True    True       False        f32   f32
""")  # fmt: skip
def chunk_cumsum(
    factory: Any, draw: Draw, b: int, s: int, h: int, chunk: int, reverse: bool, head_first: bool,
    use_fragment: bool, dtype: str, out: str,
) -> Iterator[Compared]:  # fmt: skip
    g = draw(b, h, s, dtype=dtype) if head_first else draw(b, s, h, dtype=dtype)
    kernel = factory(B=b, S=s, H=h, chunk_size=chunk, reverse=reverse, head_first=head_first,
                     input_dtype=dtype, output_dtype=out, block_S=chunk, threads=128,
                     use_fragment=use_fragment)  # fmt: skip
    along = 2 if head_first else 1
    parts = [
        x.flip(along).cumsum(along).flip(along) if reverse else x.cumsum(along)
        for x in g.double().split(chunk, along)
    ]
    yield Compared("sums", kernel(g), torch.cat(parts, along), tolerance(out))


@driver("gdn/example_wy_fast.py:tilelang_recompute_w_u_fwd", """
    b s   h dk  dv  chunk dtype out  gate block_DK block_DV num_stages
    1 192 3 128 128 64    bf16  bf16 f32  64       32       3
    2 80  1 96  64  32    f32   f32  f32  32       64       0
    1 64  2 64  96  32    f16   f16  f16  64       32       2
""")  # fmt: skip
def wy_fast(
    factory: Any, draw: Draw, b: int, s: int, h: int, dk: int, dv: int, chunk: int, dtype: str,
    out: str, gate: str, **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    k, v = draw(b, s, h, dk, dtype=dtype), draw(b, s, h, dv, dtype=dtype)
    beta, g = draw(b, s, h, dtype=dtype), gates(draw, b, s, h, 0, chunk, gate, 0.2)
    a = draw(b, s, h, chunk, dtype=out, scale=0.3)
    kernel = factory(B=b, S=s, H=h, DK=dk, DV=dv, input_dtype=dtype, output_dtype=out,
                     gate_dtype=gate, accum_dtype=F32, chunk_size=chunk, block_S=chunk,
                     threads=128, **blocks)  # fmt: skip
    w, u = kernel(k, v, beta, g, a)
    want_w, want_u = torch.zeros(b, s, h, dk).double(), torch.zeros(b, s, h, dv).double()
    for rows in chunks(s, chunk):
        A = heads_first(a[:, rows])[..., : rows.stop - rows.start]
        weight = beta[:, rows].double()[..., None]
        v_beta = rounded(v[:, rows].double() * weight, dtype)
        k_beta = k[:, rows].double() * weight * torch.exp(g[:, rows].double())[..., None]
        want_u[:, rows] = heads_first(A @ heads_first(v_beta))
        want_w[:, rows] = heads_first(A @ heads_first(rounded(k_beta, dtype)))
    yield Compared("w", w, want_w, tolerance(dtype, out))
    yield Compared("u", u, want_u, tolerance(dtype, out))


@driver("gdn/example_chunk_o.py:tilelang_chunk_fwd_o", """
    b s   h dk  dv  chunk dtype out  gate block_DK block_DV num_stages gated
    1 192 3 128 128 64    bf16  bf16 f32  64       32       1          True
    2 64  1 96  64  32    f32   f32  f32  32       64       0          False
    1 96  2 160 96  32    f16   f32  f16  64       64       3          True
""")  # fmt: skip
def chunk_o(
    factory: Any, draw: Draw, b: int, s: int, h: int, dk: int, dv: int, chunk: int, dtype: str,
    out: str, gate: str, gated: bool, **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    scale = 0.3
    q, k = (draw(b, s, h, dk, dtype=dtype, scale=0.3) for _ in range(2))
    v, g = draw(b, s, h, dv, dtype=dtype), gates(draw, b, s, h, 0, chunk, gate, 0.2)
    state = draw(b, s // chunk, h, dk, dv, dtype=dtype, scale=0.3)
    kernel = factory(B=b, S=s, H=h, DK=dk, DV=dv, input_dtype=dtype, output_dtype=out,
                     accum_dtype=F32, gate_dtype=gate, chunk_size=chunk, scale=scale, use_g=gated,
                     block_S=chunk, threads=128, **blocks)  # fmt: skip
    want = torch.zeros(b, s, h, dv).double()
    for n, rows in enumerate(chunks(s, chunk)):
        Q, K, V, G = (heads_first(x[:, rows]) for x in (q, k, v, g))
        inside, before = Q @ K.transpose(-1, -2), Q @ state[:, n].double()
        if gated:
            inside, before = inside * decays(G), before * torch.exp(G)[..., None]
        inside = rounded(torch.tril(inside), dtype)
        want[:, rows] = heads_first((before + inside @ V) * scale)
    yield Compared("o", kernel(q, k, v, state, g), want, tolerance(dtype, out))


@driver("gdn/example_chunk_scaled_dot_kkt.py:tilelang_chunk_scaled_dot_kkt_fwd", """
    b s   h dk  chunk dtype out  block_DK num_stages gated
    1 192 3 128 64    bf16  bf16 64       2          True
    2 64  1 96  32    f32   f32  32       0          False
    1 96  2 96  32    f16   f32  64       1          True
""")  # fmt: skip
def chunk_scaled_dot(
    factory: Any, draw: Draw, b: int, s: int, h: int, dk: int, chunk: int, dtype: str, out: str,
    gated: bool, **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    k, beta = draw(b, s, h, dk, dtype=dtype, scale=0.3), draw(b, s, h, dtype=dtype)
    g = gates(draw, b, s, h, 0, chunk, size=0.2)
    kernel = factory(B=b, S=s, H=h, DK=dk, chunk_size=chunk, input_dtype=dtype, output_dtype=out,
                     use_g=gated, block_S=chunk, threads=128, **blocks)  # fmt: skip
    want = torch.zeros(b, s, h, chunk).double()
    for rows in chunks(s, chunk):
        K = heads_first(k[:, rows])
        k_beta = rounded(K * heads_first(beta[:, rows])[..., None], dtype)
        a = k_beta @ K.transpose(-1, -2)
        if gated:
            a = a * decays(heads_first(g[:, rows]))
        want[:, rows] = heads_first(torch.tril(a, -1))
    yield Compared("A", kernel(k, beta, g), want, tolerance(dtype, out))


@driver("gdn/example_chunk_delta_h.py:tilelang_chunk_gated_delta_rule_fwd_h", """
    b s   h dk  dv  chunk dtype out  block_DK block_DV num_stages gated initial final save
    1 192 3 128 128 64    bf16  bf16 32       32       2          True  True    True  True
    2 96  1 64  96  32    f16   f16  32       32       1          False True    False False
    1 96  2 64  64  32    f32   f32  32       64       3          True  True    True  True
""")  # fmt: skip
def chunk_delta_h(
    factory: Any, draw: Draw, b: int, s: int, h: int, dk: int, dv: int, chunk: int, dtype: str,
    out: str, gated: bool, initial: bool, final: bool, save: bool, **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    k, w = (draw(b, s, h, dk, dtype=dtype, scale=0.1) for _ in range(2))
    u, first = draw(b, s, h, dv, dtype=dtype), draw(b, h, dk, dv, dtype=dtype)
    g = gates(draw, b, s, h, 0, chunk, size=0.2)
    kernel = factory(B=b, S=s, H=h, DK=dk, DV=dv, input_dtype=dtype, output_dtype=out,
                     accum_dtype=F32, gate_dtype=F32, state_dtype=F32, chunk_size=chunk,
                     use_g=gated, use_initial_state=initial, store_final_state=final,
                     save_new_value=save, threads=128, **blocks)  # fmt: skip
    got = kernel(k, w, u, g, first)
    state = first.double() if initial else torch.zeros(b, h, dk, dv).double()
    states = torch.zeros(b, s // chunk, h, dk, dv).double()
    values = torch.zeros(b, s, h, dv).double()
    for n, rows in enumerate(chunks(s, chunk)):
        states[:, n] = rounded(state, dtype)
        x = u[:, rows].double() - torch.einsum("bshk,bhkv->bshv", w[:, rows].double(), states[:, n])
        values[:, rows] = x
        if gated:
            here = g[:, rows].double()
            x = x * torch.exp(here[:, -1:] - here)[..., None]
            state = state * torch.exp(here[:, -1])[..., None, None]
        state = state + torch.einsum("bshk,bshv->bhkv", k[:, rows].double(), rounded(x, out))
    allowed = tolerance(dtype, out)
    yield Compared("h", got[0], states, allowed)
    if final:
        yield Compared("final state", got[1], state, allowed)
    if save:
        yield Compared("v", got[2], values, allowed)


@driver("gdn/example_chunk_delta_bwd.py:tilelang_chunk_gated_delta_rule_bwd_dhu", """
    b s   h dk  dv  chunk dtype out  block_DV num_stages gated initial final
    1 192 3 128 128 64    bf16  bf16 32       1          True  True    True
    2 96  1 64  96  32    f16   f16  32       0          False False   False
    1 96  2 64  64  32    f32   f32  64       2          True  True    True
""")  # fmt: skip
def chunk_delta_bwd(
    factory: Any, draw: Draw, b: int, s: int, h: int, dk: int, dv: int, chunk: int, dtype: str,
    out: str, gated: bool, initial: bool, final: bool, **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    scale = 0.2
    q = draw(b, s, h, dk, dtype=dtype, scale=0.3)
    k, w = (draw(b, s, h, dk, dtype=dtype, scale=0.1) for _ in range(2))
    g = gates(draw, b, s, h, 0, chunk, size=0.2)
    first, d_last = (draw(b, h, dk, dv, dtype=dtype) for _ in range(2))
    d_o, d_v = (draw(b, s, h, dv, dtype=dtype) for _ in range(2))
    kernel = factory(B=b, S=s, H=h, DK=dk, DV=dv, input_dtype=dtype, output_dtype=out,
                     accum_dtype=F32, gate_dtype=F32, state_dtype=F32, chunk_size=chunk,
                     scale=scale, use_g=gated, use_initial_state=initial,
                     use_final_state_gradient=final, threads=128, **blocks)  # fmt: skip
    got = kernel(q, k, w, g, first, d_last, d_o, d_v)
    state = d_last.double() if final else torch.zeros(b, h, dk, dv).double()
    states = torch.zeros(b, s // chunk, h, dk, dv).double()
    d_v2 = torch.zeros(b, s, h, dv).double()
    for n, rows in reversed(list(enumerate(chunks(s, chunk)))):
        states[:, n] = state
        x = torch.einsum("bshk,bhkv->bshv", k[:, rows].double(), rounded(state, out))
        Q, here = q[:, rows].double() * scale, g[:, rows].double()
        if gated:
            x = x * torch.exp(here[:, -1:] - here)[..., None]
            state = state * torch.exp(here[:, -1])[..., None, None]
            Q = Q * torch.exp(here)[..., None]
        x = d_v2[:, rows] = x + d_v[:, rows].double()
        add = "bshk,bshv->bhkv"
        state = state + torch.einsum(add, Q, d_o[:, rows].double())
        state = state - torch.einsum(add, w[:, rows].double(), rounded(x, dtype))
    allowed = tolerance(dtype, out)
    yield Compared("dh", got[0], states, allowed)
    if initial:
        yield Compared("dh0", got[1], state, allowed)
    yield Compared("dv2", got[2], d_v2, allowed)


@driver("gdn/example_chunk_o_bwd.py:tilelang_chunk_o_bwd_dqkwg", """
    b s   h dk  dv  chunk dtype out  block_DK block_DV num_stages gated with_w
    1 128 3 128 128 64    bf16  bf16 64       64       0          True  True
    2 64  1 64  96  32    f32   f32  32       32       1          True  True
    1 96  2 96  64  32    f16   f16  32       64       0          False False
""")  # fmt: skip
def chunk_o_bwd(
    factory: Any, draw: Draw, b: int, s: int, h: int, dk: int, dv: int, chunk: int, dtype: str,
    out: str, block_DK: int, block_DV: int, num_stages: int, gated: bool, with_w: bool,
) -> Iterator[Compared]:  # fmt: skip
    scale = 0.3
    q, k = (draw(b, s, h, dk, dtype=dtype, scale=0.5) for _ in range(2))
    v, w = draw(b, s, h, dv, dtype=dtype), draw(b, s, h, dk, dtype=dtype)
    g = gates(draw, b, s, h, 0, chunk, size=0.2)
    state, d_state = (draw(b, s // chunk, h, dk, dv, dtype=dtype, scale=0.3) for _ in range(2))
    d_o, d_v = (draw(b, s, h, dv, dtype=dtype) for _ in range(2))
    kernel = factory(B=b, S=s, H=h, DK=dk, DV=dv, input_dtype=dtype, output_dtype=out,
                     accum_dtype=F32, gate_dtype=F32, state_dtype=F32, chunk_size=chunk,
                     scale=scale, use_g=gated, use_dw=with_w, block_DK=block_DK, block_DV=block_DV,
                     num_stages=num_stages, threads=128)  # fmt: skip
    got = kernel(q, k, v, state, g, d_o, d_state, d_v, w)
    want_q, want_k, want_w = (torch.zeros(b, s, h, dk).double() for _ in range(3))
    want_g = torch.zeros(-(-dk // block_DK), b, s, h).double()
    for n, rows in enumerate(chunks(s, chunk)):
        Q, K, V, D_O, G = (heads_first(x[:, rows]) for x in (q, k, v, d_o, g))
        H, D = (x[:, n].double().transpose(-1, -2) for x in (state, d_state))
        d_s, d_q, d_k = D_O @ V.transpose(-1, -2), D_O @ H, V @ D
        want_w[:, rows] = -heads_first(heads_first(d_v[:, rows]) @ H)
        if gated:
            d_q = d_q * torch.exp(G)[..., None] * scale
            # The kernel keeps decays only: exp(-g) is one where g is not negative.
            d_k = torch.where((-G <= 0)[..., None], d_k * torch.exp(-G)[..., None], 0.0)
            d_s = d_s * decays(G) * scale
            at_end = G[..., -1:] * torch.exp(G[..., -1:])
            for number, columns in enumerate(chunks(dk, block_DK)):
                of_k = (d_k * K)[..., columns]
                both = d_s * (Q[..., columns] @ K[..., columns].transpose(-1, -2))
                d_g = (d_q * Q)[..., columns].sum(-1) - of_k.sum(-1) + both.sum(-1) - both.sum(-2)
                d_g = d_g + at_end + of_k.sum((-1, -2))[..., None]
                want_g[number, :, rows] = heads_first(d_g)
        d_s = rounded(d_s if gated else torch.tril(d_s), out)
        left = 1.0 if gated else scale
        want_q[:, rows] = heads_first((d_q + d_s @ K) if gated else (d_q + d_s @ K) * scale)
        want_k[:, rows] = heads_first(d_k + d_s.transpose(-1, -2) @ Q * left)
    allowed = tolerance(dtype, out)
    yield Compared("dq", got[0], want_q, allowed)
    yield Compared("dk", got[1], want_k, allowed)
    if with_w:
        yield Compared("dw", got[2], want_w, allowed)
    if gated:
        yield Compared("dg", got[3], want_g, allowed)


WY_ROWS = """
    b s   h dk  dv  chunk dtype out  block_DK block_DV num_stages
    1 192 3 128 128 64    bf16  bf16 32       32       0
    2 64  1 64  96  32    f32   f32  64       32       2
    1 32  2 96  64  32    f16   f16  32       64       1
"""


@driver("gdn/example_wy_fast_bwd_split.py:tilelang_wy_fast_bwd", WY_ROWS)
def wy_fast_bwd(
    factory: Any, draw: Draw, b: int, s: int, h: int, dk: int, dv: int, chunk: int, dtype: str,
    out: str, **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    k, v = draw(b, s, h, dk, dtype=dtype, scale=0.3), draw(b, s, h, dv, dtype=dtype)
    beta, g = draw(b, s, h, dtype=dtype), gates(draw, b, s, h, 0, chunk, size=0.2)
    a = draw(b, s, h, chunk, dtype=dtype, scale=0.2)
    d_w, d_u = draw(b, s, h, dk, dtype=dtype), draw(b, s, h, dv, dtype=dtype)
    kernel = factory(B=b, S=s, H=h, DK=dk, DV=dv, input_dtype=dtype, output_dtype=out,
                     accum_dtype=F32, gate_dtype=F32, state_dtype=F32, chunk_size=chunk,
                     threads=128, **blocks)  # fmt: skip
    got = kernel(k, v, beta, g, a, d_w, d_u)
    sizes = (b, s, h, chunk), (b, s, h, dk), (b, s, h, dv), (b, s, h), (b, s, h)
    want = [torch.zeros(*size).double() for size in sizes]
    for rows in chunks(s, chunk):
        A, K, V, W, U, weight, decay = (
            heads_first(x[:, rows])
            for x in (a, k, v, d_w, d_u, beta[..., None], torch.exp(g.double())[..., None])
        )
        k_gated, v_beta = rounded(K * weight * decay, dtype), rounded(V * weight, dtype)
        d_kb, d_vb = A.transpose(-1, -2) @ W, A.transpose(-1, -2) @ U
        parts = (
            W @ k_gated.transpose(-1, -2) + U @ v_beta.transpose(-1, -2),
            d_kb * weight * decay,
            d_vb * weight,
            (d_kb * K * decay).sum(-1) + (d_vb * V).sum(-1),
            (d_kb * K * decay * weight).sum(-1),
        )
        for whole, part in zip(want, parts, strict=True):
            whole[:, rows] = heads_first(part)
    for name, x, y in zip(("dA", "dk", "dv", "dbeta", "dg"), got, want, strict=True):
        yield Compared(name, x, y, 2 * tolerance(dtype, out))


@driver("gdn/example_wy_fast_bwd_split.py:tilelang_wy_fast_bwd_split", WY_ROWS)
def wy_fast_bwd_split(
    factory: Any, draw: Draw, b: int, s: int, h: int, dk: int, dv: int, chunk: int, dtype: str,
    out: str, **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    """The second step adds to what the first has written."""
    k, v = draw(b, s, h, dk, dtype=dtype, scale=0.3), draw(b, s, h, dv, dtype=dtype)
    beta, g = draw(b, s, h, dtype=dtype), gates(draw, b, s, h, 0, chunk, size=0.2)
    a, d_a = (
        draw(b, s, h, chunk, dtype=dtype, scale=0.2),
        draw(b, s, h, chunk, dtype=dtype, scale=0.3),
    )
    d_w, d_u = draw(b, s, h, dk, dtype=dtype), draw(b, s, h, dv, dtype=dtype)
    d_k, d_v = draw(b, s, h, dk, dtype=out), draw(b, s, h, dv, dtype=out)
    before, d_beta = d_k.clone(), torch.zeros(b, s, h, dtype=torch_type(out))
    positive, negative = torch.zeros(2, b, s, h, chunk)
    kernel = factory(B=b, S=s, H=h, DK=dk, DV=dv, input_dtype=dtype, output_dtype=out,
                     accum_dtype=F32, gate_dtype=F32, state_dtype=F32, chunk_size=chunk,
                     threads=128, **blocks)  # fmt: skip
    kernel(k, v, beta, g, a, d_w, d_u, d_a, d_k, d_v, d_beta, positive, negative)
    sizes = (b, s, h, dk), (b, s, h), (b, s, h, chunk), (b, s, h, chunk)
    want = [torch.zeros(*size).double() for size in sizes]
    for rows in chunks(s, chunk):
        A, D, K, G, weight = (heads_first(x[:, rows]) for x in (a, d_a, k, g, beta[..., None]))
        A = A.transpose(-1, -2)
        x = rounded(torch.tril(D, -1), dtype)
        x = -torch.tril(A @ rounded(x @ A, dtype), -1) * decays(G)
        k_beta, d = rounded(K * weight, dtype), rounded(x, dtype)
        both, by_k = x * (k_beta @ K.transpose(-1, -2)), d @ K
        added = d.transpose(-1, -2) @ k_beta + rounded(by_k * weight, dtype)
        parts = added, (by_k * K).sum(-1), both, both.transpose(-1, -2)
        for whole, part in zip(want, parts, strict=True):
            whole[:, rows] = heads_first(part)
    want[0] += before.double()
    got = d_k, d_beta, positive, negative
    for name, y, z in zip(("dk", "dbeta", "positive", "negative"), got, want, strict=True):
        yield Compared(name, y, z, 3 * tolerance(dtype, out))
