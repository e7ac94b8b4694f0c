"""Operands of one vector instruction that overlap: every kind of instruction with its destination at several distances
from its source, against a model that lists the bytes of every repeat. What is clean stays so at strict level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from kernel_set import KernelSet, SimulatorError

DEVICE, STRICT = 1, 2
KERNELS = KernelSet()
# Two views of the same bytes, in which the source begins at byte 8192.
SETUP = """
TPipe pipe; TBuf<TPosition::VECCALC> buffer; pipe.InitBuffer(buffer, 32768);
LocalTensor<float> f = buffer.Get<float>(); LocalTensor<half> h = buffer.Get<half>();
LocalTensor<int16_t> n = buffer.Get<int16_t>();
Duplicate(f, 1.0f, 8192); PipeBarrier<PIPE_ALL>();
"""
SOURCE = 8192
REPEATS = 3


@dataclass(frozen=True)
class Form:
    """A statement over `to`, the destination, and `from`; bytes of a repeat and between repeats of both."""

    statement: str
    to: str
    source: str
    written: int
    to_stride: int
    read: int
    from_stride: int

    @property
    def lane_for_lane(self) -> bool:
        return self.written == self.read


SIZE = {"f": 4, "h": 2, "n": 2}
FORMS = {
    "unary": Form("Abs({to}, {src}, 64, 3, {{1, 1, 8, 8}});", "f", "f", 256, 256, 256, 256),
    "unary_count": Form("Abs({to}, {src}, 192);", "f", "f", 256, 256, 256, 256),
    "unary_apart": Form("Abs({to}, {src}, 64, 3, {{1, 1, 16, 8}});", "f", "f", 256, 512, 256, 256),
    "unary_again": Form("Abs({to}, {src}, 64, 3, {{1, 1, 8, 0}});", "f", "f", 256, 256, 256, 0),
    "few_lanes": Form("Abs({to}, {src}, 8, 3, {{1, 1, 8, 8}});", "f", "f", 32, 256, 32, 256),
    "binary": Form(
        "Div({to}, {src}, f[6144], 64, 3, {{1, 1, 1, 8, 8, 8}});", "f", "f", 256, 256, 256, 256
    ),
    "scalar": Form("Adds({to}, {src}, 2.0f, 64, 3, {{1, 1, 8, 8}});", "f", "f", 256, 256, 256, 256),
    "scalar_count": Form("Adds({to}, {src}, 2.0f, 192);", "f", "f", 256, 256, 256, 256),
    "bits": Form("Not({to}, {src}, 128, 3, {{1, 1, 8, 8}});", "n", "n", 256, 256, 256, 256),
    "cast_wider": Form(
        "Cast({to}, {src}, RoundMode::CAST_NONE, 192);", "f", "h", 256, 256, 128, 128
    ),
    "cast_narrower": Form(
        "Cast({to}, {src}, RoundMode::CAST_NONE, 192);", "h", "f", 128, 128, 256, 256
    ),
    "reduce": Form("WholeReduceSum({to}, {src}, 64, 3, 1, 1, 8);", "f", "f", 4, 4, 256, 256),
    "reduce_blocks": Form(
        "BlockReduceMax({to}, {src}, 3, 64, 1, 1, 8);", "f", "f", 32, 32, 256, 256
    ),
}
OFFSETS = [-1024, -768, -512, -256, -128, -32, 0, 32, 128, 256, 288, 512, 768, 1024]


def verdict(form: Form, offset: int) -> bool:
    """Whether the vendor's page of overlapping addresses allows a destination `offset` bytes behind the source."""
    for repeat in range(REPEATS):
        start = SOURCE + offset + repeat * form.to_stride
        written = range(start, start + form.written)
        for later in range(repeat, REPEATS):
            first = SOURCE + later * form.from_stride
            shared = max(start, first) < min(written.stop, first + form.read)
            # A narrower result may begin where its source does.
            if shared and not (later == repeat and start == first):
                return False
    return True


CASES = [(name, offset) for name in FORMS for offset in OFFSETS]


def kernel_of(name: str, offset: int) -> str:
    return f"{name}_{offset}".replace("-", "minus_")


for _name, _offset in CASES:
    _form = FORMS[_name]
    _to = f"{_form.to}[{(SOURCE + _offset) // SIZE[_form.to]}]"
    _from = f"{_form.source}[{SOURCE // SIZE[_form.source]}]"
    KERNELS.add(
        kernel_of(_name, _offset), "GM_ADDR d", SETUP + _form.statement.format(to=_to, src=_from)
    )

# name: statement, whether the page allows it
SUMS = {
    "second_source": ("Add(f, f[1024], f, 64, 4, {1, 1, 1, 0, 8, 0});", True),
    "second_source_max": ("Max(f, f[1024], f, 64, 4, {1, 1, 1, 0, 8, 0});", True),
    "first_source": ("Add(f, f, f[1024], 64, 4, {1, 1, 1, 0, 0, 8});", False),
    "no_sum": ("Div(f, f[1024], f, 64, 4, {1, 1, 1, 0, 8, 0});", False),
    "both_step": ("Add(f[64], f[1024], f, 64, 4, {1, 1, 1, 8, 8, 8});", False),
    "one_repeat": ("Add(f, f, f[1024], 64, 1, {1, 1, 1, 0, 0, 8});", True),
    "other_block_stride": ("Abs(f, f, 64, 1, {1, 2, 8, 8});", False),
    "lanes_between": ("uint64_t m[2] = {0xff00ff00ff00ff, 0}; Abs(f, f[8], m, 1, {1, 1, 8, 8});", True),
    "same_lanes": ("uint64_t m[2] = {0xff00ff00ff00ff, 0}; Abs(f, f[16], m, 1, {1, 1, 8, 8});", False),
    "brcb_behind": ("Brcb(f, f[1024], 2, {1, 8});", True),
    "brcb_over": ("Brcb(f, f[8], 2, {1, 8});", False),
    "select_in_place": (
        "Select(f[1024], n, f[1024], f[2048], SELMODE::VSEL_TENSOR_TENSOR_MODE, 64, 2, {1, 1, 1, 8, 8, 8});", True,
    ),
    "select_shifted": (
        "Select(f[1032], n, f[1024], f[2048], SELMODE::VSEL_TENSOR_TENSOR_MODE, 64, 2, {1, 1, 1, 8, 8, 8});", False,
    ),
    "compare_into_source": ("Compare(f[1088].ReinterpretCast<uint8_t>(), f[1024], f[2048], CMPMODE::LT, 128);", False),
    "compare_apart": ("Compare(f[512].ReinterpretCast<uint8_t>(), f[1024], f[2048], CMPMODE::LT, 128);", True),
}  # fmt: skip
for _name, (_body, _) in SUMS.items():
    KERNELS.add(_name, "GM_ADDR d", SETUP + _body)
KERNELS.add(
    "twice", "GM_ADDR d", SETUP + "Abs(f[8], f, 64);\nPipeBarrier<PIPE_V>();\nAbs(f[16], f, 64);"
)


def told(name: str, **options: Any) -> list[Any]:
    try:
        KERNELS.run(name, np.zeros(64, np.float32), **options)
    except SimulatorError as error:
        return [error.fault, *KERNELS.others(name)]
    return []


def line_of(name: str) -> int:
    """The last line of the kernel."""
    lines = KERNELS.source().splitlines()
    start = next(i for i, text in enumerate(lines) if f" {name}(GM_ADDR d)" in text)
    return lines.index("}", start)


@pytest.mark.parametrize(("name", "offset"), CASES)
def test_every_distance(name: str, offset: int) -> None:
    kernel = kernel_of(name, offset)
    if verdict(FORMS[name], offset):
        assert told(kernel, checks=STRICT) == []
        return
    (fault,) = told(kernel, checks=DEVICE)
    assert (fault.kind, fault.line) == ("operand-overlap", line_of(kernel)), fault
    assert "as dst" in fault.text and "as src" in fault.text and "exactly those" in fault.hint, (
        fault
    )


def test_both_verdicts_occur_for_every_form() -> None:
    for name, form in FORMS.items():
        assert {verdict(form, offset) for offset in OFFSETS} == {True, False}, name


@pytest.mark.parametrize("name", SUMS)
def test_what_the_page_allows_besides(name: str) -> None:
    if SUMS[name][1]:
        assert told(name, checks=STRICT) == []
    else:
        assert [fault.kind for fault in told(name, checks=DEVICE)] == ["operand-overlap"]


def test_the_bytes_of_both_operands_are_named() -> None:
    shifted, behind = (
        told(kernel_of("unary", 32), checks=DEVICE)[0],
        told("first_source", checks=DEVICE)[0],
    )
    assert shifted.text == (
        "Abs: in repeat 0 it writes bytes [8224, 8480) of UB as dst and reads bytes [8192, 8448) of UB as src, "
        "which overlap without being the same"
    )
    assert behind.text == (
        "Add: repeat 0 writes bytes [0, 256) of UB as dst, and repeat 1 has yet to read bytes [0, 256) of UB as src0"
    )


def test_the_run_goes_on_behind_it() -> None:
    assert [fault.kind for fault in told("twice", checks=DEVICE)] == ["operand-overlap"] * 2
    assert told("twice", checks=0) == []
