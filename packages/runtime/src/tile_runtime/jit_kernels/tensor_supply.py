"""Make input tensors for a kernel without given ones, as a profiler needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from tile_ir import Func, KernelError, did_you_mean
from tile_ir.quick_dataclasses import replace
from tile_runtime.jit_kernels.index_values import IndexUse, IndexValues, index_values
from tile_runtime.launcher.signature import Param, ScalarParam, TensorParam, evaluate, names_in
from tile_runtime.launcher.torch_dtypes import TORCH_DTYPES

if TYPE_CHECKING:
    import torch


class TensorSupplyType(Enum):
    """How inputs are filled; `Auto` is small random numbers that suit the type, of a scale of its
    own in each row. Integers that a kernel takes for places or lengths are such (index_values)."""

    Integer = 1
    Uniform = 2
    Normal = 3
    Randn = 4
    Zero = 5
    One = 6
    Auto = 7


_SEED = 0
# Small, so that sums of products stay exact in 16 bits where they can be.
_LARGEST_INTEGER = 4


class Declared(Protocol):
    """The facts of a kernel that its inputs depend on."""

    @property
    def prim_func(self) -> Func: ...
    @property
    def parameters(self) -> list[Param]: ...
    @property
    def out_idx(self) -> list[int]: ...
    @property
    def workspace_idx(self) -> list[int]: ...
    @property
    def device_type(self) -> str: ...


def supply_tensors(
    kernel: Declared, supply: TensorSupplyType = TensorSupplyType.Auto
) -> list[torch.Tensor]:
    """One tensor for each input of the kernel, the same ones at every call.

    Raises KernelError when a shape is not known before the call or a parameter is a scalar.
    """
    import torch

    generator = torch.Generator().manual_seed(_SEED)
    indices = index_values(kernel.prim_func, {})
    return [
        filled(p, supply, generator, indices.get(p.name)).to(kernel.device_type)
        for p in input_shapes(kernel)
    ]


def supply_arguments(
    kernel: Declared, arrays: Mapping[str, Any], numbers: Mapping[str, int | float]
) -> list[Any]:
    """Return the arguments of a call, in order, on the kernel's device: the given arrays of NumPy
    or torch, and small random ones in place of the others. `numbers` are scalar parameters and
    symbolic sizes; a size that a given array has need not be among them.

    Raises KernelError for a name the kernel does not have and for a number that is missing.
    """
    import torch

    made = {*kernel.out_idx, *kernel.workspace_idx}
    declared = kernel.parameters[: len(kernel.prim_func.params)]
    inputs = [p for i, p in enumerate(declared) if i not in made]
    tensors = {p.name: p for p in inputs if isinstance(p, TensorParam)}
    for name in arrays:
        if name not in tensors:
            raise _no_input(kernel, name, tensors)
    needed = {n for p in tensors.values() for d in p.dims for n in names_in(d)}
    needed |= {p.name for p in inputs if isinstance(p, ScalarParam)}
    for name in numbers:
        if name not in needed:
            raise _no_input(kernel, name, needed)
    sizes: dict[str, Any] = {**_sizes(kernel, arrays, tensors, numbers), **numbers}
    missing = sorted(needed - set(sizes))
    if missing:
        raise KernelError(
            "kernel-arguments",
            f"`{kernel.prim_func.name}` needs a value of {', '.join(missing)}",
            kernel.prim_func.loc,
            f"give it: --scalar {missing[0]}=...",
            sources=kernel.prim_func.sources,
        )
    generator = torch.Generator().manual_seed(_SEED)
    indices = index_values(kernel.prim_func, sizes)
    found: list[Any] = []
    for param in inputs:
        if isinstance(param, ScalarParam):
            found.append(sizes[param.name])
            continue
        if param.name in arrays:
            tensor = torch.as_tensor(arrays[param.name])
        else:
            fixed = replace(param, dims=tuple(evaluate(d, sizes) for d in param.dims))
            tensor = filled(fixed, TensorSupplyType.Auto, generator, indices.get(param.name))
        found.append(tensor.to(kernel.device_type))
    return found


def _sizes(
    kernel: Declared,
    arrays: Mapping[str, Any],
    tensors: Mapping[str, TensorParam],
    numbers: Mapping[str, int | float],
) -> dict[str, int | float]:
    """The symbols that given arrays decide; a call says what is wrong with their shapes."""
    from tile_runtime.launcher.bind_symbols import Size, SymbolError, bind_symbols

    sizes = [
        Size(0, tensors[name], d, size)
        for name, array in arrays.items()
        for d, (_, size) in enumerate(zip(tensors[name].dims, array.shape, strict=False))
    ]
    scalars = {n: v for n, v in numbers.items() if isinstance(v, int)}
    symbols = {n for p in tensors.values() for d in p.dims for n in names_in(d)}
    try:
        bound = bind_symbols(sizes, symbols - scalars.keys(), scalars, lax=True)
    except SymbolError as error:
        func = kernel.prim_func
        raise KernelError(
            "kernel-arguments", str(error), func.loc, error.hint, sources=func.sources
        ) from None
    return {name: symbol.value for name, symbol in bound.items()}


def _no_input(kernel: Declared, name: str, known: Iterable[str]) -> KernelError:
    names = sorted(known)
    return KernelError(
        "kernel-arguments",
        f"`{kernel.prim_func.name}` takes no {name!r} from its caller",
        kernel.prim_func.loc,
        did_you_mean(name, names) or f"it takes {', '.join(names) or 'nothing'}",
        sources=kernel.prim_func.sources,
    )


def input_shapes(kernel: Declared) -> list[TensorParam]:
    """The tensors a caller passes. KernelError if one has no size yet."""
    given = {*kernel.out_idx, *kernel.workspace_idx}
    declared = len(kernel.prim_func.params)
    found: list[TensorParam] = []
    for i, param in enumerate(kernel.parameters[:declared]):
        if i in given:
            continue
        if not isinstance(param, TensorParam) or not all(isinstance(d, int) for d in param.dims):
            raise KernelError(
                "no-tensor-supply",
                f"`{param.name}` of `{kernel.prim_func.name}` has no size or value before the call",
                kernel.prim_func.loc,
                "pass the inputs: report(...), input_tensors=[...] or supply_prog=...",
                sources=kernel.prim_func.sources,
            )
        found.append(param)
    return found


def filled(
    param: TensorParam,
    supply: TensorSupplyType,
    generator: Any,
    indices: IndexValues | None = None,
) -> torch.Tensor:
    """A tensor for a parameter whose sizes are numbers; `indices` where its elements are such."""
    import torch

    shape = [int(d) for d in param.dims if isinstance(d, int)]
    dtype = TORCH_DTYPES[param.dtype.name]
    if not param.dtype.whole_bytes:
        raw = torch.randint(0, 256, shape, generator=generator).to(torch.uint8)
        return (raw * (supply is not TensorSupplyType.Zero)).view(dtype)
    if supply is TensorSupplyType.Zero:
        return torch.zeros(shape, dtype=dtype)
    if supply is TensorSupplyType.One:
        return torch.ones(shape, dtype=dtype)
    if indices is not None:
        return _of_indices(indices, shape, generator).to(dtype)
    if supply is TensorSupplyType.Integer or not dtype.is_floating_point:
        low = 0 if dtype in (torch.bool, torch.uint8) else -_LARGEST_INTEGER
        high = 2 if dtype is torch.bool else _LARGEST_INTEGER + 1
        return torch.randint(low, high, shape, generator=generator).to(dtype)
    if supply is TensorSupplyType.Uniform:
        return (torch.rand(shape, generator=generator) * 2 - 1).to(dtype)
    values = torch.randn(shape, generator=generator)
    if supply is TensorSupplyType.Auto and len(shape) > 1:
        # Rows of other sizes: a kernel that takes other rows together gives other results.
        values *= 2.0 ** torch.randint(-1, 2, (*shape[:-1], 1), generator=generator)
    return values.to(dtype)


def _of_indices(indices: IndexValues, shape: list[int], generator: Any) -> torch.Tensor:
    """Any places; lengths from half of the largest on; parts of all sizes that cover everything."""
    import torch

    least = (indices.most + 1) // 2 if indices.use is IndexUse.LENGTHS else 0
    values = torch.randint(least, indices.most + 1, shape, generator=generator)
    if indices.use is IndexUse.BEGINS:
        values[..., 0], values[..., -1] = 0, indices.most
        values = values.sort(-1).values
    return values


def get_tensor_supply(
    supply_type: TensorSupplyType = TensorSupplyType.Auto,
) -> Callable[[Param], torch.Tensor]:
    """A function from a parameter of a kernel to a tensor for it."""

    def supply(param: Param) -> torch.Tensor:
        import torch

        if not isinstance(param, TensorParam):
            raise KernelError("tensor-supply", f"`{param.name}` is a scalar, which has no tensor")
        return filled(param, supply_type, torch.Generator().manual_seed(_SEED))

    return supply
