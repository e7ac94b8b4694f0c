"""`T.tile.im2col`, whose sizes come in pairs."""

from __future__ import annotations

from typing import Any

from tile_frontend.arguments.call_signature import described
from tile_frontend.arguments.op_functions import build_op
from tile_frontend.tracing.faults import Fault
from tile_frontend.tracing.scalars import describe, python_number
from tile_frontend.tracing.values import Pending
from tile_ir import OPS

# What the arguments with several numbers are made of.
SIZES = {
    "image": ("height", "width"),
    "kernel": ("kernel_h", "kernel_w"),
    "stride": ("stride_h", "stride_w"),
    "dilation": ("dilation_h", "dilation_w"),
    "padding": ("pad_left", "pad_right", "pad_top", "pad_bottom"),
}


@described(OPS["im2col"])
def im2col(
    dst: Any,
    src: Any,
    image: Any,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    m_pos: Any,
    k_pos: Any,
    m_ext: Any,
    k_ext: Any,
) -> Pending:
    """Rows of l0a from windows of an image in l1: from window `m_pos` on `m_ext` rows, and of every
    window the columns `k_pos` to `k_pos + k_ext` in the order (kh, kw, c); zeros outside the image.
    `image`, `kernel`, `stride` and `dilation` are (rows, columns), `padding` (left, right, top,
    bottom)."""
    given: dict[str, Any] = {
        "dst": dst, "src": src, "m_pos": m_pos, "k_pos": k_pos, "m_ext": m_ext, "k_ext": k_ext,
    }  # fmt: skip
    values = (image, kernel, stride, dilation, padding)
    for (name, parts), value in zip(SIZES.items(), values, strict=True):
        given |= dict(zip(parts, _numbers(name, value, len(parts)), strict=True))
    return build_op(OPS["im2col"], given, "tile.im2col")


def _numbers(name: str, value: Any, count: int) -> list[int]:
    numbers = [python_number(v) for v in value] if isinstance(value, (tuple, list)) else []
    found = [n for n in numbers if isinstance(n, int) and not isinstance(n, bool)]
    if len(found) != count or len(numbers) != count:
        raise Fault(
            "operand-kind",
            f"im2col: {name} is {describe(value)}, expected {count} numbers from outside "
            "the kernel",
            argument=name,
        )
    return found
