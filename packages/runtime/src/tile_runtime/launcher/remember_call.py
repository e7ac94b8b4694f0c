"""Repeat an earlier call in C++: the fast path (`remembered_call.h`).

The fast path leaves a call to the binder if a tensor differs from the earlier one, if a switch or
the recorders of runs changed since, or if torch records, or follows gradients.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from tile_ir.switches import OVERRIDES
from tile_runtime.launcher.bind_arguments import ArgumentBinder, Bound, fresh_tensor
from tile_runtime.launcher.call_plan import CallPlan
from tile_runtime.launcher.recording_modes import QUESTIONS, in_forward_mode
from tile_runtime.launcher.run_watchers import RECORDERS
from tile_runtime.launcher.tensor_memory import asks_for_wrapper
from tile_runtime.launcher.this_rank import THIS_RANK

# The results of a call, or None if it is not like the one that is remembered.
Repeat = Callable[[tuple[Any, ...]], Any]


def remember_call(
    module: Any,
    kernel: Any,
    binder: ArgumentBinder,
    plan: CallPlan,
    arguments: tuple[Any, ...],
    finish: Callable[[Bound, Any, str], None],
    stream: Callable[[], int | None] | None = None,
) -> Repeat | None:
    """Return the fast path of the launcher's `kernel` for calls like one with these arguments.

    `finish` is called after runs with an error, text, a warning or a gap; `stream` returns that of
    a device, or None to leave the call to the binder. None for a torch older than 2.10.
    """
    if not _torch(module).tells():
        return None

    def told(values: tuple[Any, ...], keep: list[torch.Tensor], error: Any, text: str) -> None:
        finish(binder.bound(values, plan, keep), error, text)

    repeat: Repeat = module.RememberedCall(
        kernel=kernel,
        torch=_torch(module),
        like=arguments,
        epoch=module.Epoch([OVERRIDES, RECORDERS, THIS_RANK]),
        stream=stream,
        finish=told,
        **binder.slots(plan),
    )
    return repeat


@functools.cache
def _torch(module: Any) -> Any:
    return module.Torch(
        types=(torch.Tensor, torch.nn.Parameter),
        empty=fresh_tensor,
        grad_enabled=torch.is_grad_enabled,
        wrapped=asks_for_wrapper(),
        modes=(*QUESTIONS, in_forward_mode),  # in forward mode, tensors may have tangents
        wrote=torch.autograd.graph.increment_version,
    )
