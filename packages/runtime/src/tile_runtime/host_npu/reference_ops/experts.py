"""Sorting tokens by expert and putting them back."""

from __future__ import annotations

import torch


def npu_moe_token_permute(
    tokens: torch.Tensor,
    indices: torch.Tensor,
    num_out_tokens: int | None = None,
    padded_mode: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens once for each expert they go to, sorted by expert, and where each copy went."""
    if padded_mode:
        raise NotImplementedError("npu_moe_token_permute with padded_mode")
    copies = indices.shape[1] if indices.dim() == 2 else 1
    order = torch.argsort(indices.flatten(), stable=True)
    # A number that is not positive counts from the end, as a slice does.
    kept = order[: num_out_tokens or None]
    permuted = tokens.index_select(0, kept // copies)
    return permuted, torch.argsort(order, stable=True).to(torch.int32)


def npu_moe_token_unpermute(
    permuted_tokens: torch.Tensor,
    sorted_indices: torch.Tensor,
    probs: torch.Tensor | None = None,
    padded_mode: bool = False,
    restore_shape: torch.Size | None = None,
) -> torch.Tensor:
    """The copies of each token put back, weighted, and added up; without weights each by itself."""
    if padded_mode:
        raise NotImplementedError("npu_moe_token_unpermute with padded_mode")
    places = sorted_indices.long()
    rows = permuted_tokens.shape[0]
    found = permuted_tokens.index_select(0, places.clamp(max=rows - 1))
    found = found * (places < rows)[:, None].to(found.dtype)  # copies that were cut off are zero
    if probs is None:
        return found
    copies = found.float().reshape(*probs.shape, -1)
    return (copies * probs.float()[..., None]).sum(1).to(permuted_tokens.dtype)
