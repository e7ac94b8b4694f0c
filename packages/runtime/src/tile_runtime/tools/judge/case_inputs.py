"""The inputs of a case as a recipe, from which the process of the kernel and that of the reference
make the same tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tile_ir import KernelError
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.launcher.signature import ScalarParam, TensorParam, evaluate, names_in

if TYPE_CHECKING:
    pass

# Larger inputs are for a run by hand.
_MOST_ELEMENTS = 1 << 28
_SCALAR = 2
# What may be an index is drawn up to this.
_INDEX_TYPES = ("int32", "int64", "uint32", "uint64")
_LARGEST_INDEX = 3


def symbols_of(kernel: JITKernel) -> list[str]:
    """The symbols and integer scalars that decide the sizes of its inputs."""
    found = {n: None for p in _inputs(kernel).values() if isinstance(p, TensorParam)
             for d in p.dims for n in sorted(names_in(d))}  # fmt: skip
    return list(found)


def input_recipe(kernel: JITKernel, sizes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The inputs of a call, in order: tensors by type and shape, scalars by value. `write` marks
    those that the kernel writes. KernelError where a size has no meaning."""
    written = set(kernel.binder.written)
    recipe: list[dict[str, Any]] = []
    for place, param in enumerate(_inputs(kernel).values()):
        if isinstance(param, ScalarParam):
            value = sizes.get(param.name, _SCALAR)
            recipe.append({"name": param.name, "dtype": param.dtype.name, "value": value})
            continue
        try:
            shape = [evaluate(d, sizes) for d in param.dims]
        except (KeyError, ZeroDivisionError) as error:
            raise _no_size(kernel, f"`{param.name}` needs a value of {error}") from None
        if any(type(n) is not int or n < 0 for n in shape) or math.prod(shape) > _MOST_ELEMENTS:
            raise _no_size(kernel, f"`{param.name}` would have the shape {shape}")
        recipe.append({"name": param.name, "dtype": param.dtype.name, "shape": shape,
                       "written": place in written})  # fmt: skip
    return recipe


def as_indices(recipe: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]] | None:
    """The recipe with integers that are indices into every dimension; None if there are none that
    may be indices."""
    sizes = [n for one in recipe for n in one.get("shape", ())]
    most = min([_LARGEST_INDEX, *(n - 1 for n in sizes if n)])
    found = [
        {**one, "most": most} if one["dtype"] in _INDEX_TYPES and "shape" in one else dict(one)
        for one in recipe
    ]
    return found if any("most" in one for one in found) else None


def make_inputs(recipe: Sequence[Mapping[str, Any]], seed: int) -> list[Any]:
    """The inputs of a recipe: small random numbers that suit the types, by the seed."""
    import torch

    from tile_ir import DTYPES
    from tile_runtime.jit_kernels.tensor_supply import TensorSupplyType, filled
    from tile_runtime.launcher.torch_dtypes import TORCH_DTYPES

    generator = torch.Generator().manual_seed(seed)
    found: list[Any] = []
    for one in recipe:
        if "value" in one:
            found.append(one["value"])
            continue
        if "most" in one:
            drawn = torch.randint(0, one["most"] + 1, one["shape"], generator=generator)
            found.append(drawn.to(TORCH_DTYPES[one["dtype"]]))
            continue
        param = TensorParam(one["name"], DTYPES[one["dtype"]], tuple(one["shape"]))
        found.append(filled(param, TensorSupplyType.Auto, generator))
    return found


def supplied_recipe(
    kernel: JITKernel, described: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The recipe of inputs that a reference has made. KernelError where there are more or fewer
    than the kernel takes."""
    names = [param.name for param in _inputs(kernel).values()]
    if len(names) != len(described):
        problem = f"it takes {len(names)} inputs, and {len(described)} are supplied"
        raise _no_size(kernel, problem)
    written = set(kernel.binder.written)
    return [
        {**one, "name": name, "written": place in written}
        for place, (name, one) in enumerate(zip(names, described, strict=True))
    ]


def unpacked_inputs(described: Sequence[Mapping[str, Any]], data: bytes) -> list[Any]:
    """The tensors and numbers that `packed` has described."""
    import torch

    found: list[Any] = []
    offset = 0
    for one in described:
        if "value" in one:
            found.append(one["value"])
            continue
        dtype = getattr(torch, one["dtype"])
        count = math.prod(one["shape"])
        size = count * dtype.itemsize
        part = bytearray(data[offset : offset + size])
        flat = torch.frombuffer(part, dtype=dtype) if size else torch.empty(0, dtype=dtype)
        found.append(flat.reshape(one["shape"]))
        offset += size
    return found


def _inputs(kernel: JITKernel) -> dict[int, Any]:
    """The parameters that a caller passes, by position."""
    made = {*kernel.out_idx, *kernel.workspace_idx}
    declared = kernel.parameters[: len(kernel.prim_func.params)]
    return {i: p for i, p in enumerate(declared) if i not in made}


def _no_size(kernel: JITKernel, problem: str) -> KernelError:
    func = kernel.prim_func
    return KernelError("judge-sizes", f"{problem}", func.loc, "give sizes: --shapes N=...",
                       sources=func.sources)  # fmt: skip
