"""How a chunk of the delta rule becomes products of matrices, and the way back for gradients.

With A = (1 + L)^-1, where L[i, j] = beta_i (k_i . k_j) e^(g_i - g_j) for j < i, the tokens of a chunk
have u = A (beta v) and w = A (beta e^g k). Gates are one number of a token to base e, or with
`of_keys` one of each k to base 2; there L comes from somewhere else, so its gradient is an output.
"""

from __future__ import annotations

from typing import Any

import torch

from conformance.references.chunks import (
    chunk,
    decay_of_pairs,
    operand,
    spans,
    square,
    write,
    write_scalars,
)


def chunk_scaled_dot_kkt_fwd(
    k: torch.Tensor,
    beta: torch.Tensor,
    g: torch.Tensor | None = None,
    cu_seqlens: None = None,
    chunk_size: int = 64,
    output_dtype: torch.dtype = torch.float32,
    **options: Any,
) -> torch.Tensor:
    """L of each chunk, [batch, tokens, heads, chunk_size]."""
    out = torch.zeros(*k.shape[:3], chunk_size, dtype=output_dtype)
    for span in spans(k.shape[1], chunk_size):
        keys = chunk(k, span)
        pairs = operand(keys * chunk(beta, span)[..., None], k.dtype) @ keys.mT
        if g is not None:
            pairs = pairs * decay_of_pairs(chunk(g, span))
        write(out, span, pairs.tril(-1))
    return out


def recompute_w_u_fwd(
    k: torch.Tensor,
    v: torch.Tensor,
    beta: torch.Tensor,
    g: torch.Tensor,
    A: torch.Tensor,
    cu_seqlens: None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    w, u = torch.zeros_like(k), torch.zeros_like(v)
    for span in spans(k.shape[1], A.shape[-1]):
        solved, factor = square(A, span), chunk(beta, span)[..., None]
        growth = torch.exp(chunk(g, span))[..., None]
        write(u, span, solved @ operand(chunk(v, span) * factor, v.dtype))
        scaled = operand(chunk(k, span) * factor, k.dtype)
        write(w, span, solved @ operand(scaled * growth, k.dtype))
    return w, u


def recompute_w_u_fwd_of_keys(
    k: torch.Tensor,
    v: torch.Tensor,
    beta: torch.Tensor,
    A: torch.Tensor,
    q: torch.Tensor | None = None,
    gk: torch.Tensor | None = None,
    **options: Any,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """Also q with its gate, and k with the decay from it to the end of the chunk."""
    w, u = torch.zeros_like(k), torch.zeros_like(v)
    reading = None if q is None else torch.zeros_like(q)
    writing = None if gk is None else torch.zeros_like(k)
    for span in spans(k.shape[1], A.shape[-1]):
        solved, factor, keys = square(A, span), chunk(beta, span)[..., None], chunk(k, span)
        gates = torch.zeros_like(keys) if gk is None else chunk(gk, span)
        write(u, span, solved @ operand(chunk(v, span) * factor, v.dtype))
        scaled = operand(keys * factor, k.dtype)
        write(w, span, solved @ operand(scaled * torch.exp2(gates), k.dtype))
        if q is not None and reading is not None:
            write(reading, span, chunk(q, span) * torch.exp2(gates))
        if writing is not None:
            write(writing, span, keys * torch.exp2(gates[..., -1:, :] - gates))
    return w, u, reading, writing


def bwd_prepare_wy_repr(
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    A: torch.Tensor,
    dw: torch.Tensor,
    du: torch.Tensor,
    cu_seqlens: None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The gradients of k, v, beta and g, by way of A too."""
    dk, dv, dbeta, dg = (torch.zeros_like(x) for x in (k, v, beta, g))
    for span in spans(k.shape[1], A.shape[-1]):
        keys, values, factors = chunk(k, span), chunk(v, span), chunk(beta, span)
        gates, solved = chunk(g, span), square(A, span)
        factor, growth = factors[..., None], torch.exp(gates)[..., None]
        of_keys, of_values = solved.mT @ chunk(dw, span), solved.mT @ chunk(du, span)
        scaled = operand(keys * factor, k.dtype)
        of_a = chunk(dw, span) @ operand(scaled * growth, k.dtype).mT
        of_a = of_a + chunk(du, span) @ operand(values * factor, v.dtype).mT
        of_pairs = _of_inverse(solved, of_a, k.dtype) * decay_of_pairs(gates)
        by_gates = of_pairs * (scaled @ keys.mT)
        rounded = operand(of_pairs, k.dtype)
        by_pairs = rounded @ keys
        write(dv, span, of_values * factor)
        by_w = operand(of_keys * growth * factor, k.dtype)
        write(dk, span, by_w + by_pairs * factor + rounded.mT @ scaled)
        write_scalars(
            dbeta,
            span,
            ((of_keys * growth + by_pairs) * keys).sum(-1) + (of_values * values).sum(-1),
        )
        write_scalars(
            dg,
            span,
            (of_keys * keys * factor * growth).sum(-1) + by_gates.sum(-1) - by_gates.sum(-2),
        )
    return dk, dv, dbeta, dg


def prepare_wy_repr_bwd(
    k: torch.Tensor,
    v: torch.Tensor,
    beta: torch.Tensor,
    gk: torch.Tensor,
    A: torch.Tensor,
    dk: torch.Tensor,
    dw: torch.Tensor,
    du: torch.Tensor,
    dg: torch.Tensor,
    **options: Any,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The gradients of k, v, beta, gk and of L; `dk` and `dg` are what is there already."""
    new_dk, new_dg, dbeta, of_l = (
        torch.zeros_like(x, dtype=torch.float32) for x in (dk, gk, beta, A)
    )
    dv = torch.zeros_like(v)
    for span in spans(k.shape[1], A.shape[-1]):
        keys, values, factors = chunk(k, span), chunk(v, span), chunk(beta, span)
        growth, solved, factor = torch.exp2(chunk(gk, span)), square(A, span), factors[..., None]
        of_keys, of_values = solved.mT @ chunk(dw, span), solved.mT @ chunk(du, span)
        written = operand(operand(keys * factor, k.dtype) * growth, k.dtype)
        of_a = chunk(dw, span) @ written.mT
        of_a = of_a + chunk(du, span) @ operand(values * factor, v.dtype).mT
        write(of_l, span, _of_inverse(solved, of_a, k.dtype))
        write(dv, span, of_values * factor)
        write(new_dk, span, of_keys * growth * factor + chunk(dk, span))
        write(new_dg, span, of_keys * keys * growth * factor + chunk(dg, span))
        write_scalars(dbeta, span, (of_keys * keys * growth).sum(-1) + (of_values * values).sum(-1))
    return new_dk, dv, dbeta, new_dg, of_l


def _of_inverse(solved: torch.Tensor, grad: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The gradient of L, given that of A = (1 + L)^-1: -A^T dA A^T, below the diagonal."""
    inner = operand(operand(grad.tril(-1), dtype) @ solved.mT, dtype)
    return -(solved.mT @ inner).tril(-1)
