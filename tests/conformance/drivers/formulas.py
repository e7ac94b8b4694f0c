"""What references of several families share, in float64."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import torch

from conformance.drivers.case import Draw, torch_type

LOG2_E = 1.4426950408889634


def rounded(x: torch.Tensor, dtype: str) -> torch.Tensor:
    """Through a type and back, as where a kernel keeps a tile in it."""
    return x.to(torch_type(dtype)).double()


def heads_first(x: torch.Tensor) -> torch.Tensor:
    """[batch, rows, heads, ...] in float64 as [batch, heads, rows, ...]; its own inverse."""
    return x.double().transpose(1, 2)


def chunks(rows: int, size: int) -> list[slice]:
    return [slice(a, min(a + size, rows)) for a in range(0, rows, size)]


def gates(draw: Draw, batch: int, rows: int, heads: int, columns: int, chunk: int,
          dtype: str = "float32", size: float = 0.1) -> torch.Tensor:  # fmt: skip
    """Logarithms of decays: negative, summed up within each chunk; without `columns` if it is 0."""
    steps = -draw(batch, rows, heads, *([columns] if columns else [])).abs() * size
    for part in chunks(rows, chunk):
        steps[:, part] = steps[:, part].cumsum(1)
    return steps.to(torch_type(dtype))


def decays(gate: torch.Tensor) -> torch.Tensor:
    """exp(g_i - g_j) where that is a decay, else 0, of gates [..., rows]."""
    between = gate[..., :, None] - gate[..., None, :]
    return torch.where(between <= 0, torch.exp(between), 0.0)


def softmax_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, allowed: torch.Tensor | None = None,
    scale: float = 0.0,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """Rows [batch, rows, heads, size], where k and v may have fewer heads, and which row sees which.
    Also the binary logarithm of the sums, [batch, heads, rows]."""
    groups = q.shape[2] // k.shape[2]
    q, k, v = heads_first(q), *(heads_first(x).repeat_interleave(groups, 1) for x in (k, v))
    scores = q @ k.transpose(-1, -2) * (scale or q.shape[-1] ** -0.5)
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -torch.inf)
    return heads_first(torch.softmax(scores, -1) @ v), torch.logsumexp(scores, -1) * LOG2_E


def attend(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Heads [heads, size] over rows that all of them see; and the logarithm of the sums."""
    scores = q.double() @ k.double().T * scale
    return torch.softmax(scores, 1) @ v.double(), torch.logsumexp(scores, 1)


def causal(rows: int, keys: int) -> torch.Tensor:
    """Which row sees which key, if the last ones belong together."""
    return torch.ones(rows, keys, dtype=torch.bool).tril(keys - rows)


def gradients(
    out: torch.Tensor, of: torch.Tensor, inputs: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    return torch.autograd.grad((out * of.double()).sum(), inputs)


def wanting(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Copies in float64 that gradients are asked of."""
    return tuple(t.double().clone().requires_grad_() for t in tensors)


def int32(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def offsets(lengths: Sequence[int]) -> torch.Tensor:
    """Where sequences begin that lie one behind the other, and where the last ends."""
    return int32(0, *itertools.accumulate(lengths))


def tokens(lengths: Sequence[int]) -> torch.Tensor:
    """The sequence of each row and its place in it."""
    return torch.tensor(list(_places(lengths)), dtype=torch.int32)


def _places(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    for number, length in enumerate(lengths):
        yield from ((number, place) for place in range(length))
