"""The types of elements that torch has, by their names in kernels."""

from __future__ import annotations

import torch

from tile_ir import CallError, Func
from tile_runtime.launcher.signature import Param

# Built from names, so that a torch without the newer unsigned types can still run the rest.
TORCH_DTYPES: dict[str, torch.dtype] = {
    name: getattr(torch, name)
    for name in (
        "float16", "bfloat16", "float32", "float64", "int4", "int8", "int16", "int32",
        "int64", "uint8", "uint16", "uint32", "uint64", "bool",
    )
    if hasattr(torch, name)
}  # fmt: skip


def torch_dtype(param: Param, func: Func) -> torch.dtype:
    """That of a parameter of the function; CallError if this torch does not have it."""
    found = TORCH_DTYPES.get(param.dtype.name)
    if found is None:
        raise CallError(
            "call-dtype",
            f"`{param.name}` is {param.dtype}, which torch {torch.__version__} does not have",
            func.loc,
            "install a newer torch",
            sources=func.sources,
        )
    return found


def dtype_name(dtype: torch.dtype) -> str:
    """As messages name it."""
    return str(dtype).removeprefix("torch.")
