"""Kernels of Kimi delta attention: gates per channel, in powers of two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from conformance.drivers.case import Compared, Draw, driver, tolerance
from conformance.drivers.formulas import chunks, gates, heads_first, rounded

F32 = "float32"


@driver("kda/chunk_bwd_dqkwg.py:chunk_bwd_dqkwg", """
    b s   h dk  dv  chunk dtype gate block_DK block_DV num_stages
    1 192 3 96  64  64    f32   f32  32       32       2
    2 64  1 64  96  32    bf16  f32  64       32       0
    1 64  2 128 128 64    f16   f16  64       64       1
""")  # fmt: skip
def chunk_bwd_dqkwg(
    factory: Any, draw: Draw, b: int, s: int, h: int, dk: int, dv: int, chunk: int, dtype: str,
    gate: str, **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    scale = 0.5
    q, k = (draw(b, s, h, dk, dtype=dtype) for _ in range(2))
    v, d_v, d_o = (draw(b, s, h, dv, dtype=dtype) for _ in range(3))
    g = gates(draw, b, s, h, dk, chunk, gate)
    state, d_state = (draw(b, s // chunk, h, dk, dv, dtype=dtype, scale=0.3) for _ in range(2))
    kernel = factory(B=b, S=s, H=h, DK=dk, DV=dv, scale=scale, chunk_size=chunk, input_dtype=dtype,
                     gate_dtype=gate, threads=128, **blocks)  # fmt: skip
    got = kernel(q, k, v, g, state, d_v, d_o, d_state)
    want = [torch.zeros(b, s, h, dk).double() for _ in range(4)]
    for n, rows in enumerate(chunks(s, chunk)):
        here = rounded(g[:, rows], dtype)
        last = here[:, -1]
        by_state = "bshv,bhkv->bshk"
        d_q = torch.einsum(by_state, d_o[:, rows].double(), state[:, n].double())
        d_q = d_q * scale * torch.exp2(here)
        d_k = torch.einsum(by_state, v[:, rows].double(), d_state[:, n].double())
        d_k = d_k * torch.exp2(last[:, None] - here)
        d_w = -torch.einsum(by_state, d_v[:, rows].double(), state[:, n].double())
        d_g = q[:, rows].double() * d_q - k[:, rows].double() * d_k
        d_last = (state[:, n].double() * d_state[:, n].double()).sum(-1) * torch.exp2(last)
        d_g[:, -1] += (d_k * k[:, rows].double()).sum(1) + d_last
        for whole, part in zip(want, (d_q, d_k, d_w, d_g), strict=True):
            whole[:, rows] = part
    for name, x, y in zip(("dq", "dk", "dw", "dg"), got, want, strict=True):
        yield Compared(name, x, y, tolerance(dtype))


@driver("kda/chunk_bwd_dv.py:tilelang_chunk_bwd_kernel_dv_local", """
    b s   h dv  chunk dtype out  do  block_DV threads num_stages
    1 192 3 128 64    bf16  bf16 f32 128      128     1
    2 128 2 96  32    f16   f32  f16 32       64      3
    1 160 2 96  64    f32   f32  f32 64       64      2
""")  # fmt: skip
def chunk_bwd_dv(
    factory: Any, draw: Draw, b: int, s: int, h: int, dv: int, chunk: int, dtype: str, out: str,
    do: str, **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    d_o, a = draw(b, s, h, dv, dtype=do), draw(b, s, h, chunk, dtype=dtype)
    kernel = factory(B=b, S=s, H=h, DV=dv, input_dtype=dtype, output_dtype=out, do_dtype=do,
                     chunk_size=chunk, **blocks)  # fmt: skip
    want = torch.zeros(b, s, h, dv).double()
    for rows in chunks(s, chunk):
        lower = torch.tril(heads_first(a[:, rows])[..., : rows.stop - rows.start])
        want[:, rows] = heads_first(lower.transpose(-1, -2) @ heads_first(d_o[:, rows]))
    yield Compared("dv", kernel(d_o, a), want, tolerance(dtype, out, do))


@driver("kda/chunk_bwd_gla_dA.py:tilelang_chunk_bwd_kernel_dv_local", """
    b s   h dv  chunk dtype out do   block_DV num_stages
    1 192 3 128 64    bf16  f32 bf16 128      1
    2 96  1 160 32    f32   f32 f32  64       2
    1 80  2 64  32    f16   f16 f16  32       0
""")  # fmt: skip
def chunk_bwd_gla(
    factory: Any, draw: Draw, b: int, s: int, h: int, dv: int, chunk: int, dtype: str, out: str,
    do: str, **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    scale = 0.7
    d_o, v = draw(b, s, h, dv, dtype=do), draw(b, s, h, dv, dtype=dtype)
    kernel = factory(B=b, S=s, H=h, DV=dv, scale=scale, input_dtype=dtype, da_dtype=out,
                     do_dtype=do, chunk_size=chunk, threads=128, **blocks)  # fmt: skip
    want = torch.zeros(b, s, h, chunk).double()
    for rows in chunks(s, chunk):
        full = heads_first(d_o[:, rows]) @ heads_first(v[:, rows]).transpose(-1, -2)
        want[:, rows, :, : rows.stop - rows.start] = heads_first(torch.tril(full)) * scale
    yield Compared("dA", kernel(d_o, v), want, tolerance(dtype, out, do))


@driver("kda/chunk_delta_bwd.py:tilelang_chunk_gated_delta_rule_bwd_dhu", """
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
    g = gates(draw, b, s, h, dk, chunk)
    first, d_last = (draw(b, h, dk, dv, dtype=dtype) for _ in range(2))
    d_o, d_v = (draw(b, s, h, dv, dtype=dtype) for _ in range(2))
    kernel = factory(B=b, S=s, H=h, DK=dk, DV=dv, input_dtype=dtype, output_dtype=out,
                     accum_dtype=F32, gate_dtype=F32, state_dtype=F32, chunk_size=chunk,
                     scale=scale, use_gk=gated, use_initial_state=initial,
                     use_final_state_gradient=final, threads=128, **blocks)  # fmt: skip
    got = kernel(q, k, w, g, first, d_last, d_o, d_v)
    state = d_last.double() if final else torch.zeros(b, h, dk, dv).double()
    states = torch.zeros(b, s // chunk, h, dk, dv).double()
    d_v2 = torch.zeros(b, s, h, dv).double()
    for n, rows in reversed(list(enumerate(chunks(s, chunk)))):
        states[:, n] = state
        x = torch.einsum("bshk,bhkv->bshv", k[:, rows].double(), rounded(state, out))
        x = d_v2[:, rows] = x + d_v[:, rows].double()
        if gated:
            state = state * torch.exp2(g[:, rows.stop - 1].double())[..., None]
        add = "bshk,bshv->bhkv"
        state = state + scale * torch.einsum(add, q[:, rows].double(), d_o[:, rows].double())
        state = state - torch.einsum(add, w[:, rows].double(), rounded(x, dtype))
    allowed = tolerance(dtype, out)
    yield Compared("dh", got[0], states, allowed)
    if initial:
        yield Compared("dh0", got[1], state, allowed)
    yield Compared("dv2", got[2], d_v2, allowed)


@driver("kda/chunk_delta_h_fwd.py:tilelang_chunk_gated_delta_rule_fwd_h", """
    b s   h dk  dv  chunk dtype out  block_DK block_DV num_stages gated initial final save
    1 192 3 128 128 64    f16   f16  32       32       2          True  True    True  True
    2 96  1 64  96  32    bf16  bf16 32       32       1          False True    False False
    1 112 2 64  64  32    f32   f32  32       64       3          False True    True  True
""")  # fmt: skip
def chunk_delta_h(
    factory: Any, draw: Draw, b: int, s: int, h: int, dk: int, dv: int, chunk: int, dtype: str,
    out: str, gated: bool, initial: bool, final: bool, save: bool, **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    k, w = (draw(b, s, h, dk, dtype=dtype, scale=0.1) for _ in range(2))
    u, first = draw(b, s, h, dv, dtype=dtype), draw(b, h, dk, dv, dtype=dtype)
    g = gates(draw, b, s, h, dk, chunk)
    kernel = factory(B=b, S=s, H=h, DK=dk, DV=dv, input_dtype=dtype, output_dtype=out,
                     accum_dtype=F32, gate_dtype=F32, state_dtype=F32, chunk_size=chunk,
                     use_gk=gated, use_initial_state=initial, store_final_state=final,
                     save_new_value=save, threads=128, **blocks)  # fmt: skip
    got = kernel(k, w, u, g, first)
    parts = chunks(s, chunk)
    state = first.double() if initial else torch.zeros(b, h, dk, dv).double()
    states = torch.zeros(b, len(parts), h, dk, dv).double()
    values = torch.zeros(b, s, h, dv).double()
    for n, rows in enumerate(parts):
        states[:, n] = rounded(state, dtype)
        x = u[:, rows].double() - torch.einsum("bshk,bhkv->bshv", w[:, rows].double(), states[:, n])
        values[:, rows] = x
        if gated:
            state = state * torch.exp2(g[:, rows.stop - 1].double())[..., None]
        state = state + torch.einsum("bshk,bshv->bhkv", k[:, rows].double(), rounded(x, out))
    allowed = tolerance(dtype, out)
    yield Compared("h", got[0], states, allowed)
    if final:
        yield Compared("final state", got[1], state, allowed)
    if save:
        yield Compared("v", got[2], values, allowed)


@driver("kda/chunk_o.py:tilelang_chunk_fwd_o", """
    b s   h dk  dv  chunk dtype out  gate block_DK block_DV num_stages
    1 192 3 128 128 64    bf16  bf16 f32  32       32       1
    2 64  1 96  64  32    f32   f32  f32  32       64       0
    1 96  2 160 96  32    f16   f32  f16  64       64       3
""")  # fmt: skip
def chunk_o(
    factory: Any, draw: Draw, b: int, s: int, h: int, dk: int, dv: int, chunk: int, dtype: str,
    out: str, gate: str, **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    scale = 0.3
    q, v = draw(b, s, h, dk, dtype=dtype), draw(b, s, h, dv, dtype=dtype)
    a, g = draw(b, s, h, chunk, dtype=dtype), gates(draw, b, s, h, dk, chunk, gate)
    state = draw(b, s // chunk, h, dk, dv, dtype=dtype, scale=0.3)
    kernel = factory(B=b, S=s, H=h, DK=dk, DV=dv, input_dtype=dtype, output_dtype=out,
                     accum_dtype=F32, gate_dtype=gate, chunk_size=chunk, scale=scale,
                     block_S=chunk, threads=128, **blocks)  # fmt: skip
    want = torch.zeros(b, s, h, dv).double()
    for n, rows in enumerate(chunks(s, chunk)):
        gated = heads_first(q[:, rows]) * scale * torch.exp2(heads_first(g[:, rows]))
        inside = torch.tril(heads_first(a[:, rows])) @ heads_first(v[:, rows])
        want[:, rows] = heads_first(gated @ state[:, n].double() + inside)
    yield Compared("o", kernel(q, v, g, a, state), want, tolerance(dtype, out))


@driver("kda/wy_fast.py:tilelang_recompute_w_u_fwd", """
    b s   h dk  dv  chunk dtype out  gate block_DK block_DV num_stages keys
    1 192 3 128 128 64    bf16  bf16 f32  64       32       3          True
    2 64  1 96  64  32    f32   f32  f32  32       64       0          False
    1 64  2 64  96  32    f16   f16  f16  64       32       2          True
""")  # fmt: skip
def wy_fast(
    factory: Any, draw: Draw, b: int, s: int, h: int, dk: int, dv: int, chunk: int, dtype: str,
    out: str, gate: str, keys: bool, **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    k, v = draw(b, s, h, dk, dtype=dtype), draw(b, s, h, dv, dtype=dtype)
    beta, g = draw(b, s, h, dtype=dtype), gates(draw, b, s, h, dk, chunk, gate)
    a = draw(b, s, h, chunk, dtype=out, scale=0.3)
    kernel = factory(B=b, S=s, H=h, DK=dk, DV=dv, input_dtype=dtype, output_dtype=out,
                     gate_dtype=gate, accum_dtype=F32, chunk_size=chunk, use_qg=False, use_kg=keys,
                     block_S=chunk, threads=128, **blocks)  # fmt: skip
    w, u, _, kg = kernel(k, v, beta, g, a)
    want_w, want_kg = (torch.zeros(b, s, h, dk).double() for _ in range(2))
    want_u = torch.zeros(b, s, h, dv).double()
    for rows in chunks(s, chunk):
        weight, here = beta[:, rows].double()[..., None], g[:, rows].double()
        v_beta = rounded(v[:, rows].double() * weight, dtype)
        k_beta = rounded(k[:, rows].double() * weight * torch.exp2(here), dtype)
        want_u[:, rows] = heads_first(heads_first(a[:, rows]) @ heads_first(v_beta))
        want_w[:, rows] = heads_first(heads_first(a[:, rows]) @ heads_first(k_beta))
        want_kg[:, rows] = k[:, rows].double() * torch.exp2(here[:, -1:] - here)
    yield Compared("w", w, want_w, tolerance(dtype, out))
    yield Compared("u", u, want_u, tolerance(dtype, out))
    if keys:
        yield Compared("kg", kg, want_kg, tolerance(dtype, out))


@driver("kda/wy_fast_bwd.py:tilelang_wy_fast_bwd", """
    b s   h dk  dv  chunk dtype out  block_DK block_DV num_stages
    1 192 3 128 128 64    bf16  bf16 32       32       0
    2 64  1 64  96  32    f32   f32  64       32       2
    1 32  2 96  64  32    f16   f16  32       64       1
""")  # fmt: skip
def wy_fast_bwd(
    factory: Any, draw: Draw, b: int, s: int, h: int, dk: int, dv: int, chunk: int, dtype: str,
    out: str, **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    k, v = draw(b, s, h, dk, dtype=dtype), draw(b, s, h, dv, dtype=dtype)
    beta, g = draw(b, s, h, dtype=dtype), gates(draw, b, s, h, dk, chunk)
    a = draw(b, s, h, chunk, dtype=dtype, scale=0.2)
    d_w, d_u = draw(b, s, h, dk, dtype=dtype), draw(b, s, h, dv, dtype=dtype)
    d_k, d_g = draw(b, s, h, dk, dtype=dtype), draw(b, s, h, dk)
    kernel = factory(B=b, S=s, H=h, DK=dk, DV=dv, input_dtype=dtype, output_dtype=out,
                     accum_dtype=F32, gate_dtype=F32, state_dtype=F32, chunk_size=chunk,
                     threads=128, **blocks)  # fmt: skip
    got = kernel(k, v, beta, g, a, d_w, d_u, d_k, d_g)
    sizes = (b, s, h, chunk), (b, s, h, dk), (b, s, h, dv), (b, s, h), (b, s, h, dk)
    want = [torch.zeros(*size).double() for size in sizes]
    for rows in chunks(s, chunk):
        A, K, V, weight, W, U = (
            heads_first(x[:, rows]) for x in (a, k, v, beta[..., None], d_w, d_u)
        )
        decay = torch.exp2(heads_first(g[:, rows]))
        k_gated, v_beta = rounded(K * weight * decay, dtype), rounded(V * weight, dtype)
        d_kb, d_vb = A.transpose(-1, -2) @ W, A.transpose(-1, -2) @ U
        x = W @ k_gated.transpose(-1, -2) + U @ v_beta.transpose(-1, -2)
        x = rounded(torch.tril(x, -1), dtype)
        x = rounded(x @ A.transpose(-1, -2), dtype)
        parts = (
            -torch.tril(A.transpose(-1, -2) @ x, -1),
            d_kb * decay * weight + heads_first(d_k[:, rows]),
            d_vb * weight,
            (d_kb * K * decay).sum(-1) + (d_vb * V).sum(-1),
            d_kb * k_gated + heads_first(d_g[:, rows]),
        )
        for whole, part in zip(want, parts, strict=True):
            whole[:, rows] = heads_first(part)
    for name, x, y in zip(("dA", "dk", "dv", "db", "dg"), got, want, strict=True):
        yield Compared(name, x, y, 2 * tolerance(dtype, out))


@driver("kda/chunk_intra_token_parallel.py:tilelang_chunk_kda_fwd_intra_token_parallel", """
    b s  h dk  chunk part dtype out  block_H num_stages
    1 96 2 64  32    16   bf16  bf16 1       1
    2 48 4 128 64    16   f32   f32  2       0
    1 40 3 32  32    8    f16   f32  2       3
""")  # fmt: skip
def chunk_intra_token_parallel(
    factory: Any, draw: Draw, b: int, s: int, h: int, dk: int, chunk: int, part: int, dtype: str,
    out: str, **blocks: int,
) -> Iterator[Compared]:  # fmt: skip
    q, k = (draw(b, s, h, dk, dtype=dtype, scale=0.3) for _ in range(2))
    g, beta = gates(draw, b, s, h, dk, chunk), draw(b, s, h, dtype=dtype)
    kernel = factory(b, s, h, dk, dtype, out, F32, F32, chunk, part, threads=128, **blocks)
    got = kernel(q, k, g, beta)
    qk, kk = torch.zeros(b, s, h, chunk).double(), torch.zeros(b, s, h, part).double()
    for row in range(s):
        start = row // chunk * chunk + row % chunk // part * part
        k_beta = rounded(k[:, row].double() * beta[:, row].double()[..., None], dtype)
        for column in range(start, row + 1):
            decay = torch.exp2(g[:, row].double() - g[:, column].double())
            gated = k[:, column].double() * decay
            qk[:, row, :, column % chunk] = (q[:, row].double() * gated).sum(-1)
            if column < row:
                kk[:, row, :, column - start] = (k_beta * gated).sum(-1)
    yield Compared("Aqk", got[0], qk, tolerance(dtype, out))
    yield Compared("Akk", got[1], kk, tolerance(dtype, out))


@driver("kda/chunk_inter_solve_fused.py:tilelang_chunk_kda_fwd_inter_fused", """
    b s   h dk  dtype out
    1 128 3 128 bf16  bf16
    2 64  1 64  f32   f32
""")  # fmt: skip
def chunk_inter_solve(
    factory: Any, draw: Draw, b: int, s: int, h: int, dk: int, dtype: str, out: str
) -> Iterator[Compared]:
    chunk, part, scale = 64, 16, 0.7
    q, k = (draw(b, s, h, dk, dtype=dtype, scale=0.3) for _ in range(2))
    g, beta = gates(draw, b, s, h, dk, chunk, size=0.05), draw(b, s, h, dtype=dtype).abs()
    diagonal = draw(b, s, h, part, scale=0.2)
    kernel = factory(b, s, h, dk, dtype, out, F32, F32, chunk, part, scale)
    got = kernel(q, k, g, beta, diagonal)
    # The kernel leaves what lies right of these blocks as it is.
    below, to_diagonal = torch.zeros(2, chunk, chunk).double()
    for rows in chunks(chunk, part):
        below[rows, : rows.start], to_diagonal[rows, : rows.stop] = 1, 1
    want_qk, want_kk = (torch.zeros(b, s, h, chunk).double() for _ in range(2))
    for rows in chunks(s, chunk):
        Q, K, G = (heads_first(x[:, rows]) for x in (q, k, g))
        K_back = (K * torch.exp2(-G)).transpose(-1, -2)
        qk = (Q * torch.exp2(G)) @ K_back * scale
        kk = (K * torch.exp2(G)) @ K_back * heads_first(beta[:, rows])[..., None]
        lower = kk * below
        for block in chunks(chunk, part):
            own = heads_first(diagonal[:, rows])[:, :, block]
            lower[:, :, block, block] = torch.tril(own, -1)
        inverse = torch.linalg.inv(torch.eye(chunk).double() + lower)
        want_qk[:, rows] = heads_first(qk * below)
        want_kk[:, rows] = heads_first(inverse * to_diagonal)
    for name, x, y, mask in (
        ("Aqk", got[0], want_qk, below),
        ("Akk", got[1], want_kk, to_diagonal),
    ):
        defined = mask.repeat(s // chunk, 1)[None, :, None] > 0
        yield Compared(name, torch.where(defined, x.double(), 0.0), y, tolerance(dtype, out))


@driver("kda/chunk_bwd_intra.py:tilelang_chunk_bwd_intra", """
    b s   h dk  chunk dtype out  block_DK num_stages
    1 128 2 128 64    f32   f32  64       0
    1 96  1 64  32    f32   bf16 32       1
    1 80  1 64  64    f32   f16  64       2
""")  # fmt: skip
def chunk_bwd_intra(
    factory: Any, draw: Draw, b: int, s: int, h: int, dk: int, chunk: int, dtype: str, out: str,
    block_DK: int, num_stages: int,
) -> Iterator[Compared]:  # fmt: skip
    q, k, d_q, d_k = (draw(b, s, h, dk, dtype=dtype) for _ in range(4))
    g, beta = gates(draw, b, s, h, dk, chunk, size=0.05), draw(b, s, h, dtype=dtype)
    d_qk, d_kk = (draw(b, s, h, chunk, dtype=dtype) for _ in range(2))
    d_beta, d_g = draw(b, s, h, dtype=dtype), draw(b, s, h, dk)
    kernel = factory(B=b, S=s, H=h, DK=dk, input_dtype=dtype, output_dtype=out, accum_dtype=F32,
                     gate_dtype=F32, state_dtype=F32, chunk_size=chunk, block_DK=block_DK,
                     num_stages=num_stages, threads=128)  # fmt: skip
    got = kernel(q, k, g, beta, d_qk, d_kk, d_q, d_k, d_beta, d_g)
    want_q, want_k, want_g = (torch.zeros(b, s, h, dk).double() for _ in range(3))
    want_beta = torch.zeros(dk // block_DK, b, s, h).double()
    for rows in chunks(s, chunk):
        n = rows.stop - rows.start
        lower_qk, lower_kk = (torch.tril(heads_first(x[:, rows])[..., :n]) for x in (d_qk, d_kk))
        Q, K, weight = (heads_first(x[:, rows]) for x in (q, k, beta[..., None]))
        up, down = torch.exp2(heads_first(g[:, rows])), torch.exp2(-heads_first(g[:, rows]))
        by_q, by_k = lower_qk @ (K * down) * up, lower_kk @ (K * down) * up
        for number, columns in enumerate(chunks(dk, block_DK)):
            want_beta[number, :, rows] = heads_first((by_k * K)[..., columns].sum(-1))
        by_k = by_k * weight
        above = lower_qk.transpose(-1, -2) @ (Q * up)
        above = (above + lower_kk.transpose(-1, -2) @ (K * weight * up)) * down
        want_q[:, rows] = heads_first(by_q) + d_q[:, rows].double()
        want_k[:, rows] = heads_first(by_k + above) + d_k[:, rows].double()
        want_g[:, rows] = heads_first(Q * by_q + (by_k - above) * K) + d_g[:, rows].double()
    wants = dict(dq=want_q, dk=want_k, db=want_beta, dg=want_g)
    for x, (name, y) in zip(got, wants.items(), strict=True):
        yield Compared(name, x, y, tolerance(dtype, out))
