"""Element types: widths, C names, and how their bytes become numbers and back.

bfloat16 has no NumPy type: its values are float32 arrays, rounded to nearest even when stored.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from tile_ir.lazy import np
from tile_ir.quick_dataclasses import dataclass

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
    """An element type. `c_name` is its Ascend C spelling.

    There is one object per type, so types are compared by identity. Two elements of int4 share a
    byte, the first one in its low half: such a type has no `size`, and what may have it counts with
    `bytes_of` and `elements_in`.
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
    def whole_bytes(self) -> bool:
        """Whether every element has bytes of its own."""
        return self.bits % 8 == 0

    @property
    def size(self) -> int:
        """Bytes of one element; raises ValueError for a type whose elements share bytes."""
        return self.bytes_of(1)

    def bytes_of(self, elements: int) -> int:
        """Bytes of consecutive elements; raises ValueError if these end inside a byte."""
        size, rest = divmod(elements * self.bits, 8)
        if rest:
            raise ValueError(f"{elements} elements of {self.name} are no whole number of bytes")
        return size

    def elements_in(self, size: int) -> int:
        """Elements that `size` bytes hold."""
        return size * 8 // self.bits

    @property
    def is_float(self) -> bool:
        return self.kind is Kind.FLOAT

    @property
    def is_integer(self) -> bool:
        return self.kind in (Kind.INT, Kind.UINT)

    @property
    def storage(self) -> str:
        """Name of the NumPy type that holds the bytes. One of int4 holds two elements."""
        return _STORAGE.get(self.name, self.name)

    @property
    def compute(self) -> str:
        """Name of the NumPy type values are computed in."""
        return _COMPUTE.get(self.name, self.name)

    def limits(self) -> tuple[int, int]:
        """Smallest and largest value of an integer type."""
        if self.kind is Kind.INT:
            return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        return 0, (1 << self.bits) - 1

    @property
    def largest(self) -> int | float:
        """The largest finite value."""
        if not self.is_float:
            return 1 if self.kind is Kind.BOOL else self.limits()[1]
        fraction, exponent = _FRACTION_AND_EXPONENT[self.name]
        return (2.0 - 2.0**-fraction) * 2.0**exponent


# Bits of the fraction, and the largest exponent.
_FRACTION_AND_EXPONENT = {
    "float16": (10, 15), "bfloat16": (7, 127), "float32": (23, 127), "float64": (52, 1023),
}  # fmt: skip
_STORAGE = {"bfloat16": "uint16", "int4": "uint8"}
_COMPUTE = {"bfloat16": "float32", "int4": "int8"}

FLOAT16 = DType("float16", Kind.FLOAT, 16, "half")
BFLOAT16 = DType("bfloat16", Kind.FLOAT, 16, "bfloat16_t")
FLOAT32 = DType("float32", Kind.FLOAT, 32, "float")
FLOAT64 = DType("float64", Kind.FLOAT, 64, "double")
INT4 = DType("int4", Kind.INT, 4, "AscendC::int4b_t")
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
        INT4,
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

# Spellings the language accepts besides the names above (docs/language/index.md#types).
ALIASES = {
    "float": "float32", "half": "float16", "int": "int32", "double": "float64", "uint": "uint32",
}  # fmt: skip


def dtype_of(name: str) -> DType | None:
    """The type a script calls `name`, or None if there is none."""
    return DTYPES.get(ALIASES.get(name, name))


def from_bytes(raw: Array, dtype: DType) -> Array:
    """Numbers from an array of `dtype.storage` elements; of int4 twice as many in the last
    dimension."""
    if dtype is BFLOAT16:
        return (raw.astype(np.uint32) << 16).view(np.float32)
    if dtype is INT4:
        pairs = raw.view(np.int8)
        numbers = np.stack((pairs << 4 >> 4, pairs >> 4), axis=-1)
        return numbers.reshape(*raw.shape[:-1], 2 * raw.shape[-1])
    return raw


def to_bytes(values: Array, dtype: DType) -> Array:
    """Elements of `dtype.storage` from numbers; floats round to nearest even, integers wrap. There
    are half as many of int4 in the last dimension, which must be even."""
    if dtype is BFLOAT16:
        return round_to_bfloat16(values)
    if dtype is INT4:
        fours = np.asarray(values).astype(np.uint8) & 0x0F
        return fours[..., ::2] | fours[..., 1::2] << 4
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
