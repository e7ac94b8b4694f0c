"""A call that repeats an earlier one, done again in C++: see `remembered_call.h`.

It is left to Python again as soon as a tensor is not what it was, or anything else a call depends
on has changed: switches, who watches runs, whether torch follows gradients.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import torch
from torch.autograd import forward_ad

from tile_ir.switches import places_of
from tile_runtime.launcher.bind_arguments import ArgumentBinder, Bound
from tile_runtime.launcher.check_arguments import Plan
from tile_runtime.launcher.recording_modes import QUESTIONS
from tile_runtime.launcher.tensor_memory import asks_for_wrapper

# The results of a call, or None if it is not like the one that is remembered.
Repeat = Callable[[tuple[Any, ...]], Any]

# The switches that are read while a call is made.
_SWITCHES = ("check", "threads", "seed", "starve", "time", "timeout", "first", "prove", "lax_calls")


def remember_call(
    module: Any,
    kernel: Any,
    binder: ArgumentBinder,
    plan: Plan,
    arguments: tuple[Any, ...],
    watchers: Sequence[ContextVar[Any]],
    finish: Callable[[Bound, Any, str], None],
    stream: Callable[[], int | None] | None = None,
) -> Repeat | None:
    """Calls of the launcher's `kernel` that are like one with these arguments, as things are now.

    `finish` is called after runs that have something to tell; `stream` gives that of a device, and
    None to leave the call to Python. None where the launcher can not do it.
    """
    places = places_of(_SWITCHES)
    if places is None or not hasattr(module, "RememberedCall") or not _torch(module).tells():
        return None
    entries, variables = places
    # In forward mode, tensors may have tangents.
    modes = [(vars(forward_ad), "_current_level")]

    def told(values: tuple[Any, ...], keep: list[torch.Tensor], error: Any, text: str) -> None:
        finish(binder.bound(values, plan, keep), error, text)

    repeat: Repeat = module.RememberedCall(
        kernel=kernel,
        torch=_torch(module),
        like=arguments,
        circumstances=module.Circumstances([*entries, *modes], [*variables, *watchers]),
        stream=stream,
        finish=told,
        **binder.slots(plan),
    )
    return repeat


@functools.cache
def _torch(module: Any) -> Any:
    return module.Torch(
        types=(torch.Tensor, torch.nn.Parameter),
        empty=torch.empty_strided,
        grad_enabled=torch.is_grad_enabled,
        wrapped=asks_for_wrapper(),
        modes=QUESTIONS,
        wrote=torch.autograd.graph.increment_version,
    )
