"""What the references of this folder share: sequences in chunks, in float64, heads before tokens.

Where these algorithms put a result back into the matrix unit it has the type of their inputs, on a
GPU as here, and so has a product of two inputs; `operand` rounds there and nowhere else.
"""

from __future__ import annotations

import torch


def spans(length: int, chunk_size: int) -> list[slice]:
    """The tokens of each chunk; the last one may be shorter."""
    starts = range(0, length, chunk_size)
    return [slice(start, min(start + chunk_size, length)) for start in starts]


def chunk(x: torch.Tensor, span: slice) -> torch.Tensor:
    """[batch, tokens, heads, ...] -> [batch, heads, tokens of the chunk, ...], in float64."""
    return x[:, span].transpose(1, 2).double()


def write(out: torch.Tensor, span: slice, x: torch.Tensor) -> None:
    """Put a chunk back, rounded to the type of `out`; a matrix of pairs may be narrower."""
    out[:, span, :, : x.shape[-1]] = x.transpose(1, 2).to(out.dtype)


def write_scalars(out: torch.Tensor, span: slice, x: torch.Tensor) -> None:
    out[:, span] = x.transpose(1, 2).to(out.dtype)


def square(x: torch.Tensor, span: slice) -> torch.Tensor:
    """A chunk of a matrix of pairs, [tokens, tokens] of it."""
    found = chunk(x, span)
    return found[..., : found.shape[-2]]


def operand(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return x.to(dtype).double()


def decay(difference: torch.Tensor) -> torch.Tensor:
    """e to the difference of two gates. Gates fall with time: what would grow is no pair at all."""
    return torch.where(difference <= 0, torch.exp(difference), 0.0)


def decay_of_pairs(g: torch.Tensor) -> torch.Tensor:
    """From each token to the one it looks at, [..., tokens, tokens]."""
    return decay(g[..., :, None] - g[..., None, :])
