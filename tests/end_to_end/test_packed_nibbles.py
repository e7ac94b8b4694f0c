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


@jit
def scaled_by_turns(B, S, rows: int):
    """Two stores, of a low and of a high one without sign, each less 8 and with the row's scale."""
    N, K = T.const("N, K")
    B: T.Tensor((N, K), T.uint8)
    S: T.Tensor((N,), T.float16)
    C = T.empty((N, 2 * K), T.float16)
    with T.Kernel(T.ceildiv(N, rows)) as by:
        b, s = T.alloc_shared((rows, K), T.uint8), T.alloc_shared((rows,), T.float16)
        c = T.alloc_shared((rows, 2 * K), T.float16)
        T.copy(B[by * rows, 0], b)
        T.copy(S[by * rows], s)
        for i, j in T.Parallel(rows, K):
            c[i, 2 * j] = (T.cast(b[i, j] & 0xF, "float16") - 8.0) * s[i]
            c[i, 2 * j + 1] = (T.cast(b[i, j] >> 4, "float16") - 8.0) * s[i]
        T.copy(c, C[by * rows, 0])
    return C


@jit
def with_columns_by_turns(B, S, rows: int):
    """The same with a scale for each column, the high ones first."""
    N, K = T.const("N, K")
    B: T.Tensor((N, K), T.uint8)
    S: T.Tensor((2 * K,), T.float32)
    C = T.empty((N, 2 * K), T.float32)
    with T.Kernel(T.ceildiv(N, rows)) as by:
        b, s = T.alloc_shared((rows, K), T.uint8), T.alloc_shared((2 * K,), T.float32)
        c = T.alloc_shared((rows, 2 * K), T.float32)
        T.copy(B[by * rows, 0], b)
        T.copy(S, s)
        for i, j in T.Parallel(rows, K):
            c[i, 2 * j + 1] = T.cast(b[i, j] & 0xF, "float32") * s[2 * j + 1]
            c[i, 2 * j] = T.cast(b[i, j] >> 4, "float32") * s[2 * j]
        T.copy(c, C[by * rows, 0])
    return C


@jit
def rows_of_words(B, S, rows: int):
    """Eight numbers of a word are rows of a tile, one below the other."""
    N, K = T.const("N, K")
    B: T.Tensor((N, K), T.int32)
    S: T.Tensor((K,), T.float16)
    C = T.empty((8 * N, K), T.float16)
    with T.Kernel(T.ceildiv(N, rows)) as by:
        b, s = T.alloc_shared((rows, K), T.int32), T.alloc_shared((K,), T.float16)
        c = T.alloc_shared((8 * rows, K), T.float16)
        T.copy(B[by * rows, 0], b)
        T.copy(S, s)
        for i, j in T.Parallel(8 * rows, K):
            c[i, j] = T.cast((b[i // 8, j] >> ((i % 8) * 4)) & 0xF, "float16") * s[j]
        T.copy(c, C[8 * by * rows, 0])
    return C


def unsigned(packed: torch.Tensor) -> torch.Tensor:
    """The low one first."""
    return torch.stack((packed & 15, packed >> 4), dim=-1).reshape(packed.shape[0], -1)


def test_stores_that_take_turns() -> None:
    packed, scale = every_byte(6), torch.tensor([1, -0.5, 3.3, 6e-8, 9000.0, 0]).half()
    expected = ((unsigned(packed).float() - 8) * scale.float()[:, None]).half()
    assert torch.equal(scaled_by_turns(packed, scale, 2), expected)


def test_stores_that_take_turns_in_another_order() -> None:
    packed, scale = every_byte(6), torch.randn(512)
    turned = unsigned(packed).view(6, 256, 2).flip(-1).reshape(6, 512)
    assert torch.equal(with_columns_by_turns(packed, scale, 2), turned * scale)


def test_numbers_of_words_below_each_other() -> None:
    words = torch.randint(-(2**31), 2**31 - 1, (6, 64)).int()
    scale = torch.randn(64).half()
    fields = torch.stack([(words >> 4 * k) & 15 for k in range(8)], 1).view(48, 64)
    assert torch.equal(rows_of_words(words, scale, 2), (fields.float() * scale.float()).half())


def test_one_after_the_other() -> None:
    packed = every_byte(6)
    assert torch.equal(unpacked(packed, 4), nibbles(packed))


def test_low_ones_in_front_of_high_ones() -> None:
    packed = every_byte(6)
    signed = nibbles(packed)
    assert torch.equal(halves(packed, 4), torch.cat((signed[:, 0::2], signed[:, 1::2]), dim=1))
