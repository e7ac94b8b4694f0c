"""Define `T.float32` and its like: element types that convert what they are called with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tile_frontend._language.scalar_functions import cast
from tile_ir import ALIASES, DTYPES, DType


@dataclass(frozen=True, slots=True)
class DTypeName:
    """`T.float32`: an annotation of a scalar parameter, and a cast when called."""

    dtype: DType

    def __call__(self, value: Any = None) -> Any:
        # `T.int32()` without a value is another spelling of the annotation.
        if value is None:
            return self
        return cast(value, self)

    def __str__(self) -> str:
        return self.dtype.name

    def __repr__(self) -> str:
        return f"T.{self.dtype.name}"


DTYPE_NAMES = {name: DTypeName(dtype) for name, dtype in DTYPES.items()}
DTYPE_NAMES.update({alias: DTYPE_NAMES[name] for alias, name in ALIASES.items()})
