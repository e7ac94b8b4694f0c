"""Bytes of elements, those that share one among them."""

from __future__ import annotations

import numpy as np
import pytest

from tile_ir import DTYPES
from tile_ir.dtypes import INT4, from_bytes, to_bytes


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_sizes(dtype: object) -> None:
    assert dtype is DTYPES[str(dtype)]
    found = DTYPES[str(dtype)]
    assert found.bytes_of(64) == 8 * found.bits
    assert found.elements_in(found.bytes_of(64)) == 64
    stored = np.zeros(32, np.uint8).view(found.storage)
    assert from_bytes(stored, found).shape == (found.elements_in(32),)
    assert to_bytes(from_bytes(stored, found), found).nbytes == 32
    if found.whole_bytes:
        assert found.size * 8 == found.bits


def test_half_a_byte_has_no_size() -> None:
    for impossible in (lambda: INT4.size, lambda: INT4.bytes_of(3)):
        with pytest.raises(ValueError, match="int4"):
            impossible()


def test_two_elements_to_a_byte() -> None:
    """The first one is the low half; both have a sign."""
    assert INT4.limits() == (-8, 7)
    numbers = np.array([[1, -1, -8, 7], [0, 2, 3, -4]])
    stored = to_bytes(numbers, INT4)
    np.testing.assert_array_equal(stored, np.array([[0xF1, 0x78], [0x20, 0xC3]], np.uint8))
    np.testing.assert_array_equal(from_bytes(stored, INT4), numbers)
    every = np.arange(256).astype(np.uint8)
    np.testing.assert_array_equal(to_bytes(from_bytes(every, INT4), INT4), every)
