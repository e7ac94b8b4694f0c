"""Detect modes of torch that record computations, or compute only shapes. They see operators: their
record would silently lack a kernel called meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.autograd import forward_ad


def _questions() -> tuple[Callable[[], Any], ...]:
    found: list[Callable[[], Any]] = []
    inner: Any = torch._C
    for name in ("_len_torch_dispatch_stack", "_get_tracing_state"):
        if hasattr(inner, name):
            found.append(getattr(inner, name))
    included = getattr(inner, "_dispatch_tls_is_dispatch_key_included", None)
    before_dispatch = getattr(inner.DispatchKey, "PreDispatch", None)
    if included is not None and before_dispatch is not None:
        found.append(partial(included, before_dispatch))
    return tuple(found)


# Quick to ask, and as long as all answers are false, nothing records.
QUESTIONS = _questions()


def recording_mode() -> str | None:
    """Name the mode that records now, or makes tensors without values; observing modes do not
    count."""
    for ask in QUESTIONS:
        if ask():
            return _named()
    return None


def in_forward_mode() -> bool:
    """Return whether tensors may have tangents."""
    return forward_ad._current_level >= 0


def _named() -> str | None:
    inner: Any = torch._C
    if inner._get_tracing_state() is not None:
        return "torch.jit.trace"
    from torch.fx.experimental.proxy_tensor import get_proxy_mode

    if get_proxy_mode() is not None:
        return "make_fx"
    for kind, name in (("FUNCTIONAL", "functionalize"), ("FAKE", "FakeTensorMode")):
        if inner._get_dispatch_mode(getattr(inner._TorchDispatchModeKey, kind)) is not None:
            return name
    return None
