"""The inputs of a case as a recipe, from which the process of the kernel and that of the reference
make the same tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tile_ir import KernelError
from tile_runtime.jit_kernels.index_values import IndexValues, index_values
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.launcher.signature import ScalarParam, TensorParam, evaluate, names_in

# Larger inputs are for a run by hand.
_MOST_ELEMENTS = 1 << 28
_SCALAR = 2


def symbols_of(kernel: JITKernel) -> list[str]:
    """The symbols and integer scalars that decide the sizes of its inputs."""
    found = {n: None for p in _inputs(kernel).values() if isinstance(p, TensorParam)
             for d in p.dims for n in sorted(names_in(d))}  # fmt: skip
    return list(found)


def input_recipe(kernel: JITKernel, sizes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The inputs of a call, in order: tensors by type and shape, scalars by value. `written` marks
    those that the kernel writes, `indices` those from which it takes places or lengths.
    KernelError where a size has no meaning."""
    written = set(kernel.binder.written)
    numbers = {n: v for n, v in sizes.items() if isinstance(v, (int, float))}
    indices = index_values(kernel.prim_func, numbers)
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
        if param.name in indices:
            recipe[-1]["indices"] = indices[param.name].to_json()
    return recipe


def make_inputs(recipe: Sequence[Mapping[str, Any]], seed: int) -> list[Any]:
    """The inputs of a recipe: small random numbers that suit the types, by the seed."""
    import torch

    from tile_ir import DTYPES
    from tile_runtime.jit_kernels.tensor_supply import TensorSupplyType, filled

    generator = torch.Generator().manual_seed(seed)
    found: list[Any] = []
    for one in recipe:
        if "value" in one:
            found.append(one["value"])
            continue
        param = TensorParam(one["name"], DTYPES[one["dtype"]], tuple(one["shape"]))
        indices = IndexValues.from_json(one["indices"]) if "indices" in one else None
        found.append(filled(param, TensorSupplyType.Auto, generator, indices))
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
