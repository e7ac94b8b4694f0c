"""The annotations of tensor parameters, and another form of a buffer's bytes."""

from __future__ import annotations

from typing import Any

from tile_frontend._language.allocation import TensorType, check_one_shape, sizes_of, stored
from tile_frontend._language.pointers import PointerType
from tile_frontend._language.reinterpret_buffer import view
from tile_frontend._tracing.dtype_names import element_type, packed_rows
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar, python_number, unexpected
from tile_frontend._tracing.values import Tile
from tile_ir.quick_dataclasses import replace


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


class _StridedTensorProxy:
    """A tensor parameter that a caller may pass with any strides, not only with rows behind each
    other: `T.StridedTensor(shape, strides, dtype)` or `T.StridedTensor[shape, strides, dtype]`.
    Where it has others, the call passes a copy, and what the kernel writes is copied back. A symbol
    among `strides` has its value in the copy."""

    __name__ = "T.StridedTensor"

    def __call__(self, shape: Any, strides: Any, dtype: Any = "float32") -> TensorType:
        made = Tensor(shape, dtype)
        if not isinstance(made, TensorType):
            raise unexpected("StridedTensor: shape", shape, "the sizes of a parameter")
        given = tuple(strides) if isinstance(strides, (tuple, list)) else (strides,)
        if len(given) != len(made.shape):
            message = f"{len(given)} strides for {len(made.shape)} dimensions"
            raise Fault("tensor-stride", message, "give each dimension a stride", "strides")
        return replace(made, strides=sizes_of(given, "strides", least=0))

    def __getitem__(self, key: Any) -> TensorType:
        if not isinstance(key, tuple) or len(key) not in (2, 3):
            hint = 'write T.StridedTensor[(m, n), (stride, 1), "float16"]'
            raise Fault("arity", "T.StridedTensor[...]: expected shape, strides, dtype", hint)
        return self(*key)

    def __repr__(self) -> str:
        return self.__name__


Tensor = _TensorProxy()
StridedTensor = _StridedTensorProxy()
