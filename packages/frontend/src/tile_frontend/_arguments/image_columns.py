"""Bind `T.im2col`: the operation of the cube core, or the rows of an image as scripts for GPUs take
them."""

from __future__ import annotations

from typing import Any

from tile_frontend._arguments.build_op import side_of
from tile_frontend._arguments.element_nests import as_one, one_after_another
from tile_frontend._arguments.op_functions import OpFunction
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import integer_expr, known_integer, unexpected
from tile_frontend._tracing.trace import current
from tile_ir import (
    OPS,
    Expr,
    Op,
    Region,
    Slice,
    Stmt,
    as_expr,
    constant_value,
    simplify,
)


class ImageColumns(OpFunction):
    """The matrix of a convolution: `T.tile.im2col(dst, src, ...)`; in kernels for GPUs
    `T.im2col(img, col, nhw_step, c_step, kernel, stride, dilation, pad)`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if current("im2col").python_names and len({*_NAMES} & {*kwargs}) + len(args) == len(_NAMES):
            return _rows_of_pixels(**dict(zip(_NAMES, args, strict=False)), **kwargs)
        return super().__call__(*args, **kwargs)


_NAMES = ("img", "col", "nhw_step", "c_step", "kernel", "stride", "dilation", "pad")


def _rows_of_pixels(
    img: Any,
    col: Any,
    nhw_step: Any,
    c_step: Any,
    kernel: Any,
    stride: Any,
    dilation: Any,
    pad: Any,
) -> Any:
    """Each row of `col` is one output pixel, in the order of image, row and column. Each column is
    one place of the kernel and one channel, channels fastest; a run of channels is one transfer.
    Outside of the image is 0."""
    trace = current("T.im2col")
    src, dst = side_of(img, "img", "im2col"), side_of(col, "col", "im2col")
    assert isinstance(src, Region) and isinstance(dst, Region), "sides that are no elements"
    if len(src.dims) != 4 or len(dst.dims) != 2:
        message = f"im2col: img has {len(src.dims)} dimensions, col {len(dst.dims)}"
        raise Fault(
            "shape-mismatch", message, "an image is [N, H, W, C], its matrix [rows, columns]"
        )
    height, width, channels = (s.extent for s in src.dims[1:])
    rows, columns = (s.extent for s in dst.dims)
    run, whole = constant_value(columns), constant_value(simplify(channels))
    if run is None or whole is None or whole % run:
        message = f"im2col: {channels} channels are no whole number of {columns} columns"
        raise Fault("shape-mismatch", message, "make the tile as wide as a part of the channels")
    size, step, apart, around = map(_number, _NAMES[4:], (kernel, stride, dilation, pad))
    first = integer_expr("im2col: nhw_step", nhw_step) * rows
    part = integer_expr("im2col: c_step", c_step) * columns
    reach = apart * (size - 1) + 1
    down, across = (simplify((n + 2 * around - reach) // step + 1) for n in (height, width))
    place = simplify(part // channels)
    begin = [simplify(place // size * apart - around), simplify(place % size * apart - around)]

    def one(row: Expr) -> Stmt:
        pixel = simplify(first + row)
        top = simplify(pixel // across % down * step + begin[0])
        left = simplify(pixel % across * step + begin[1])
        number = simplify(pixel // (down * across))
        at = (number, top, left, simplify(part % channels))
        extents = (as_expr(1), as_expr(1), as_expr(1), columns)
        starts = (s.offset for s in src.dims)
        pieces = (
            Slice(simplify(start + offset), extent)
            for start, offset, extent in zip(starts, at, extents, strict=True)
        )
        line = Region(
            dst.buffer,
            (Slice(simplify(dst.dims[0].offset + row), as_expr(1)), dst.dims[1]),
        )
        moved = Region(src.buffer, tuple(pieces))
        return Op(OPS["copy"], (moved, line), (False, False, None), trace.here)

    return as_one([one_after_another(0, rows, one)], "im2col")


def _number(name: str, value: Any) -> int:
    number = known_integer(value)
    if number is None:
        raise unexpected(f"im2col: {name}", value, "an integer that is known now", argument=name)
    return number


FUNCTIONS = {"im2col": ImageColumns(OPS["im2col"])}
