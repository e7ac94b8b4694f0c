"""Kernels whose inputs want gradients. Their outputs are right, and asking for a gradient is an
error, not a silent zero; what they write in place can not say so later, and is not written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from tile_ir import CallError, Diagnostic, Func, warn
from tile_ir.switches import switch
from tile_runtime.launcher.recording_modes import in_forward_mode


class _NoGradient(torch.autograd.Function):
    """Passes the outputs on as functions of the inputs."""

    @staticmethod
    def forward(ctx: Any, name: str, outputs: list[torch.Tensor], *inputs: torch.Tensor) -> Any:
        ctx.name = name
        floating = [o for o in outputs if o.is_floating_point()]
        ctx.mark_non_differentiable(*(o for o in outputs if not o.is_floating_point()))
        return tuple(outputs) if floating else ()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise no_gradient(f"kernel `{ctx.name}`")

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise no_gradient(f"kernel `{ctx.name}`")


def wants_gradient(value: Any) -> bool:
    """Whether torch follows it, for a gradient of either mode."""
    if not isinstance(value, torch.Tensor):
        return False
    if value.requires_grad and torch.is_grad_enabled():
        return True
    return in_forward_mode() and _has_tangent(value)


def no_gradient(what: str) -> CallError:
    """Return the error for a gradient of an operation that has none."""
    return CallError(
        "no-gradient",
        f"{what} has no gradient, but the backward pass needs one",
        hint='register it with one: kernel.as_custom_op("ns::name", backward=...), or call it '
        "under torch.no_grad()",
    )


def written_without_gradient(
    what: str, arguments: Iterable[tuple[str, Any]], written: Sequence[str], func: Func
) -> None:
    """Raises CallError for a call that writes in place while one of the named arguments requires a
    gradient: torch would not record it. With the switch `lax_calls` that is a warning."""
    wanting = [
        name
        for name, value in arguments
        if wants_gradient(value) or (name in written and _is_part_of_wanting(value))
    ]
    if not wanting:
        return
    names = ", ".join(f"`{n}`" for n in wanting)
    message = f"{what} writes in place and has no gradient, but {names} requires one"
    hint = "call it under torch.no_grad() or pass `.detach()`"
    if switch("lax_calls"):
        warn([Diagnostic("no-gradient", message, func.loc, hint, "warning")])
        return
    raise CallError("no-gradient", message, func.loc, hint, sources=func.sources)


def _is_part_of_wanting(value: Any) -> bool:
    """Whether a tensor is a view, made without autograd, of one that requires a gradient."""
    base = value._base if isinstance(value, torch.Tensor) else None
    return base is not None and wants_gradient(base)


def without_gradient(
    name: str, outputs: list[torch.Tensor], inputs: tuple[Any, ...]
) -> list[torch.Tensor]:
    """The outputs, tied to those inputs that want a gradient."""
    forward = in_forward_mode()
    wanting = [
        t
        for t in inputs
        if isinstance(t, torch.Tensor) and (t.requires_grad or (forward and _has_tangent(t)))
    ]
    if not wanting or not any(o.is_floating_point() for o in outputs):
        return outputs
    tie: Any = _NoGradient.apply
    return list(tie(name, outputs, *wanting))


def _has_tangent(value: torch.Tensor) -> bool:
    unpack: Any = forward_ad.unpack_dual
    return unpack(value).tangent is not None
