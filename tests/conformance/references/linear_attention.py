"""Attention without softmax: each token reads the sum of k v^T of all tokens up to itself."""

from __future__ import annotations

import torch

_LEAST = 1e-10


def fused_chunk_linear_attn(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    scale: float | None = None,
    initial_state: torch.Tensor | None = None,
    output_final_state: bool = False,
    normalize: bool = True,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Also what comes after the last token, [batch, heads, size of k, size of v]. `normalize`
    divides by the sum of the weights. torch finds the gradients."""
    wide_q, wide_k, wide_v = (x.transpose(1, 2).double() for x in (q, k, v))
    wide_q = wide_q * (q.shape[-1] ** -0.5 if scale is None else scale)
    weights = torch.tril(wide_q @ wide_k.mT)
    out = weights @ wide_v
    state = wide_k.mT @ wide_v
    if initial_state is not None:
        out = out + wide_q @ initial_state.double()
        state = state + initial_state.double()
    if normalize:
        out = out / (weights.sum(-1, keepdim=True) + _LEAST)
    final = state.float() if output_final_state else None
    return out.transpose(1, 2).to(q.dtype), final
