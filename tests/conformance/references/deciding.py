"""Comparisons that end a script. Some folders of scripts only print by how much results differ."""

from __future__ import annotations

import torch

# Of the root of the mean square of what is expected: eight roundings of a half type; for float32 what
# sums of rounded operands have.
_ROUNDINGS = 8
_FLOAT32 = 1e-3
# How much more one element may differ.
_WORST = 40


def leave_out(x: torch.Tensor, mask: torch.Tensor) -> None:
    """Say that a function gives no value to these elements; nobody compares them."""
    x.left_out = mask


def compare_tensors(
    name: str, x: torch.Tensor, y: torch.Tensor, atol: float = 0.0, rtol: float = 0.0
) -> None:
    """Raise unless the two, in any order, differ by roundings alone; `atol` and `rtol` are what
    their callers print."""
    masks = [m for m in (getattr(t, "left_out", None) for t in (x, y)) if m is not None]
    kept = ~masks[0] if masks else torch.ones(x.shape, dtype=torch.bool)
    one, other = x.double()[kept], y.double()[kept]
    if not bool(torch.isfinite(one).logical_and(torch.isfinite(other)).all()):
        raise AssertionError(f"{name}: not equal where one is not finite")
    size = other.square().mean().sqrt()
    difference = (one - other).abs()
    share = float(difference.square().mean().sqrt() / size)
    worst = float((difference / (size + other.abs())).max())
    allowed = max(_allowed(x.dtype), _allowed(y.dtype))
    print(f"{name}: differs by {share:.1e} of its size, {worst:.1e} at worst")
    if share > allowed or worst > _WORST * allowed:
        raise AssertionError(f"{name}: not close, allowed are {allowed:.1e}")


def _allowed(dtype: torch.dtype) -> float:
    if dtype in (torch.float32, torch.float64):
        return _FLOAT32
    return _ROUNDINGS * torch.finfo(dtype).eps
