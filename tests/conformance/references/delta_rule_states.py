"""The states of the gated delta rule from chunk to chunk, and their gradients from the last back.

A state S is [size of k, size of v]. In a chunk whose tokens have u and w (`wy_representation`), the
values that are new are v = u - w S, and what follows is S' = decay * S + k^T v. A gate is one number
of a token (`g`, to base e) or one of each k (`gk`, to base 2 with `use_exp2`), summed up in the chunk.
With `gk` the caller has put the decay to the end of the chunk into k and q already.
"""

from __future__ import annotations

from typing import Any

import torch

from conformance.references.chunks import chunk, decay, operand, spans, write


def chunk_gated_delta_rule_fwd_h(
    k: torch.Tensor,
    w: torch.Tensor,
    u: torch.Tensor,
    g: torch.Tensor | None = None,
    gk: torch.Tensor | None = None,
    initial_state: torch.Tensor | None = None,
    output_final_state: bool = False,
    chunk_size: int = 64,
    save_new_value: bool = True,
    use_exp2: bool = False,
    **options: Any,
) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """The state before each chunk, the new values, the state after the last chunk."""
    batch, length, heads, size = k.shape
    parts = spans(length, chunk_size)
    state = torch.zeros(batch, heads, size, u.shape[-1], dtype=torch.float64)
    if initial_state is not None:
        state += initial_state
    before = k.new_zeros(batch, len(parts), heads, size, u.shape[-1])
    new_values = torch.zeros_like(u)
    for number, span in enumerate(parts):
        before[:, number] = state.to(k.dtype)
        values = chunk(u, span) - chunk(w, span) @ operand(state, k.dtype)
        write(new_values, span, values)
        if g is not None:
            gates = chunk(g, span)
            values = values * decay(gates[..., -1:] - gates)[..., None]
        state = state * _fall(g, gk, span, use_exp2)
        state = state + chunk(k, span).mT @ operand(values, k.dtype)
    final = state.float() if output_final_state else None
    return before, new_values if save_new_value else None, final


def chunk_gated_delta_rule_bwd_dhu(
    q: torch.Tensor,
    k: torch.Tensor,
    w: torch.Tensor,
    g: torch.Tensor | None = None,
    h0: torch.Tensor | None = None,
    dht: torch.Tensor | None = None,
    do: torch.Tensor | None = None,
    dv: torch.Tensor | None = None,
    scale: float = 1.0,
    cu_seqlens: None = None,
    chunk_size: int = 64,
    gk: torch.Tensor | None = None,
    use_exp2: bool = False,
    **options: Any,
) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]:
    """The gradient of the state after each chunk, of the first state, and of the new values: `dv`
    is what of it comes by the outputs of the same chunk."""
    assert do is not None and dv is not None
    batch, length, heads, size = q.shape
    parts = spans(length, chunk_size)
    grad = torch.zeros(batch, heads, size, do.shape[-1], dtype=torch.float64)
    if dht is not None:
        grad += dht
    after = q.new_zeros(batch, len(parts), heads, size, do.shape[-1])
    of_values = torch.zeros_like(dv)
    for number, span in reversed(list(enumerate(parts))):
        after[:, number] = grad.to(q.dtype)
        values = chunk(k, span) @ operand(grad, q.dtype)
        reading = chunk(q, span) * scale
        if g is not None:
            gates = chunk(g, span)
            values = values * decay(gates[..., -1:] - gates)[..., None]
            reading = reading * torch.exp(gates)[..., None]
        values = values + chunk(dv, span)
        write(of_values, span, values)
        grad = grad * _fall(g, gk, span, use_exp2)
        grad = grad + reading.mT @ chunk(do, span) - chunk(w, span).mT @ operand(values, q.dtype)
    return after, None if h0 is None else grad.float(), of_values


def _fall(
    g: torch.Tensor | None, gk: torch.Tensor | None, span: slice, use_exp2: bool
) -> torch.Tensor:
    """What a state is multiplied by over a chunk, [batch, heads, size of k or 1, 1]."""
    if g is not None:
        return torch.exp(chunk(g, span)[..., -1])[..., None, None]
    if gk is not None:
        last = chunk(gk, span)[..., -1, :, None]
        return torch.exp2(last) if use_exp2 else torch.exp(last)
    return torch.ones((), dtype=torch.float64)
