"""Two signed numbers of four bits in a byte, as kernels written for GPUs take them apart: shifts and
masks of bytes, whose bits are then those of signed ones. Each kernel runs at `strict` against torch,
with every byte there is."""

from __future__ import annotations

import pytest
import torch

import tile_frontend as T
from tile_runtime import jit

pytestmark = pytest.mark.usefixtures("strict")


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


def nibbles(packed: torch.Tensor) -> torch.Tensor:
    """The low one first, with its sign."""
    four = torch.stack((packed & 15, packed >> 4), dim=-1).reshape(packed.shape[0], -1)
    return (four.to(torch.int8) << 4) >> 4


def every_byte(rows: int) -> torch.Tensor:
    """Every byte, in another order in each row."""
    return torch.stack([torch.arange(256).roll(17 * r) for r in range(rows)]).to(torch.uint8)


def number_at(byte, place):
    four = (byte >> (place.astype(T.uint8) * T.uint8(4))) & T.uint8(15)
    return T.reinterpret(T.int8, four << T.uint8(4)) >> T.int8(4)


@jit
def unpacked(B, rows: int):
    N, K = T.const("N, K")
    B: T.Tensor((N, K), T.uint8)
    C = T.empty((N, 2 * K), T.int8)
    with T.Kernel(T.ceildiv(N, rows), threads=128) as by:
        b = T.alloc_shared((rows, K), T.uint8)
        c = T.alloc_fragment((rows, 2 * K), T.int8)
        T.copy(B[by * rows, 0], b)
        for i, j in T.Parallel(rows, 2 * K):
            c[i, j] = number_at(b[i, j // 2], j % 2)
        T.copy(c, C[by * rows, 0])
    return C


@jit
def halves(B, rows: int):
    """All low ones in front of all high ones."""
    N, K = T.const("N, K")
    B: T.Tensor((N, K), T.uint8)
    C = T.empty((N, 2 * K), T.int8)
    with T.Kernel(T.ceildiv(N, rows), threads=128) as by:
        b = T.alloc_shared((rows, K), T.uint8)
        c = T.alloc_fragment((rows, 2 * K), T.int8)
        T.copy(B[by * rows, 0], b)
        for i, j in T.Parallel(rows, K):
            c[i, j] = T.reinterpret(T.int8, b[i, j] << 4) >> 4
            c[i, K + j] = T.reinterpret(T.int8, b[i, j]) >> 4
        T.copy(c, C[by * rows, 0])
    return C


def test_one_after_the_other() -> None:
    packed = every_byte(6)
    assert torch.equal(unpacked(packed, 4), nibbles(packed))


def test_low_ones_in_front_of_high_ones() -> None:
    packed = every_byte(6)
    signed = nibbles(packed)
    assert torch.equal(halves(packed, 4), torch.cat((signed[:, 0::2], signed[:, 1::2]), dim=1))
