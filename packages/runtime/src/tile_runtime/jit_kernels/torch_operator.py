"""`as_custom_op`: a kernel as an operator of torch, which is traced, exported, differentiated and
mapped over batches without a look inside (docs/use/operators.md).

Not here: what a call without values returns (`launcher/bind_arguments.py`), and gradients of
kernels that are no operators (`no_gradient.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch

from tile_ir import CallError, KernelError, did_you_mean, written_tensors
from tile_runtime.jit_kernels.no_gradient import (
    no_gradient,
    wants_gradient,
    written_without_gradient,
)
from tile_runtime.launcher.signature import ScalarParam, TensorParam
from tile_runtime.launcher.tensor_memory import without_memory
from tile_runtime.launcher.torch_dtypes import torch_dtype

# From the gradients of the floating outputs and all inputs, those of the floating inputs.
Backward: TypeAlias = "Callable[..., Any] | None"
_NAME = re.compile(r"([A-Za-z_]\w*)::([A-Za-z_]\w*)", re.ASCII)


def register_operator(
    kernel: Any, name: str, mutates: Sequence[str] | None, backward: Backward
) -> torch._ops.OpOverload:
    """Register the kernel under a name `ns::name`, once per process, and return the operator.

    `mutates` are the inputs it writes, by default those it is seen to write. KernelError for a name
    that is none or taken, for inputs that are not there or written and not named, and for a
    `backward` that does not fit.
    """
    return _TorchOperator(kernel, name, mutates, backward).overload


class _TorchOperator:
    """One registered kernel. Torch keeps its methods, and so the registration, for good."""

    def __init__(
        self, kernel: Any, name: str, mutates: Sequence[str] | None, backward: Backward
    ) -> None:
        self.kernel = kernel
        self.name = name
        namespace, short = self._parts()
        made = {*kernel.out_idx, *kernel.workspace_idx}
        declared = kernel.parameters[: len(kernel.prim_func.params)]
        self.inputs = [p for i, p in enumerate(declared) if i not in made]
        self.outputs = [declared[i] for i in kernel.out_idx]
        self.mutated = self._mutated(mutates)
        self.differentiable = [
            isinstance(p, TensorParam) and self._floating(p) for p in self.inputs
        ]
        gradient = self._gradient(backward)
        library: Any = torch.library.Library
        self._library = library(namespace, "FRAGMENT")
        self._library.define(self._schema(short), tags=(torch.Tag.pt2_compliant_tag,))
        self._library.impl(short, self._compute, "CompositeExplicitAutograd")
        torch.library.register_fake(name, self._describe, lib=self._library)
        self.overload: torch._ops.OpOverload = getattr(getattr(torch.ops, namespace), short).default
        if self.mutated:
            self._library.impl(short, self._in_place, "Autograd")
            torch.library.register_vmap(name, self._map, lib=self._library)
        else:
            self._function = self._differentiable_function(gradient)
            self._library.impl(short, self._functional, "Autograd")
            # The transforms of torch.func differentiate and map functions, not operators.
            self._library.impl(short, self._function.apply, "FuncTorchDynamicLayerFrontMode")

    def _parts(self) -> tuple[str, str]:
        match = _NAME.fullmatch(self.name)
        if match is None:
            raise self._error(
                "operator-name", f"{self.name!r} is no name of an operator",
                "a namespace and a name: `ns::name`",
            )  # fmt: skip
        namespace, short = match.groups()
        if hasattr(getattr(torch.ops, namespace), short):
            raise self._error(
                "operator-name", f"the operator `{self.name}` is registered already",
                f"use it as torch.ops.{namespace}.{short}, or take another name",
            )  # fmt: skip
        return namespace, short

    def _mutated(self, mutates: Sequence[str] | None) -> frozenset[str]:
        """The inputs that are written. One that is and is not named would be a silent change."""
        kernel = self.kernel
        tensors = [p.name for p in self.inputs if isinstance(p, TensorParam)]
        seen = {b.name for b in written_tensors(kernel.prim_func)} & set(tensors)
        named = seen if mutates is None else set([mutates] if isinstance(mutates, str) else mutates)
        for unknown in sorted(named - set(tensors)):
            raise self._error(
                "operator-mutates",
                f"mutates names `{unknown}`, which is no tensor that the kernel is given",
                did_you_mean(unknown, tensors) or f"they are {', '.join(tensors) or 'none'}",
            )
        for silent in sorted(seen - named):
            raise self._error(
                "operator-mutates", f"the kernel writes `{silent}`, which mutates does not name",
                f"name it, leave mutates out, or make it an output: out_idx of `{silent}`",
            )  # fmt: skip
        return frozenset(named)

    def _gradient(self, backward: Backward) -> Callable[..., Any] | None:
        """Return the function of the gradients; a kernel becomes an operator too, as torch traces
        it."""
        if backward is None:
            return None
        if self.mutated:
            raise self._error(
                "operator-backward",
                f"the kernel writes {', '.join(sorted(self.mutated))} in place, and torch has "
                "gradients only of operators that do not",
                "let the runtime allocate what is written: out_idx",
            )
        if not isinstance(backward, type(self.kernel)):
            return backward
        of_outputs = [f"the gradient of {p.name}" for p in self.outputs if self._floating(p)]
        takes = of_outputs + [p.name for p in self.inputs]
        wanting = zip(self.inputs, self.differentiable, strict=True)
        gives = [p.name for p, wants in wanting if wants]
        made = len({*backward.out_idx, *backward.workspace_idx})
        found = len(backward.prim_func.params) - made
        if found != len(takes) or len(backward.out_idx) != len(gives):
            raise self._error(
                "operator-backward",
                f"the backward kernel `{backward.prim_func.name}` takes {found} arguments and "
                f"returns {len(backward.out_idx)}, expected {len(takes)} ({', '.join(takes)}) and "
                f"the gradient{'s' * (len(gives) != 1)} of {', '.join(gives)}",
                "or pass a function that calls operators and returns these gradients",
            )
        return register_operator(backward, f"{self.name}_backward", None, None)

    def _schema(self, short: str) -> str:
        taken: list[str] = []
        for param in self.inputs:
            kind = _kind(param)
            if param.name in self.mutated:
                kind = f"Tensor(a{len(taken)}!)"
            taken.append(f"{kind} {param.name}")
        results = ", ".join("Tensor" for _ in self.outputs)
        returned = results if len(self.outputs) == 1 else f"({results})"
        return f"{short}({', '.join(taken)}) -> {returned}"

    def _compute(self, *arguments: Any) -> Any:
        """Run the kernel. Tensors of other strides are copied, and back if they are written."""
        given = [_contiguous(a) if isinstance(a, torch.Tensor) else a for a in arguments]
        with torch.no_grad():
            result = self.kernel(*given)
            for param, before, used in zip(self.inputs, arguments, given, strict=True):
                if param.name in self.mutated and used is not before:
                    before.copy_(used)
        return self._returned(result if len(self.outputs) != 1 else [result])

    def _describe(self, *arguments: Any) -> Any:
        return self._returned(self.kernel.described(arguments))

    def _returned(self, results: Sequence[torch.Tensor]) -> Any:
        """As the schema has it."""
        if not results:
            return None
        return results[0] if len(results) == 1 else tuple(results)

    def _in_place(self, *arguments: Any) -> Any:
        """Torch does not follow what is written in place: where a gradient is wanted, no call."""
        named = zip((p.name for p in self.inputs), arguments, strict=True)
        what, func = f"operator `{self.name}`", self.kernel.prim_func
        written_without_gradient(what, named, tuple(self.mutated), func)
        # Torch resolves the sign of what is read, but not of what an operator writes.
        given = [
            a.resolve_neg() if p.name in self.mutated else a
            for p, a in zip(self.inputs, arguments, strict=True)
        ]
        result = self._without_autograd(*given)
        with torch.no_grad():
            for before, used in zip(arguments, given, strict=True):
                if used is not before:
                    before.copy_(used)
        return result

    def _backward(self, gradient: Callable[..., Any] | None) -> Callable[..., Any]:
        floating = [self._floating(p) for p in self.outputs]

        def backward(ctx: Any, *gradients: Any) -> Any:
            if gradient is None:
                raise no_gradient(f"operator `{self.name}`")
            saved = iter(ctx.saved_tensors)
            inputs = [next(saved) if _kind(p) == "Tensor" else v
                      for p, v in zip(self.inputs, ctx.others, strict=True)]  # fmt: skip
            wanted = [g for g, counts in zip(gradients, floating, strict=True) if counts]
            found = gradient(*wanted, *inputs)
            several = list(found) if isinstance(found, (tuple, list)) else [found]
            if len(several) != sum(self.differentiable):
                raise self._error(
                    "operator-backward",
                    f"backward returns {len(several)} gradients for "
                    f"{sum(self.differentiable)} floating inputs",
                    "return None for an input without one",
                )
            rest = iter(several)
            return tuple(next(rest) if wants else None for wants in self.differentiable)

        return backward

    def _functional(self, *arguments: Any) -> Any:
        if any(map(wants_gradient, arguments)):
            return self._function.apply(*arguments)
        return self._without_autograd(*arguments)

    def _without_autograd(self, *arguments: Any) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            return self.overload(*arguments)

    def _differentiable_function(self, gradient: Callable[..., Any] | None) -> Any:
        """The operator for autograd; without a gradient function, the backward pass raises
        CallError."""

        def forward_mode(ctx: Any, *tangents: Any) -> Any:
            raise no_gradient(f"operator `{self.name}`")

        parts = {
            "forward": self._without_autograd,
            "setup_context": _save,
            "backward": self._backward(gradient),
            "jvp": forward_mode,
            "vmap": self._map,
        }
        members = {part: staticmethod(function) for part, function in parts.items()}
        return type(self.name.replace("::", "_"), (torch.autograd.Function,), members)

    def _map(self, info: Any, in_dims: Sequence[int | None], *arguments: Any) -> Any:
        """One call for each member of a batch: a kernel has the dimensions it was written for."""
        for param, dim in zip(self.inputs, in_dims, strict=True):
            if param.name in self.mutated and dim is None:
                raise CallError(
                    "operator-vmap",
                    f"operator `{self.name}` writes `{param.name}`, which vmap does not map",
                    self.kernel.prim_func.loc,
                    f"give `{param.name}` a dimension of the batch, or make it an output",
                    sources=self.kernel.prim_func.sources,
                )
        if info.batch_size == 0:
            raise CallError(
                "operator-vmap",
                f"operator `{self.name}` is mapped over a batch without members",
                self.kernel.prim_func.loc,
                "a kernel is called once for each: leave the call out",
                sources=self.kernel.prim_func.sources,
            )
        found = [
            self.overload(
                *(
                    a if dim is None else a.select(dim, member)
                    for a, dim in zip(arguments, in_dims, strict=True)
                )
            )
            for member in range(info.batch_size)
        ]
        if not self.outputs:
            return None, None
        if len(self.outputs) == 1:
            return torch.stack(found), 0
        stacked = tuple(torch.stack(each) for each in zip(*found, strict=True))
        return stacked, (0,) * len(stacked)

    def _floating(self, param: Any) -> bool:
        return torch_dtype(param, self.kernel.prim_func).is_floating_point

    def _error(self, slug: str, message: str, hint: str) -> KernelError:
        func = self.kernel.prim_func
        return KernelError(slug, message, func.loc, hint, sources=func.sources)


def _save(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keep the inputs for the backward, tensors by autograd's own means."""
    ctx.save_for_backward(*(i for i in inputs if isinstance(i, torch.Tensor)))
    ctx.others = [None if isinstance(i, torch.Tensor) else i for i in inputs]


def _kind(param: Any) -> str:
    if not isinstance(param, ScalarParam):
        return "Tensor"
    if param.dtype.is_float:
        return "float"
    return "SymInt" if param.dtype.is_integer else "bool"


def _contiguous(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous() if without_memory(tensor) is None else tensor
