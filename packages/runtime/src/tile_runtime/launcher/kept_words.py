"""Words of gm that a kernel keeps from call to call: its blocks count up in them, and nothing sets
them back (docs/megakernels.md)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from tile_runtime.launcher.signature import ScalarParam, Signature, TensorParam
from tile_runtime.launcher.torch_dtypes import TORCH_DTYPES

if TYPE_CHECKING:
    from tile_runtime.launcher.bind_arguments import Bound

# What a word may have counted to: every call adds less than this many.
MOST_ADDED = 64
LAST_CALL = (2**31 - 1) // MOST_ADDED


class KeptWords:
    """The words of one kernel, on each device, and the number of the latest call."""

    def __init__(self, signature: Signature) -> None:
        hidden = list(enumerate(signature.params))[signature.declared :]
        self._places = [(i, p) for i, p in hidden if isinstance(p, TensorParam) and p.kept]
        self._number = next((i for i, p in hidden if isinstance(p, ScalarParam)), None)
        self._words: dict[torch.device, list[torch.Tensor]] = {}
        self.calls: dict[torch.device, int] = {}

    def __bool__(self) -> bool:
        return bool(self._places)

    def next_call(self, call: Bound) -> Bound:
        """The call with the words of its device and a new number. Where words would pass their
        largest number they begin anew."""
        count = self.calls.get(call.device, 0) + 1
        if count > LAST_CALL or call.device not in self._words:
            count = 1
            self._words[call.device] = [
                torch.zeros(_size(p), dtype=TORCH_DTYPES[p.dtype.name], device=call.device)
                for _, p in self._places
            ]
        self.calls[call.device] = count
        values, sizes = list(call.values), list(call.sizes)
        for (i, _), words in zip(self._places, self._words[call.device], strict=True):
            values[i], sizes[i] = words.data_ptr(), words.nbytes
        if self._number is not None:
            values[self._number] = count
        return call._replace(values=tuple(values), sizes=tuple(sizes))

    def forget(self, device: torch.device) -> None:
        """A run that failed left them somewhere: begin anew."""
        self._words.pop(device, None)


def _size(param: TensorParam) -> int:
    return math.prod(d for d in param.dims if isinstance(d, int))
