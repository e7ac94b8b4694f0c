"""Find the element type that a script names: by a string, a `DataType`, a type of torch."""

from __future__ import annotations

import sys
from typing import Any

from tile_frontend._dialects.gpu_names import SMALL_FLOAT, stops
from tile_frontend._tracing.faults import Fault
from tile_ir import ALIASES, DTYPES, DType, Expr, constant_value, did_you_mean, dtype_of


class DataType(str):
    """A dtype string with its width, like `tilelang.DataType`."""

    __slots__ = ()

    @property
    def bits(self) -> int:
        small = SMALL_FLOAT.fullmatch(self)
        return int(small[1]) if small else element_type(str(self), packed=True).bits

    @property
    def itemsize(self) -> int:
        return -(-self.bits // 8)

    @property
    def name(self) -> str:
        return str(self)

    @property
    def bytes(self) -> int:
        return self.itemsize

    @property
    def lanes(self) -> int:
        return 1

    def as_torch(self) -> Any:
        """The type of torch, which a script that uses it has imported."""
        return getattr(sys.modules["torch"], str(self))


# What a C++ source calls them.
C_NAMES = {dtype.c_name.removeprefix("AscendC::"): dtype for dtype in DTYPES.values()}


def element_type(value: Any, packed: bool = False) -> DType:
    """The type a script means; a Fault if there is none, or if two of its elements share a byte
    and it is not the type of a tile that may be `packed`."""
    found = _named_type(value)
    if not packed and not found.whole_bytes:
        message = f"two elements of {found} share a byte: only tensors, and tiles of ub, l1, l0a "
        message += "and l0b have this type"
        raise Fault("packed-memory", message, "convert it to float16 with T.tile.cast", "dtype")
    return found


def packed_rows(element: DType, dims: tuple[Expr, ...], argument: str) -> None:
    """A Fault for a tile whose rows end inside a byte."""
    columns = constant_value(dims[-1]) if dims else None
    if columns is not None and columns * element.bits % 8:
        message = f"a row has {columns} elements, but two elements of {element} share a byte"
        raise Fault("odd-elements", message, "give the last dimension an even size", argument)


# Names of types in Python, CUDA and other languages for kernels.
_MEANT = {
    "fp16": "float16", "f16": "float16", "fp32": "float32", "f32": "float32", "fp64": "float64",
    "f64": "float64", "double": "float64", "bf16": "bfloat16", "i8": "int8", "i16": "int16",
    "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32",
    "u64": "uint64", "long": "int64", "byte": "uint8", "char": "int8", "short": "int16",
}  # fmt: skip
PYTHON_TYPES: dict[object, str] = {float: "float32", int: "int32", bool: "bool"}


def _meant(name: str) -> str | None:
    meant = _MEANT.get(name.lower())
    return f'write "{meant}"' if meant else did_you_mean(name, [*DTYPES, *ALIASES])


def _named_type(value: Any) -> DType:
    if isinstance(value, DType):
        return value
    if isinstance(value, type) and value in PYTHON_TYPES:
        return DTYPES[PYTHON_TYPES[value]]
    of_numpy = isinstance(value, type) and value.__module__ == "numpy"
    name = value.__name__ if of_numpy else str(value)
    found = dtype_of(name.removeprefix("torch.")) if not isinstance(value, (int, float)) else None
    group = stops(name.removeprefix("torch.")) if found is None else None
    if group is not None:
        raise Fault("gpu-name", f"{name}: {group.says}", group.write, "dtype")
    if found is None:
        hint = _meant(name) or "one of " + ", ".join(DTYPES)
        raise Fault("unknown-dtype", f"{name!r} is not an element type", hint, "dtype")
    return found
