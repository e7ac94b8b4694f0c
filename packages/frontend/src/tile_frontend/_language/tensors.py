"""`T.Tensor`: the annotation of a tensor parameter, and another form of a buffer's bytes."""

from __future__ import annotations

from typing import Any

from tile_frontend._language.allocation import TensorType, check_one_shape, sizes_of, stored
from tile_frontend._language.pointers import PointerType
from tile_frontend._language.reinterpret_buffer import view
from tile_frontend._tracing.dtype_names import element_type, packed_rows
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar, python_number
from tile_frontend._tracing.values import Tile


class _TensorProxy:
    """A tensor parameter in global memory: `T.Tensor(shape, dtype)` or `T.Tensor[shape, dtype]`;
    with the bytes of a buffer, `T.Tensor(shape, dtype, X.data)`, that buffer in another form."""

    # What messages call it where its shape is forgotten.
    __name__ = "T.Tensor"

    def __call__(
        self, shape: Any, dtype: Any = "float32", *more: Any, data: Any = None
    ) -> TensorType | Tile:
        if len(more) == 1 and isinstance(more[0], Tile):
            (data,) = more
        if data is not None:
            return view(data, shape, dtype)
        check_one_shape("T.Tensor", (shape, dtype, *more))
        if isinstance(dtype, PointerType):
            message = "T.Tensor of T.ptr: an address in gm has no extent to check"
            raise Fault("gpu-name", message, "pass one tensor, and offsets in another", "dtype")
        sizes = sizes_of(shape, "a tensor", least=0)
        element = stored(element_type(dtype, packed=True))
        packed_rows(element, sizes, "shape")
        return TensorType(sizes, element)

    def __getitem__(self, key: Any) -> TensorType | Tile:
        # T.Tensor[(M, N), "float16"] against T.Tensor[M, N].
        if isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], (tuple, list)):
            return self(*key)
        if isinstance(key, tuple) and len(key) == 2 and python_number(key[1]) is None:
            return self(key) if isinstance(key[1], Scalar) else self(*key)
        return self(key)

    def __repr__(self) -> str:
        return "T.Tensor"


Tensor = _TensorProxy()
