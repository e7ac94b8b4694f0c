"""ListTensorDesc: lists that do not fit their memory, pointers that are no tensors, and indices beyond
the list. Each wrong list differs in one word from one that is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_set import KernelSet

OFF, DEVICE, STRICT = 0, 1, 2
F32, U64 = np.float32, np.uint64
KERNELS = KernelSet()
ARGUMENTS = "GM_ADDR list, GM_ADDR x0, GM_ADDR x1"
BEGIN = "ListTensorDesc tensors((__gm__ void*)list); uint64_t shape[4]; TensorDesc<float> desc; desc.SetShapeAddr(shape);"
LOAD = "GlobalTensor<float> x; x.SetGlobalBuffer({}); x.GetValue(0);"


def lines(*statements: str) -> str:
    """One statement a line: the first at line 2 behind that of the type."""
    return "\n" + "\n".join(statements)


KERNELS.add("pointer", ARGUMENTS, lines(BEGIN, LOAD.format("tensors.GetDataPtr<float>(1)")))
KERNELS.add("halves", ARGUMENTS, lines(BEGIN, "tensors.GetDataPtr<half>(1);"))
KERNELS.add("doubles", ARGUMENTS, lines(BEGIN, "tensors.GetDataPtr<uint64_t>(1);"))
KERNELS.add(
    "desc",
    ARGUMENTS,
    lines(BEGIN, "tensors.GetDesc(desc, 1); desc.GetShape(1); desc.GetDataObj().GetValue(127);"),
)
KERNELS.add("index", ARGUMENTS, lines(BEGIN, "tensors.GetDesc(desc, 2);"))
KERNELS.add("dimension", ARGUMENTS, lines(BEGIN, "tensors.GetDesc(desc, 0);", "desc.GetShape(2);"))
KERNELS.add("no_desc", ARGUMENTS, lines(BEGIN, "desc.GetShape(0);"))
KERNELS.add(
    "no_shape", ARGUMENTS, lines(BEGIN, "TensorDesc<float> other; tensors.GetDesc(other, 0);")
)
KERNELS.add(
    "elsewhere",
    ARGUMENTS,
    lines("uint64_t words[8] = {24}; ListTensorDesc tensors((__gm__ void*)words);"),
)
KERNELS.add("size", ARGUMENTS, lines("ListTensorDesc tensors((__gm__ void*)list, 72, 2);"))


def arrays() -> tuple[Any, Any]:
    return np.arange(128, dtype=F32).reshape(2, 64), np.ones((2, 64), F32)


def tensor_list(*tensors: Any) -> Any:
    words = [w for i, t in enumerate(tensors) for w in (t.ndim | i << 32, *t.shape)]
    return np.array([8 + 8 * len(words), *words, *(t.ctypes.data for t in tensors)], U64)


@pytest.mark.parametrize("level", [OFF, DEVICE, STRICT])
@pytest.mark.parametrize("name", ["pointer", "halves", "desc", "size"])
def test_a_list_that_is_right(name: str, level: int) -> None:
    x, y = arrays()
    assert KERNELS.warnings(name, tensor_list(x, y), x, y, checks=level) == []


def changed(index: int, value: Callable[[int], int] | int) -> Callable[[Any], None]:
    def change(words: Any) -> None:
        words[index] = value(int(words[index])) if callable(value) else value

    return change


# The kernel, the change, the slug, the API, the line in the body, words of the text. Words: 0 the distance to the
# pointers, 1 to 3 and 4 to 6 the shapes, 7 and 8 the pointers.
WRONG: list[tuple[str, str, Callable[[Any], None], str, str, int, str]] = [
    ("wild", "pointer", changed(8, 0x1000), "out-of-bounds", "GetDataPtr", 3, "pointer 1 of the list is address 0x1000"),
    ("null", "pointer", changed(8, 0), "out-of-bounds", "GetDataPtr", 3, "pointer 1 of the list"),
    ("uneven", "pointer", changed(8, lambda p: p + 2), "misaligned", "GetDataPtr", 3, "byte 2 of GM buffer 'x1'"),
    ("late", "pointer", changed(8, lambda p: p + 256), "out-of-bounds", "GetDataPtr", 3, "has 256 bytes from its pointer"),
    ("long", "desc", changed(5, 3), "out-of-bounds", "GetDesc", 3, "has 192 elements of 4 bytes"),
    ("huge", "desc", changed(5, 1 << 62), "out-of-bounds", "GetDesc", 3, "elements of 4 bytes"),
    ("type", "doubles", changed(5, 2), "out-of-bounds", "GetDataPtr", 3, "is the element type right?"),
    ("rank", "desc", changed(4, 3 | 1 << 32), "bad-argument", "GetDesc", 3, "tensor 1 has 3 dimensions, but the first has 2"),
    ("ranks", "desc", changed(1, 30), "bad-argument", "ListTensorDesc", 2, "its first tensor has 30 dimensions"),
    ("distance", "pointer", changed(0, 1 << 20), "out-of-bounds", "ListTensorDesc", 2, "its buffer 'list' has 72 bytes"),
    ("count", "pointer", changed(4, 2 | 5 << 32), "bad-argument", "ListTensorDesc", 2, "says 6 tensors, but there is room for 2"),
    ("same", "pointer", changed(1, 2 | 7 << 32), "bad-argument", "ListTensorDesc", 2, "says 7 tensors, but there is room for 2"),
    ("index", "index", changed(8, lambda p: p), "bad-argument", "GetDesc", 3, "index is 2, but the list has 2 tensors"),
    ("dimension", "dimension", changed(8, lambda p: p), "bad-argument", "GetShape", 4, "offset is 2, but the shape has 2"),
    ("no_desc", "no_desc", changed(8, lambda p: p), "bad-argument", "GetShape", 3, "call SetShapeAddr and GetDesc first"),
    ("no_shape", "no_shape", changed(8, lambda p: p), "bad-argument", "GetDesc", 3, "call SetShapeAddr first"),
    ("elsewhere", "elsewhere", changed(8, lambda p: p), "out-of-bounds", "ListTensorDesc", 2, "lies in no buffer of GM"),
    ("size", "size", changed(4, 2), "bad-argument", "ListTensorDesc", 2, "says 1 tensors"),
]  # fmt: skip


def body_line(kernel: str, line: int) -> int:
    """The line of the translation unit at which that line of the kernel's body stands."""
    text = KERNELS.source().splitlines()
    head = next(i for i, t in enumerate(text) if f"void {kernel}(" in t)
    return head + 3 + line


@pytest.mark.parametrize("case", WRONG, ids=[c[0] for c in WRONG])
@pytest.mark.parametrize("level", [DEVICE, STRICT])
def test_a_list_that_is_wrong(case: tuple[Any, ...], level: int) -> None:
    _, kernel, change, slug, api, line, words = case
    x, y = arrays()
    wrong = tensor_list(x, y)
    change(wrong)
    fault = KERNELS.fault(kernel, wrong, x, y, checks=level)
    assert (fault.kind, fault.api.split("::")[-1]) == (slug, api), fault
    assert words in fault.text, fault
    assert fault.line == body_line(kernel, line), fault


def test_what_is_not_looked_at() -> None:
    """Without checks of the device a pointer that nothing uses; and one of a tensor without elements."""
    x, y = arrays()
    wrong = tensor_list(x, y)
    wrong[8] += 2
    KERNELS.run("halves", wrong, x, y, checks=OFF)
    empty = tensor_list(x, y)
    empty[5], empty[8] = 0, 0x1000
    KERNELS.run("doubles", empty, x, y, checks=STRICT)


def test_a_list_without_shapes() -> None:
    x, y = arrays()
    words = np.array([24, 2 << 32, 0xFFFFFFFF, x.ctypes.data, y.ctypes.data], U64)
    KERNELS.run("pointer", words, x, y, checks=STRICT)
    fault = KERNELS.fault("desc", words, x, y)
    assert "the list has no shapes" in fault.text
    words[1] = 9 << 32
    fault = KERNELS.fault("pointer", words, x, y)
    assert fault.kind == "out-of-bounds" and "ends after 2 pointers" in fault.text
