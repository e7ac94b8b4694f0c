"""Copies that stand for tensors of any strides, of parameters `T.StridedTensor`: a kernel takes
rows that lie behind each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

from tile_ir import Automatic, Func


class StandIns(NamedTuple):
    """The arguments to call with, and which of the caller's tensors stand-ins are of."""

    arguments: tuple[Any, ...]
    copies: Mapping[int, torch.Tensor]

    def copy_back(self, written: Sequence[int]) -> None:
        """Give the caller's tensors what the kernel has written."""
        for n in written:
            if n in self.copies:
                self.copies[n].copy_(self.arguments[n])


def stand_ins(
    func: Func, slots: Sequence[tuple[int, int, torch.dtype]], arguments: tuple[Any, ...]
) -> StandIns | None:
    """The arguments with stand-ins, None where none is needed; `slots` begin with the number of
    each tensor that a caller passes."""
    if Automatic.STRIDES not in func.automatic:
        return None
    copies = {
        n: arguments[n]
        for n, *_ in slots
        if n < len(arguments)
        and isinstance(arguments[n], torch.Tensor)
        and not arguments[n].is_contiguous()
    }
    if not copies:
        return None
    given = (a.contiguous() if n in copies else a for n, a in enumerate(arguments))
    return StandIns(tuple(given), copies)
