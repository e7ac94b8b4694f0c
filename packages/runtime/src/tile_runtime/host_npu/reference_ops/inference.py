"""Compute the fused operations of inference engines: normalisation behind an addition,
quantisation, caches of keys and values, merged parts of an attention, and the step to the next
token."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from tile_runtime.host_npu.reference_ops.attention import npu_rotary_mul
from tile_runtime.host_npu.reference_ops.loss_and_norm import npu_rms_norm

_LARGEST_INT8 = 127.0


def npu_add_rms_norm(
    x1: torch.Tensor, x2: torch.Tensor, gamma: torch.Tensor, epsilon: float = 1e-6
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The normalised sum, one over the root of its mean square, and the sum."""
    total = x1.float() + x2.float()
    normal, scale = npu_rms_norm(total, gamma, epsilon)
    return normal.to(x1.dtype), scale, total.to(x1.dtype)


def npu_dynamic_quant(
    x: torch.Tensor,
    *,
    smooth_scales: torch.Tensor | None = None,
    group_index: torch.Tensor | None = None,
    dst_type: torch.dtype = torch.int8,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows as int8, and what one step of each stands for. `group_index` counts the rows up to the
    end of each group, which has smooth scales of its own."""
    if dst_type is not torch.int8:
        raise NotImplementedError(f"npu_dynamic_quant with dst_type={dst_type}")
    wide = x.float()
    if smooth_scales is not None:
        factors = smooth_scales.float()
        if group_index is not None:
            rows = torch.arange(x.numel() // x.shape[-1])
            groups = torch.searchsorted(group_index.long(), rows, right=True)
            factors = factors[groups.clamp(max=len(factors) - 1)].view(x.shape)
        wide = wide * factors
    step = wide.abs().amax(-1) / _LARGEST_INT8
    divisor = torch.where(step == 0, torch.ones_like(step), step).unsqueeze(-1)
    return torch.round(wide / divisor).clamp(-128, 127).to(torch.int8), step


def npu_clipped_swiglu(
    x: torch.Tensor,
    *,
    group_index: torch.Tensor | None = None,
    dim: int = -1,
    alpha: float = 1.702,
    limit: float = 7.0,
    bias: float = 1.0,
    interleaved: bool = True,
) -> torch.Tensor:
    """Gates and values, cut at `limit`, alternate or lie one behind the other; rows behind those
    that `group_index` adds up to stay zero."""
    axis = dim % x.dim()
    rows = x.float().reshape(x.shape[:axis].numel(), -1)
    used = len(rows) if group_index is None else int(group_index.sum())
    gate, value = (
        (rows[:used, 0::2], rows[:used, 1::2]) if interleaved else rows[:used].chunk(2, -1)
    )
    gate, value = gate.clamp(max=limit), value.clamp(-limit, limit)
    result = torch.zeros(len(rows), rows.shape[1] // 2)
    result[:used] = gate * torch.sigmoid(alpha * gate) * (value + bias)
    shape = (*x.shape[:axis], x.shape[axis] // 2, *x.shape[axis + 1 :])
    return result.view(shape).to(x.dtype)


def npu_scatter_pa_kv_cache(
    key: torch.Tensor,
    value: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    slot_mapping: torch.Tensor,
    *,
    compress_lens: torch.Tensor | None = None,
    compress_seq_offsets: torch.Tensor | None = None,
    seq_lens: torch.Tensor | None = None,
    cache_mode: str = "PA_NZ",
) -> None:
    """Write keys and values of tokens to their slots of both caches; negative slots are left out.
    A cache is [blocks, slots, heads, size] in mode "Norm", else [blocks, parts, slots, size of a
    part], where a token's heads lie in parts one behind the other."""
    if any(a is not None for a in (compress_lens, compress_seq_offsets, seq_lens)):
        raise NotImplementedError("npu_scatter_pa_kv_cache with compressed sequences")
    if cache_mode not in ("Norm", "PA_NZ"):
        raise NotImplementedError(f"npu_scatter_pa_kv_cache with cache_mode={cache_mode!r}")
    slots = slot_mapping.flatten().long()
    wanted = slots >= 0
    for tokens, cache in ((key, key_cache), (value, value_cache)):
        rows = tokens.reshape(len(slots), -1)[wanted]
        if cache_mode == "Norm":
            cache.view(-1, rows.shape[1])[slots[wanted]] = rows
            continue
        per_block, part = cache.shape[2:]
        block, place = slots[wanted] // per_block, slots[wanted] % per_block
        cache[block, :, place] = rows.view(len(rows), -1, part)


def npu_attention_update(
    lse: Sequence[torch.Tensor], local_out: Sequence[torch.Tensor], update_type: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Parts of an attention over different keys as one: each weighs as its share of all
    exponentials. The logarithm of their sum too with `update_type` 1, else an empty tensor."""
    logarithms = torch.stack([part.float() for part in lse])
    total = torch.logsumexp(logarithms, 0)
    weights = torch.exp(logarithms - total).unsqueeze(-1)
    out = (weights * torch.stack([part.float() for part in local_out])).sum(0)
    return out.to(local_out[0].dtype), total if update_type == 1 else torch.empty(0)


def npu_apply_rotary_pos_emb(
    query: torch.Tensor,
    key: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    layout: str = "BSH",
    rotary_mode: str = "half",
) -> tuple[torch.Tensor, torch.Tensor]:
    """Queries and keys turned by the angles of their positions."""
    if rotary_mode == "quarter":
        raise NotImplementedError("npu_apply_rotary_pos_emb with rotary_mode='quarter'")
    turned = (npu_rotary_mul(x, cos, sin, rotary_mode) for x in (query, key))
    return next(turned), next(turned)


def npu_advance_step_flashattn(
    input_tokens: torch.Tensor,
    sampled_token_ids: torch.Tensor,
    input_positions: torch.Tensor,
    seq_lens: torch.Tensor,
    slot_mapping: torch.Tensor,
    block_tables: torch.Tensor,
    num_seqs: int,
    num_queries: int,
    block_size: int,
    *,
    spec_token: torch.Tensor | None = None,
    accepted_num: torch.Tensor | None = None,
) -> None:
    """Move the first `num_queries` sequences on by the token that was sampled for each."""
    if spec_token is not None or accepted_num is not None:
        raise NotImplementedError("npu_advance_step_flashattn with speculated tokens")
    positions = seq_lens[:num_queries].clone()
    input_tokens[:num_queries] = sampled_token_ids.flatten()[:num_queries]
    input_positions[:num_queries] = positions
    seq_lens[:num_queries] = positions + 1
    blocks = block_tables.flatten()[positions // block_size]
    first = block_tables.stride(0) * torch.arange(num_queries)
    slot_mapping[:num_queries] = (blocks + first) * block_size + positions % block_size
