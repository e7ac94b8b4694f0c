"""Graphs: what is called while one is captured runs at once, and is recorded for `replay`.

A replay does every recorded call again in order, with the same memory: kernels are launched with
the pointers they had, operations of torch write into the tensors they made.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tile_runtime.launcher.run_watchers import record_calls

# What these make has no values until something is written there.
_NO_CONTENTS = (torch.ops.aten.empty.memory_format, torch.ops.aten.empty_strided.default,
                torch.ops.aten.empty_like.default, torch.ops.aten.new_empty.default)  # fmt: skip


class NPUGraph:
    """A list of calls."""

    def __init__(self, **ignored: Any) -> None:
        self._calls: list[Callable[[], Any]] = []
        self._capture: Any = None

    def capture_begin(self, *args: Any, **kwargs: Any) -> None:
        self._capture = graph(self)
        self._capture.__enter__()

    def capture_end(self) -> None:
        self._capture.__exit__(None, None, None)
        self._capture = None

    def replay(self) -> None:
        """Do it all again."""
        for call in self._calls:
            call()

    def reset(self) -> None:
        self._calls.clear()

    def append(self, call: Callable[[], Any]) -> None:
        """One more call to do again."""
        self._calls.append(call)


@contextmanager
def graph(captured: NPUGraph, *args: Any, **kwargs: Any) -> Iterator[NPUGraph]:
    """While the block runs, record its calls."""

    def launched(kernel: Any, call: Any, inputs: tuple[Any, ...]) -> None:
        captured.append(functools.partial(kernel.launch_again, call))

    captured.reset()
    with record_calls(launched), _Recorder(captured):
        yield captured


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees every operation of torch below autograd."""

    def __init__(self, captured: NPUGraph) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._captured = captured

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        made = func(*args, **kwargs)
        if func in _NO_CONTENTS:
            return made
        self._captured.append(functools.partial(_again, func, args, kwargs, made))
        return made


def _again(func: Any, args: Any, kwargs: Any, made: Any) -> None:
    """Call once more, and put new results where the old ones are."""
    for old, new in zip(_tensors(made), _tensors(func(*args, **kwargs)), strict=True):
        if new.data_ptr() != old.data_ptr():  # neither a view nor written in place
            old.copy_(new)


def _tensors(value: Any) -> list[torch.Tensor]:
    values = value if isinstance(value, (list, tuple)) else [value]
    return [v for v in values if isinstance(v, torch.Tensor)]
