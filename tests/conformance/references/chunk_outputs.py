"""What the tokens of a chunk read, given the state before it, and the gradients of that.

The output of token i is scale * (q_i e^(g_i)) S plus the values of the tokens j <= i of its chunk, by
the weights A[i, j]. With a gate for each k (`of_keys`, to base 2) A comes from `key_gates`; with one
for a token it is scale * (q_i . k_j) e^(g_i - g_j).
"""

from __future__ import annotations

from typing import Any

import torch

from conformance.references.chunks import (
    chunk,
    decay,
    decay_of_pairs,
    operand,
    spans,
    square,
    write,
    write_scalars,
)


def chunk_fwd_o(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    h: torch.Tensor,
    g: torch.Tensor | None = None,
    scale: float | None = None,
    cu_seqlens: None = None,
    chunk_size: int = 64,
    **options: Any,
) -> torch.Tensor:
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    out = torch.zeros_like(v)
    for number, span in enumerate(spans(q.shape[1], chunk_size)):
        queries = chunk(q, span)
        pairs, read = queries @ chunk(k, span).mT, queries @ h[:, number].double()
        if g is not None:
            gates = chunk(g, span)
            pairs, read = pairs * decay_of_pairs(gates), read * torch.exp(gates)[..., None]
        read = read + operand(pairs.tril(), v.dtype) @ chunk(v, span)
        write(out, span, read * scale)
    return out


def chunk_bwd_dqkwg(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor | None,
    do: torch.Tensor,
    h: torch.Tensor,
    dh: torch.Tensor,
    dv: torch.Tensor | None = None,
    w: torch.Tensor | None = None,
    cu_seqlens: None = None,
    chunk_size: int = 64,
    scale: float = 1.0,
    **options: Any,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """The gradients of q, k, w and g, by the outputs of each chunk and by the state after it: `dh`
    is that state's, `dv` that of the values u - w S."""
    dq, dk = torch.zeros_like(q), torch.zeros_like(k)
    dw = None if w is None else torch.zeros_like(w)
    dg = None if g is None else torch.zeros_like(g, dtype=torch.float32)
    for number, span in enumerate(spans(q.shape[1], chunk_size)):
        before, after = h[:, number].double(), dh[:, number].double()
        queries, keys, values, out = (chunk(x, span) for x in (q, k, v, do))
        gates = torch.zeros_like(queries[..., 0]) if g is None else chunk(g, span)
        fall = decay(gates[..., -1:] - gates)[..., None]
        of_pairs = (out @ values.mT * decay_of_pairs(gates) * scale).tril()
        rounded = operand(of_pairs, k.dtype)
        by_state = out @ before.mT * torch.exp(gates)[..., None] * scale
        to_state = values @ after.mT * fall
        write(dq, span, by_state + rounded @ keys)
        write(dk, span, to_state + rounded.mT @ queries)
        if dw is not None and dv is not None:
            write(dw, span, -chunk(dv, span) @ before.mT)
        if dg is not None:
            both = of_pairs * (queries @ keys.mT)
            written = (to_state * keys).sum(-1)
            of_gates = (by_state * queries).sum(-1) - written + both.sum(-1) - both.sum(-2)
            kept = torch.exp(gates[..., -1]) * (before * after).sum((-1, -2))
            of_gates[..., -1] += kept + written.sum(-1)
            write_scalars(dg, span, of_gates)
    return dq, dk, dw, dg


def chunk_gla_fwd_o_gk(
    q: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    A: torch.Tensor,
    h: torch.Tensor,
    scale: float,
    cu_seqlens: None = None,
    chunk_size: int = 64,
    use_exp2: bool = False,
    **options: Any,
) -> torch.Tensor:
    out = torch.zeros_like(v)
    power = torch.exp2 if use_exp2 else torch.exp
    for number, span in enumerate(spans(q.shape[1], chunk_size)):
        queries = operand(chunk(q, span) * scale * power(chunk(g, span)), q.dtype)
        read = queries @ h[:, number].double()
        write(out, span, read + square(A, span).tril() @ chunk(v, span))
    return out


def chunk_bwd_dv_local(
    q: torch.Tensor, k: torch.Tensor, do: torch.Tensor, A: torch.Tensor, **options: Any
) -> torch.Tensor:
    """The gradient of the values by the outputs of their own chunk."""
    dv = torch.zeros_like(do)
    for span in spans(do.shape[1], A.shape[-1]):
        write(dv, span, square(A, span).tril().mT @ chunk(do, span))
    return dv


def chunk_gla_bwd_dA(
    v: torch.Tensor, do: torch.Tensor, scale: float, chunk_size: int = 64, **options: Any
) -> torch.Tensor:
    """The gradient of the weights A, before `scale`."""
    grad = torch.zeros(*v.shape[:3], chunk_size)
    for span in spans(v.shape[1], chunk_size):
        write(grad, span, (chunk(do, span) @ chunk(v, span).mT * scale).tril())
    return grad


def chunk_kda_bwd_dqkwg(
    q: torch.Tensor,
    k: torch.Tensor,
    w: torch.Tensor,
    v: torch.Tensor,
    h: torch.Tensor,
    g: torch.Tensor,
    do: torch.Tensor,
    dh: torch.Tensor,
    dv: torch.Tensor,
    scale: float = 1.0,
    chunk_size: int = 64,
    **options: Any,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The gradients of q, k, w and of a gate for each k, by the states alone; those by the weights
    of a chunk are `key_gates.chunk_kda_bwd_intra`'s."""
    dq, dk = torch.zeros_like(q, dtype=torch.float32), torch.zeros_like(k, dtype=torch.float32)
    dw, dg = torch.zeros_like(w), torch.zeros_like(g)
    for number, span in enumerate(spans(q.shape[1], chunk_size)):
        before, after = h[:, number].double(), dh[:, number].double()
        gates, keys = chunk(g, span), chunk(k, span)
        last = gates[..., -1:, :]
        by_state = chunk(do, span) @ before.mT * scale * torch.exp2(gates)
        to_state = chunk(v, span) @ after.mT * torch.exp2(last - gates)
        written = keys * to_state
        of_gates = chunk(q, span) * by_state - written
        kept = (before * after).sum(-1) * torch.exp2(last[..., 0, :])
        of_gates[..., -1, :] += kept + written.sum(-2)
        write(dq, span, by_state)
        write(dk, span, to_state)
        write(dw, span, -chunk(dv, span) @ before.mT)
        write(dg, span, of_gates)
    return dq, dk, dw, dg
