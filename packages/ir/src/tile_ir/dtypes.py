"""Element types: widths, C names, and how their bytes become numbers and back.

bfloat16 has no NumPy type: its values are float32 arrays, rounded to nearest even when stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tile_ir.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.generic]


class Kind(Enum):
    FLOAT = "float"
    INT = "int"
    UINT = "uint"
    BOOL = "bool"


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """An element type. `c_name` is its Ascend C spelling; `size` is in bytes.

    There is one object per type, so types are compared by identity.
    """

    name: str
    kind: Kind
    bits: int
    c_name: str

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, ...]:
        return DTYPES.__getitem__, (self.name,)

    @property
    def size(self) -> int:
        return self.bits // 8

    @property
    def is_float(self) -> bool:
        return self.kind is Kind.FLOAT

    @property
    def is_integer(self) -> bool:
        return self.kind in (Kind.INT, Kind.UINT)

    @property
    def storage(self) -> str:
        """Name of the NumPy type that holds the bytes."""
        return "uint16" if self is BFLOAT16 else self.name

    @property
    def compute(self) -> str:
        """Name of the NumPy type values are computed in."""
        return "float32" if self is BFLOAT16 else self.name

    def limits(self) -> tuple[int, int]:
        """Smallest and largest value of an integer type."""
        if self.kind is Kind.INT:
            return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        return 0, (1 << self.bits) - 1


FLOAT16 = DType("float16", Kind.FLOAT, 16, "half")
BFLOAT16 = DType("bfloat16", Kind.FLOAT, 16, "bfloat16_t")
FLOAT32 = DType("float32", Kind.FLOAT, 32, "float")
FLOAT64 = DType("float64", Kind.FLOAT, 64, "double")
INT8 = DType("int8", Kind.INT, 8, "int8_t")
INT16 = DType("int16", Kind.INT, 16, "int16_t")
INT32 = DType("int32", Kind.INT, 32, "int32_t")
INT64 = DType("int64", Kind.INT, 64, "int64_t")
UINT8 = DType("uint8", Kind.UINT, 8, "uint8_t")
UINT16 = DType("uint16", Kind.UINT, 16, "uint16_t")
UINT32 = DType("uint32", Kind.UINT, 32, "uint32_t")
UINT64 = DType("uint64", Kind.UINT, 64, "uint64_t")
BOOL = DType("bool", Kind.BOOL, 8, "bool")

DTYPES: dict[str, DType] = {
    d.name: d
    for d in (
        FLOAT16,
        BFLOAT16,
        FLOAT32,
        FLOAT64,
        INT8,
        INT16,
        INT32,
        INT64,
        UINT8,
        UINT16,
        UINT32,
        UINT64,
        BOOL,
    )
}

# Spellings the language accepts besides the names above (language.md, section 2).
ALIASES = {"float": "float32", "half": "float16", "int": "int32", "double": "float64"}


def dtype_of(name: str) -> DType | None:
    """The type a script calls `name`, or None if there is none."""
    return DTYPES.get(ALIASES.get(name, name))


def from_bytes(raw: Array, dtype: DType) -> Array:
    """Numbers from an array of `dtype.storage` elements."""
    if dtype is BFLOAT16:
        return (raw.astype(np.uint32) << 16).view(np.float32)
    return raw


def to_bytes(values: Array, dtype: DType) -> Array:
    """Elements of `dtype.storage` from numbers; floats round to nearest even, integers wrap."""
    if dtype is BFLOAT16:
        return round_to_bfloat16(values)
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dtype.storage)


def held(value: float, dtype: DType) -> float:
    """The number a float type holds for a value."""
    with np.errstate(all="ignore"):
        return float(from_bytes(to_bytes(np.asarray(value, np.float64), dtype), dtype))


def round_to_bfloat16(values: Array) -> Array:
    """bfloat16 bit patterns (uint16) of float values, to nearest even; NaN stays NaN."""
    bits = np.asarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    nan = (bits & 0x7FFFFFFF) > 0x7F800000
    return np.where(nan, (bits >> 16) | 0x0040, rounded).astype(np.uint16)
