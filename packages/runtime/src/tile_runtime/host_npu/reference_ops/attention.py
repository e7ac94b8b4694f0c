"""Rotary embedding and attention."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

# How often the device repeats maximum and sum of a row.
_COPIES = 8
# Where batch, sequence and heads stand in a tensor of each layout; H is heads times size.
_TO_BNSD: dict[str, Callable[[torch.Tensor, int], torch.Tensor]] = {
    "BNSD": lambda x, heads: x,
    "BSND": lambda x, heads: x.transpose(1, 2),
    "BSH": lambda x, heads: x.reshape(*x.shape[:2], heads, -1).transpose(1, 2),
    "SBH": lambda x, heads: x.reshape(*x.shape[:2], heads, -1).permute(1, 2, 0, 3),
}
_FROM_BNSD: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "BNSD": lambda x: x,
    "BSND": lambda x: x.transpose(1, 2),
    "BSH": lambda x: x.transpose(1, 2).flatten(2),
    "SBH": lambda x: x.permute(2, 0, 1, 3).flatten(2),
}


def npu_rotary_mul(
    input: torch.Tensor, r1: torch.Tensor, r2: torch.Tensor, rotary_mode: str = "half"
) -> torch.Tensor:
    """`r1` is the cosine, `r2` the sine."""
    x = input.float()
    if rotary_mode == "half":
        first, second = x.chunk(2, -1)
        turned = torch.cat([-second, first], -1)
    elif rotary_mode == "interleave":
        turned = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
    else:
        raise ValueError(f"rotary_mode is {rotary_mode!r}, expected 'half' or 'interleave'")
    return (x * r1.float() + turned * r2.float()).to(input.dtype)


def npu_fusion_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    head_num: int,
    input_layout: str,
    *,
    atten_mask: torch.Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pse: torch.Tensor | None = None,
    sparse_mode: int = 0,
    **ignored: Any,
) -> tuple[Any, ...]:
    """The output first; then maximum and sum of the softmax, and what dropout leaves."""
    if input_layout not in _TO_BNSD or keep_prob != 1.0 or pse is not None:
        raise NotImplementedError("npu_fusion_attention with this layout, dropout or pse")
    heads_of_key = key.shape[-1] * head_num // query.shape[-1] if "H" in input_layout else 0
    bnsd = _TO_BNSD[input_layout]
    q = bnsd(query, head_num)
    k, v = (bnsd(x, heads_of_key) for x in (key, value))
    masked = _attention_mask(atten_mask, sparse_mode, q.shape[2], k.shape[2])
    group = q.shape[1] // k.shape[1]
    output = torch.empty(*q.shape[:-1], v.shape[-1], dtype=query.dtype)
    highest, total = (torch.empty(*q.shape[:-1], _COPIES) for _ in range(2))
    # A head at a time: the scores of all of them can be larger than the memory of the host.
    for batch in range(q.shape[0]):
        for head in range(q.shape[1]):
            at, of = (batch, head), (batch, head // group)
            scores = q[at].float() @ k[of].float().T * scale
            if masked is not None:
                every = masked.expand(*q.shape[:2], *masked.shape[-2:])
                scores.masked_fill_(every[at], -math.inf)
            most = scores.amax(-1, keepdim=True)
            powers = torch.exp_(scores.sub_(most))
            sums = powers.sum(-1, keepdim=True)
            output[at] = ((powers @ v[of].float()) / sums).to(query.dtype)
            highest[at], total[at] = most, sums
    laid_out = _FROM_BNSD[input_layout](output).contiguous()
    return laid_out, highest, total, torch.empty(0), 0, 0, 0


def _attention_mask(
    mask: torch.Tensor | None, sparse_mode: int, queries: int, keys: int
) -> torch.Tensor | None:
    """True where a score does not count; modes 2 and 3 are causal from the left and the right."""
    if sparse_mode in (2, 3):
        offset = 0 if sparse_mode == 2 else keys - queries
        return torch.ones(queries, keys, dtype=torch.bool).triu(1 + offset)
    if sparse_mode not in (0, 1):
        raise NotImplementedError(f"npu_fusion_attention with sparse_mode {sparse_mode}")
    return None if mask is None else mask.bool()


def npu_sparse_flash_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    sparse_indices: torch.Tensor,
    scale_value: float,
    sparse_block_size: int = 1,
    *,
    block_table: torch.Tensor | None = None,
    actual_seq_lengths_query: torch.Tensor | None = None,
    actual_seq_lengths_kv: torch.Tensor | None = None,
    query_rope: torch.Tensor | None = None,
    key_rope: torch.Tensor | None = None,
    layout_query: str = "BSND",
    layout_kv: str = "BSND",
    sparse_mode: int = 3,
    **ignored: Any,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Attention of every query to the blocks of keys its indices name; -1 names none."""
    q = query if query_rope is None else torch.cat([query, query_rope], -1)
    k = key if key_rope is None else torch.cat([key, key_rope], -1)
    output = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
    for batch, first, count in _query_rows(query, layout_query, actual_seq_lengths_query):
        keys, values = (_keys_of(x, batch, layout_kv, block_table) for x in (k, value))
        length = len(keys)
        if actual_seq_lengths_kv is not None:
            length = int(actual_seq_lengths_kv[batch])
        for s in range(count):
            at = (batch, s) if layout_query == "BSND" else (first + s,)
            visible = length - (count - 1 - s) if sparse_mode == 3 else length
            for head in range(keys.shape[1]):
                group = q.shape[-2] // keys.shape[1]
                heads = slice(head * group, (head + 1) * group)
                chosen = _positions(sparse_indices[at][head], sparse_block_size, visible)
                if not len(chosen):
                    continue
                scores = q[at][heads].float() @ keys[chosen, head].float().T * scale_value
                weights = torch.softmax(scores, -1)
                output[at][heads] = (weights @ values[chosen, head].float()).to(query.dtype)
    return output, torch.empty(0), torch.empty(0)


def _query_rows(
    query: torch.Tensor, layout: str, ends: torch.Tensor | None
) -> list[tuple[int, int, int]]:
    """Per batch its first row and how many it has; TND counts rows over all batches."""
    if layout == "BSND":
        return [(b, 0, query.shape[1]) for b in range(query.shape[0])]
    last: Sequence[int] = [len(query)] if ends is None else [int(e) for e in ends]
    starts = [0, *last[:-1]]
    return [(b, s, e - s) for b, (s, e) in enumerate(zip(starts, last, strict=True))]


def _keys_of(
    keys: torch.Tensor, batch: int, layout: str, block_table: torch.Tensor | None
) -> torch.Tensor:
    """Rows of one batch: [sequence, heads, size]."""
    if layout == "BSND":
        return keys[batch]
    if layout == "PA_BSND" and block_table is not None:
        return keys[block_table[batch].long().clamp(min=0)].flatten(0, 1)
    raise NotImplementedError(f"npu_sparse_flash_attention with layout_kv {layout!r}")


def _positions(indices: torch.Tensor, block: int, length: int) -> torch.Tensor:
    named = indices[indices >= 0].long()
    positions = (named[:, None] * block + torch.arange(block)).flatten()
    return positions[positions < length]
