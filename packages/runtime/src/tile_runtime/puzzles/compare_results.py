"""Compare results with those of a reference, and describe the first difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def first_difference(found: Sequence[Any], expected: Sequence[Any], tolerance: float) -> str:
    """Where tensors differ by more than `tolerance` times the largest expected value; "" if they do
    not. A tolerance of 0 requires equal values."""
    if len(found) != len(expected):
        return f"{len(found)} results, expected {len(expected)}"
    for number, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        which = f"result {number}, " if len(expected) > 1 else ""
        difference = _difference(ours, theirs, tolerance)
        if difference:
            return which + difference
    return ""


def _difference(ours: Any, theirs: Any, tolerance: float) -> str:
    import torch

    if not isinstance(ours, torch.Tensor):
        return f"a {type(ours).__name__}, expected a tensor"
    if ours.shape != theirs.shape:
        return f"shape {list(ours.shape)}, expected {list(theirs.shape)}"
    if not theirs.numel():
        return ""
    ours, theirs = ours.detach().double(), theirs.detach().double()
    room = tolerance * float(theirs.abs().max())
    equal = (ours - theirs).abs() <= room
    equal |= (ours == theirs) | (ours.isnan() & theirs.isnan())
    if bool(equal.all()):
        return ""
    places = (~equal).nonzero()
    first = tuple(places[0].tolist())
    return (
        f"element {list(first)} is {float(ours[first]):.6g}, expected {float(theirs[first]):.6g}; "
        f"{len(places)} of {theirs.numel()} elements differ"
    )
