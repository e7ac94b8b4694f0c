"""Memory of gm that a kernel keeps from call to call: words in which its blocks count up, and what
ranks reach of each other. Nothing sets it back
(docs/use/megakernels.md#tasks)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import torch

from tile_ir import INT32, CallError
from tile_runtime.launcher.signature import Dim, ScalarParam, Signature, TensorParam, evaluate
from tile_runtime.launcher.torch_dtypes import TORCH_DTYPES

if TYPE_CHECKING:
    from tile_runtime.launcher.bind_arguments import Bound

# What a word may have counted to, for each step that a kernel is told.
MOST_ADDED = 64
LAST_CALL = (2**31 - 1) // MOST_ADDED

# Makes a symmetric tensor of zeros: the instances of the ranks that call.
Symmetric = Callable[[Sequence[int], torch.dtype], Iterable[torch.Tensor]]


class KeptWords:
    """The memory that one kernel keeps, on each device or on the ranks that call it together, and
    the number of the latest step."""

    def __init__(self, signature: Signature, symmetric: Symmetric | None = None) -> None:
        hidden = list(enumerate(signature.params))[signature.declared :]
        self._places = [(i, p) for i, p in hidden if isinstance(p, TensorParam) and p.kept]
        scalars = [(i, p) for i, p in hidden if isinstance(p, ScalarParam)]
        self._number: int | None = scalars[0][0] if scalars else None
        self._steps: Dim = scalars[0][1].steps if scalars else 1
        self._signature, self._symmetric = signature, symmetric
        self._words: dict[torch.device, list[Sequence[torch.Tensor]]] = {}
        self.calls: dict[torch.device, int] = {}

    def __bool__(self) -> bool:
        return bool(self._places) or self._number is not None

    def next_call(self, call: Bound) -> Bound:
        """The call with the memory of its device and a new number."""
        (found,) = self.next_calls([call])
        return found

    def next_calls(self, calls: Sequence[Bound]) -> list[Bound]:
        """The same for what all ranks call together. Where words would pass their largest number,
        or change in size, all begins anew."""
        device, known = calls[0].device, self._known(calls[0])
        steps = evaluate(self._steps, known)
        shapes = [tuple(evaluate(d, known) for d in p.dims) for _, p in self._places]
        latest = self.calls.get(device, 0)
        old = self._words.get(device)
        if old is None or latest + steps > LAST_CALL or self._words_differ(old, shapes):
            latest, old = 0, None
        held: Sequence[Sequence[torch.Tensor] | None] = old or [None] * len(shapes)
        words = [
            kept if kept is not None and tuple(kept[0].shape) == shape
            else self._zeros(param, shape, device, len(calls))
            for (_, param), shape, kept in zip(self._places, shapes, held, strict=True)
        ]  # fmt: skip
        self._words[device] = words
        self.calls[device] = latest + steps
        return [self._given(call, n, words, latest + 1) for n, call in enumerate(calls)]

    def _words_differ(
        self, held: Sequence[Sequence[torch.Tensor]], shapes: Sequence[tuple[int, ...]]
    ) -> bool:
        each = zip(self._places, held, shapes, strict=True)
        return any(p.dtype is INT32 and tuple(w[0].shape) != shape for (_, p), w, shape in each)

    def on_ranks(self, symmetric: Symmetric) -> KeptWords:
        """The same for ranks that make symmetric tensors so."""
        return KeptWords(self._signature, symmetric)

    def begin_anew(self) -> None:
        """Set all words back to 0 and count calls from 1: a run that failed left them somewhere."""
        for words in self._words.values():
            for tensor in (t for each in words for t in each):
                tensor.zero_()
        self.calls.clear()

    def _known(self, call: Bound) -> dict[str, int]:
        """Sizes of the call by name, and its scalars."""
        params = self._signature.params
        sizes = zip(self._signature.symbols, call.values[len(params) :], strict=False)
        scalars = ((p.name, v) for p, v in zip(params, call.values, strict=False))
        return {name: int(value) for name, value in (*scalars, *sizes)}

    def _zeros(
        self, param: TensorParam, shape: Sequence[int], device: torch.device, ranks: int
    ) -> Sequence[torch.Tensor]:
        dtype = TORCH_DTYPES[param.dtype.name]
        if param.symmetric and self._symmetric is not None:
            return tuple(self._symmetric(shape, dtype))
        if param.symmetric and device.type != "cpu":
            message = f"what this kernel keeps in `{param.name}` is memory that other ranks reach"
            hint = "make it with init_ranks, and run the kernel with its `launch`"
            raise CallError("ranks", message, hint=hint)
        return [torch.zeros(shape, dtype=dtype, device=device) for _ in range(ranks)]

    def _given(
        self, call: Bound, rank: int, words: Sequence[Sequence[torch.Tensor]], number: int
    ) -> Bound:
        values, sizes = list(call.values), list(call.sizes)
        for (i, _), each in zip(self._places, words, strict=True):
            values[i], sizes[i] = each[rank].data_ptr(), each[rank].nbytes
        if self._number is not None:
            values[self._number] = number
        return call._replace(values=tuple(values), sizes=tuple(sizes))
