"""What scripts prepare their inputs with: gates summed up in chunks, rows of length 1, indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def chunk_local_cumsum(
    g: torch.Tensor,
    chunk_size: int,
    reverse: bool = False,
    scale: float | None = None,
    cu_seqlens: None = None,
    head_first: bool = False,
    output_dtype: torch.dtype | None = torch.float32,
    **options: Any,
) -> torch.Tensor:
    """Sums of a chunk's tokens up to each of them, or from it on; tokens are axis 1, or 2."""
    axis = 2 if head_first else 1
    parts = []
    for part in g.double().split(chunk_size, axis):
        summed = part.flip(axis).cumsum(axis).flip(axis) if reverse else part.cumsum(axis)
        parts.append(summed if scale is None else summed * scale)
    return torch.cat(parts, axis).to(output_dtype or g.dtype)


def l2norm_fwd(
    x: torch.Tensor, eps: float = 1e-6, output_dtype: torch.dtype | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of length 1, and what each was multiplied by; nothing remembers how, for gradients."""
    x = x.detach()
    factor = torch.rsqrt(x.double().square().sum(-1) + eps)
    return (x * factor[..., None]).to(output_dtype or x.dtype), factor.float()


def prepare_token_indices(cu_seqlens: torch.Tensor) -> torch.Tensor:
    """The sequence of each token and its place there, [tokens, 2]."""
    lengths = (cu_seqlens[1:] - cu_seqlens[:-1]).tolist()
    pairs = [(number, place) for number, n in enumerate(lengths) for place in range(n)]
    return torch.tensor(pairs, dtype=cu_seqlens.dtype).reshape(-1, 2)


def contiguous(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with tensors whose elements lie one behind the other."""

    def called(*arguments: Any, **named: Any) -> Any:
        return function(*map(_dense, arguments), **{n: _dense(x) for n, x in named.items()})

    return called


def unchanged(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _dense(x: Any) -> Any:
    return x.contiguous() if isinstance(x, torch.Tensor) else x
