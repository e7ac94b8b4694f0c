"""Attention as `flash_attn` has it: whole batches, sequences one behind the other, caches in pages."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import torch


def _attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, scale: float | None
) -> torch.Tensor:
    """Rows of q over rows of k, [rows, heads, size] each; causal from the end."""
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, 1).float() for x in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q.float(), k) * (scale or 1 / math.sqrt(q.shape[-1]))
    if causal:
        behind = torch.ones(scores.shape[1:], dtype=torch.bool).tril(k.shape[0] - q.shape[0])
        scores = scores.masked_fill(~behind, -torch.inf)
    weights = torch.softmax(scores, -1).nan_to_num(0.0)
    return torch.einsum("hqk,khd->qhd", weights, v).to(q.dtype)


def flash_attn_func(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    **options: Any,
) -> torch.Tensor:
    """Batches of [rows, heads, size]."""
    return torch.stack(
        [_attention(*each, causal, softmax_scale) for each in zip(q, k, v, strict=True)]
    )


def flash_attn_varlen_func(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    **options: Any,
) -> torch.Tensor:
    """Sequences one behind the other, each of [rows, heads, size]."""
    out = torch.zeros(*q.shape[:2], v.shape[-1], dtype=q.dtype)
    ends = [list(map(int, c)) for c in (cu_seqlens_q, cu_seqlens_k)]
    pairs = [list(pairwise(e)) for e in ends]
    for (a, b), (c, d) in zip(*pairs, strict=True):
        out[a:b] = _attention(q[a:b], k[c:d], v[c:d], causal, softmax_scale)
    return out


def flash_attn_with_kvcache(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    cache_seqlens: torch.Tensor | int | None = None,
    block_table: torch.Tensor | None = None,
    softmax_scale: float | None = None,
    causal: bool = False,
    **options: Any,
) -> torch.Tensor:
    """Batches of [rows, heads, size] over the first rows of a cache, which may be in pages."""
    results = []
    for number, rows in enumerate(q):
        if block_table is None:
            k, v = k_cache[number], v_cache[number]
        else:
            pages = block_table[number].clamp(min=0).long()
            k, v = k_cache[pages].flatten(0, 1), v_cache[pages].flatten(0, 1)
        match cache_seqlens:
            case None:
                length = k.shape[0]
            case int():
                length = cache_seqlens
            case _:
                length = int(cache_seqlens[number])
        results.append(_attention(rows, k[:length], v[:length], causal, softmax_scale))
    return torch.stack(results)


def index_first_axis(x: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    return x[indices]


def unpad_input(
    x: torch.Tensor, mask: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, int]:
    """The rows of the mask, their places, where each sequence begins, and the longest one."""
    lengths = mask.sum(-1, dtype=torch.int32)
    indices = torch.nonzero(mask.flatten()).flatten()
    begins = torch.nn.functional.pad(torch.cumsum(lengths, 0, dtype=torch.int32), (1, 0))
    return x.flatten(0, 1)[indices], indices, begins, int(lengths.max())


def pad_input(x: torch.Tensor, indices: torch.Tensor, batch: int, rows: int) -> torch.Tensor:
    out = torch.zeros(batch * rows, *x.shape[1:], dtype=x.dtype)
    out[indices] = x
    return out.reshape(batch, rows, *x.shape[1:])
