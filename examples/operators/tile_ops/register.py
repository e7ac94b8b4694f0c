"""Register operators with torch: schema, checks, shapes of results, values and gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .manifest import Operator, Tiles
from .signature import REST, Mismatch, Sizes, TensorParameter, match_arguments

NAMESPACE = "tile_ops"


def register(described: Operator) -> Callable[..., Any]:
    """Register one operator under the namespace, once per process, and return it."""
    name = f"{NAMESPACE}::{described.name}"

    def compute(*arguments: Any) -> Any:
        return _returned(run(described, described.signature.complete(arguments)))

    def describe(*arguments: Any) -> Any:
        given = described.signature.complete(arguments)
        return _returned(_empty(described, call_sizes(described, given), given))

    registered = torch.library.custom_op(
        name, compute, mutates_args=(), schema=described.signature.schema()
    )
    registered.register_fake(describe)
    if described.backward is not None:
        registered.register_autograd(_backward(described), setup_context=_save(described))
    found: Callable[..., Any] = getattr(getattr(torch.ops, NAMESPACE), described.name)
    return found


def call_sizes(described: Operator, arguments: Sequence[Any]) -> Sizes:
    """The sizes of a call. Raises ValueError with a hint where it does not fit the manifest."""
    try:
        sizes = match_arguments(described.signature, described.types, arguments)
        for rule in described.rules:
            if not sizes.value(rule.holds):
                raise Mismatch(
                    _names(rule.holds, sizes), f"does not fulfil {rule.holds}", rule.hint
                )
    except Mismatch as found:
        raise ValueError(
            f"{NAMESPACE}::{described.name}: {found.argument} {found.problem}; hint: {found.hint}"
        ) from None
    return sizes


def _names(expression: str, sizes: Sizes) -> str:
    """The sizes in an expression, with their values."""
    names = [n for n in sizes.values if n in expression.replace("(", " ").replace(")", " ").split()]
    return ", ".join(f"{name} = {sizes.values[name]}" for name in names)


def run(
    described: Operator, arguments: Sequence[Any], tiles: Tiles | None = None
) -> list[torch.Tensor]:
    """Run an operator's kernel, with tiles by its rule unless given. Strided tensors are copied."""
    sizes = call_sizes(described, arguments)
    results = _empty(described, sizes, arguments)
    if not any(result.numel() for result in results):
        return results
    kernel = described.kernel(sizes, tiles or described.tiles(sizes))
    given = [
        _flat(argument.detach().contiguous(), parameter)
        for parameter, argument in zip(described.signature.parameters, arguments, strict=True)
        if isinstance(parameter, TensorParameter)
    ]
    found = kernel(*given)
    several = list(found) if isinstance(found, (list, tuple)) else [found]
    return [f.reshape(r.shape) for f, r in zip(several, results, strict=True)]


def _flat(tensor: torch.Tensor, parameter: TensorParameter) -> torch.Tensor:
    """The tensor with the dimensions of `...` as one."""
    if REST not in parameter.sizes:
        return tensor
    at = parameter.sizes.index(REST)
    after = len(parameter.sizes) - at - 1
    end = tensor.dim() - after
    middle = math.prod(tensor.shape[at:end])
    return tensor.reshape(*tensor.shape[:at], middle, *tensor.shape[end:])


def _empty(described: Operator, sizes: Sizes, arguments: Sequence[Any]) -> list[torch.Tensor]:
    """Results without values."""
    device = next(a.device for a in arguments if isinstance(a, torch.Tensor))
    return [
        torch.empty(
            sizes.shape(result),
            dtype=sizes.types.get(result.dtype) or getattr(torch, result.dtype),
            device=device,
        )
        for result in described.signature.results
    ]


def _returned(results: list[torch.Tensor]) -> Any:
    return results[0] if len(results) == 1 else tuple(results)


def _save(described: Operator) -> Callable[..., None]:
    """Keep inputs and results for the backward."""

    def save(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        results = output if isinstance(output, tuple) else (output,)
        tensors = [i for i in inputs if isinstance(i, torch.Tensor)]
        ctx.save_for_backward(*tensors, *results)
        ctx.mark_non_differentiable(*(results[i] for i in described.without_gradient))
        ctx.scalars = [i for i in inputs if not isinstance(i, torch.Tensor)]

    return save


def _backward(described: Operator) -> Callable[..., Any]:
    """Call the manifest's backward, and give its gradients their places among the parameters."""
    parameters = described.signature.parameters
    count = len(described.signature.tensors)

    def backward(ctx: Any, *gradients: Any) -> Any:
        assert described.backward is not None, "registered where there is one"
        saved = ctx.saved_tensors
        found = iter(described.backward(gradients, saved[:count], saved[count:], *ctx.scalars))
        return tuple(next(found) if isinstance(p, TensorParameter) else None for p in parameters)

    return backward
