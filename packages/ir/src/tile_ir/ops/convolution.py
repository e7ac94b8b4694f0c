"""Windows of an image as rows of a left operand: a convolution is a product then
(docs/language/rules.md#rearranging)."""

from __future__ import annotations

from typing import Any

from tile_ir.dtypes import BFLOAT16, FLOAT16, FLOAT32, INT8
from tile_ir.expr import constant_value
from tile_ir.layout.footprint import k0_elements, round_up
from tile_ir.lazy import np
from tile_ir.machine import Core, Pipe
from tile_ir.nodes import Op
from tile_ir.opdef import Access, ArgumentDef, AttrDef, OpDef, OperandDef, Problem
from tile_ir.ops.axes import whole
from tile_ir.ops.rules import (
    L0A,
    L1,
    all_rules,
    destination,
    integer_scalars,
    on,
    same_dtype,
    shape_text,
    source,
    static_matrix,
)
from tile_ir.target import Target

# Attributes and their ranges, as the fields of LoadData3DParamsV2 have them.
SIZES = {
    "height": (1, 32767), "width": (1, 32767), "kernel_h": (1, 255), "kernel_w": (1, 255),
    "stride_h": (1, 63), "stride_w": (1, 63), "dilation_h": (1, 255), "dilation_w": (1, 255),
    "pad_left": (0, 255), "pad_right": (0, 255), "pad_top": (0, 255), "pad_bottom": (0, 255),
}  # fmt: skip
# Windows are loaded in rows of fractals.
ROWS = 16


def positions(op: Op) -> tuple[int, int]:
    """Rows and columns of windows that lie inside the padded image; not positive for none."""
    size = {name: op.attr(name) for name in SIZES}
    down = size["height"] + size["pad_top"] + size["pad_bottom"]
    across = size["width"] + size["pad_left"] + size["pad_right"]
    return (
        (down - size["dilation_h"] * (size["kernel_h"] - 1) - 1) // size["stride_h"] + 1,
        (across - size["dilation_w"] * (size["kernel_w"] - 1) - 1) // size["stride_w"] + 1,
    )


def _sizes(op: Op, target: Target) -> Problem | None:
    """The attributes are in the ranges of the instruction, and the kernel fits the image."""
    for name, (low, high) in SIZES.items():
        if not low <= op.attr(name) <= high:
            message = f"im2col: {name} is {op.attr(name)}, expected {low} to {high}"
            return Problem("attribute-value", message, name)
    if min(positions(op)) < 1:
        message = "im2col: the kernel is larger than the padded image"
        hint = "pad the image, or take a smaller kernel"
        return Problem("attribute-value", message, "kernel_h", hint)
    return None


def _image(op: Op, target: Target) -> Problem | None:
    """src has a row for each pixel, of as many channels as 32 bytes hold."""
    src = op.region("src")
    channels, pixels = k0_elements(src.dtype), op.attr("height") * op.attr("width")
    if len(src.dims) > 1 and static_matrix(src) == (pixels, channels):
        return None
    found = f"has {shape_text(src)}, expected [{pixels}, {channels}]: a row for each pixel of "
    found += f"{op.attr('height')} x {op.attr('width')}"
    hint = f"copy one group of {channels} channels to l1, and add the products of all groups"
    return op.problem("src", "shape-mismatch", found, hint)


def _part(op: Op, target: Target) -> Problem | None:
    """dst has as many rows as m_ext, up to a whole fractal, and as many columns as k_ext, which are
    columns of a window; rows behind the last window are zeros."""
    dst, size = op.region("dst"), static_matrix(op.region("dst"))
    numbers = {name: constant_value(op.operand(name)) for name in _NUMBERS}  # type: ignore[arg-type]
    m_ext, k_ext = numbers["m_ext"], numbers["k_ext"]
    wanted = None if m_ext is None else (round_up(m_ext, ROWS), k_ext)
    if size is not None and wanted and (round_up(size[0], ROWS), size[1]) != wanted:
        found = f"has {shape_text(dst)}, expected [{wanted[0]}, {k_ext}]"
        hint = "the product reads as many columns as are loaded: slice dst, or give it that size"
        return op.problem("dst", "shape-mismatch", found, hint)
    channels = k0_elements(dst.dtype)
    for axis, unit in (("m", ROWS), ("k", channels)):
        start = numbers[f"{axis}_pos"]
        if start is not None and (start < 0 or start % unit):
            message = f"im2col: {axis}_pos is {start}, expected a multiple of {unit}"
            return Problem("attribute-value", message, f"{axis}_pos")
    k_pos, columns = numbers["k_pos"], op.attr("kernel_h") * op.attr("kernel_w") * channels
    if k_pos is not None and k_ext is not None and k_pos + k_ext > columns:
        message = f"im2col: k ends at {k_pos + k_ext}, but there are {columns}"
        hint = f"load at most {columns - k_pos} columns"
        return Problem("attribute-value", message, "k_ext", hint)
    return None


def _windows(op: Op, dst: Any, src: Any, m_pos: Any, k_pos: Any, m_ext: Any, k_ext: Any) -> Any:
    size = {name: op.attr(name) for name in SIZES}
    image = np.reshape(src, (size["height"], size["width"], -1))
    pads = ((size["pad_top"], size["pad_bottom"]), (size["pad_left"], size["pad_right"]), (0, 0))
    image = np.pad(image, pads)
    across = positions(op)[1]
    down = positions(op)[0]
    result = np.zeros_like(dst)
    for row in range(min(dst.shape[-2], down * across - int(m_pos))):
        y, x = divmod(row + int(m_pos), across)
        window = image[
            y * size["stride_h"] :: size["dilation_h"], x * size["stride_w"] :: size["dilation_w"]
        ][: size["kernel_h"], : size["kernel_w"]]
        result[..., row, :] = window.reshape(-1)[int(k_pos) :][: dst.shape[-1]]
    return result


_NUMBERS = ("m_pos", "k_pos", "m_ext", "k_ext")
# The lists in which a script gives the sizes.
_LISTS = (
    ArgumentDef("image", ("height", "width")),
    ArgumentDef("kernel", ("kernel_h", "kernel_w")),
    ArgumentDef("stride", ("stride_h", "stride_w")),
    ArgumentDef("dilation", ("dilation_h", "dilation_w")),
    ArgumentDef("padding", ("pad_left", "pad_right", "pad_top", "pad_bottom")),
)

OPS = (
    OpDef(
        name="im2col",
        family="cube",
        doc="windows of an image in l1 as rows of l0a; columns in the order (kh, kw, c)",
        ascend_c="LoadData (3D)",
        operands=(
            destination("dst", L0A, FLOAT16, BFLOAT16, FLOAT32, INT8),
            source("src", L1),
            *(OperandDef(name, Access.READ) for name in _NUMBERS),
        ),
        attrs=tuple(AttrDef(name, int) for name in SIZES),
        parameters=("dst", "src", *_LISTS, *_NUMBERS),
        placement=on(Core.CUBE, Pipe.MTE1),
        axes=whole,
        meaning=_windows,
        dtype_rule=all_rules(same_dtype, integer_scalars),
        shape_rule=all_rules(_sizes, _image, _part),
    ),
)
