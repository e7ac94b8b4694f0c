"""Element types as scripts name them: strings, `T.float16`, `DataType("float16")`, torch types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tile_frontend.faults import Fault
from tile_ir import DTYPES, DType, did_you_mean, dtype_of
from tile_ir.dtypes import ALIASES


class DataType(str):
    """A dtype string that knows its width, as `tilelang.DataType`."""

    __slots__ = ()

    @property
    def bits(self) -> int:
        return element_type(str(self)).bits

    @property
    def itemsize(self) -> int:
        return element_type(str(self)).size

    @property
    def lanes(self) -> int:
        return 1


@dataclass(frozen=True, slots=True)
class DTypeName:
    """`T.float32`: an annotation of a scalar parameter, and a cast when called."""

    dtype: DType

    def __call__(self, value: Any = None) -> Any:
        # `T.int32()` without a value is another spelling of the annotation.
        if value is None:
            return self
        from tile_frontend.scalar_functions import cast

        return cast(value, self)

    def __str__(self) -> str:
        return self.dtype.name

    def __repr__(self) -> str:
        return f"T.{self.dtype.name}"


DTYPE_NAMES = {name: DTypeName(dtype) for name, dtype in DTYPES.items()}


def element_type(value: Any) -> DType:
    """The type a script means; a Fault if there is none."""
    match value:
        case DType():
            return value
        case DTypeName(dtype=dtype):
            return dtype
    name = str(value)
    found = dtype_of(name.removeprefix("torch.")) if not isinstance(value, (int, float)) else None
    if found is None:
        raise Fault(
            "unknown-dtype",
            f"{name!r} is not an element type",
            did_you_mean(name, [*DTYPES, *ALIASES]) or "one of " + ", ".join(DTYPES),
            "dtype",
        )
    return found
