"""Compare and select over packed masks, and operations on their bits: every mode and type, tails, strided and misaligned regions,
numbers as operands; nothing is read or written beside the regions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_cases import kept

import tile_frontend as T
from tile_ir import Automatic, DType, Func, KernelError
from tile_ir.dtypes import BFLOAT16, FLOAT16, FLOAT32, INT8, INT16, INT32, UINT8, UINT16, UINT32
from tile_ir.expr import Var
from tile_ir.ops.select import COMPARE_MODES, REGISTER, SCALAR, TENSOR

from .flat_op_kernels import STRICT, FlatCase, Tile, disagreements, flat_case, whole
from .kernel_batch import KernelBatch, interpreted

RNG = np.random.default_rng(31)


def numbers(shape: tuple[int, ...], dtype: DType) -> Any:
    """Few different values, so that many are equal; NaN and infinities among the floats."""
    if dtype.is_integer:
        low, high = dtype.limits()
        values = RNG.choice([low, -1 if low else 1, 0, 3, 3, high], shape)
        return values.astype(dtype.compute)
    values = RNG.choice([0.0, -0.0, 1.0, 1.0, -2.5, 3.25, np.nan, np.inf, -np.inf], shape)
    return values.astype(dtype.compute)


def bytes_of(shape: tuple[int, ...]) -> Any:
    return RNG.integers(0, 256, shape).astype(np.uint8)


def blocks(count: int, size: int) -> int:
    return -(-count * size // 32) * 32 // size


def compare_of_length(
    dtype: DType, count: int, mode: str, scalar: float | None, mask: DType
) -> FlatCase:
    used = -(-count // 8)
    dst = bytes_of((blocks(used, 1) + 32,)).astype(mask.compute)
    length = blocks(count, dtype.size)
    a = Tile(dtype, numbers((length,), dtype), ((0, count),))
    b: Any = Tile(dtype, numbers((length,), dtype), ((0, count),)) if scalar is None else scalar
    label = f"{dtype}-{count}-{mode}-{scalar}"
    return flat_case("compare", label, [Tile(mask, dst, ((0, used),)), a, b], (mode,))


def compare_cases() -> Iterator[FlatCase]:
    lengths = (1, 7, 8, 15, 64, 65, 128, 191, 256, 257, 320, 500, 512, 1000, 4096)
    for dtype in (FLOAT16, FLOAT32, INT32):
        for i, count in enumerate(lengths):
            for mode in COMPARE_MODES if dtype is not INT32 else ("eq",):
                yield compare_of_length(dtype, count, mode, None, (INT8, UINT8)[i % 2])
            number = (3, 1.0, 0)[i % 3] if dtype.is_float else 3
            modes = COMPARE_MODES[i % 6 : i % 6 + 2] if dtype is not INT32 else ("eq",)
            for mode in modes:
                yield compare_of_length(dtype, count, mode, number, UINT8)


def compare_region_cases() -> Iterator[FlatCase]:
    """Columns of wider matrices, rows of narrow masks, parts only known when the kernel runs."""
    at, n = Var("at"), Var("n")
    for dtype in (FLOAT16, FLOAT32):
        block = 32 // dtype.size
        for rows, width, pitch in ((4, 2 * block, 4 * block), (3, 64, 192), (5, block, 3 * block)):
            source = Tile(dtype, numbers((rows, pitch), dtype), ((0, rows), (block, width)))
            used = -(-rows * width // 8)
            dst = Tile(UINT8, bytes_of((blocks(used, 1),)), ((0, used),))
            yield flat_case("compare", f"columns-{dtype}-{rows}", [dst, source, source], ("ge",))
            yield flat_case("compare", f"columns-{dtype}-{rows}-s", [dst, source, 1], ("lt",))
        for row in (0, 1, 3):  # rows of a mask that start inside a block
            one = Tile(dtype, numbers((4, 128), dtype), ((row, 1), (0, 128)))
            dst = Tile(INT8, bytes_of((4, 16)).view(np.int8), ((row, 1), (0, 16)))
            yield flat_case("compare", f"row-{dtype}-{row}", [dst, one, 1.0], ("eq",))
            moving = Tile(INT8, dst.values, ((at, 1), (0, 16)))
            part = Tile(dtype, one.values, ((at, 1), (0, 128)))
            yield flat_case(
                "compare", f"row-{dtype}-at-{row}", [moving, part, part], ("eq",), [(at, row)]
            )
        mask = Tile(UINT8, bytes_of((4, 64)), ((0, 4), (8, 16)))  # columns of a mask
        four = whole(dtype, numbers((4, 128), dtype))
        yield flat_case("compare", f"mask-columns-{dtype}", [mask, four, four], ("le",))
        for count in (0, 1, 64, 100, 256, 300):
            a = Tile(dtype, numbers((512,), dtype), ((0, n),))
            dst = Tile(UINT8, bytes_of((64,)), ((0, (n + 7) // 8),))
            yield flat_case("compare", f"run-{dtype}-{count}", [dst, a, a], ("eq",), [(n, count)])


def select_cases() -> Iterator[FlatCase]:
    lengths = (1, 8, 63, 64, 65, 128, 130, 256, 300, 1024, 16000)
    for dtype in (FLOAT16, FLOAT32, BFLOAT16, INT16, INT32, UINT32):
        for count in lengths:
            if count > 1024 and dtype is not FLOAT32:
                continue
            length = blocks(count, dtype.size)
            used = -(-count // 8)
            mask = Tile(UINT8, bytes_of((blocks(used, 1),)), ((0, used),))
            dst, a, b = (Tile(dtype, numbers((length,), dtype), ((0, count),)) for _ in range(3))
            yield flat_case("select", f"{dtype}-{count}", [dst, mask, a, b], (TENSOR,))
            for number in (1, -2.5) if dtype.is_float else (7,):
                label = f"{dtype}-{count}-{number}"
                yield flat_case("select", label, [dst, mask, a, number], (SCALAR,))
            short = min(used, 32 // dtype.size)
            first = Tile(INT8, mask.values.view(np.int8), ((0, short),))
            yield flat_case("select", f"{dtype}-{count}-spr", [dst, first, a, b], (REGISTER,))


def select_region_cases() -> Iterator[FlatCase]:
    at, n = Var("at"), Var("n")
    for dtype in (FLOAT16, FLOAT32):
        block = 32 // dtype.size
        rows, width, pitch = 4, 2 * block, 4 * block
        used = rows * width // 8
        dst = Tile(dtype, numbers((rows, pitch), dtype), ((0, rows), (block, width)))
        a = Tile(dtype, numbers((rows, pitch), dtype), ((0, rows), (0, width)))
        b = whole(dtype, numbers((rows, width), dtype))
        mask = Tile(UINT8, bytes_of((32,)), ((0, used),))
        yield flat_case("select", f"columns-{dtype}", [dst, mask, a, b], (TENSOR,))
        yield flat_case("select", f"columns-{dtype}-s", [dst, mask, a, -np.inf], (SCALAR,))
        for row in (0, 1, 3):
            line = ((at, 1), (0, 128))
            bits = Tile(UINT8, bytes_of((4, 16)), ((at, 1), (0, 16)))
            x, y, z = (Tile(dtype, numbers((4, 128), dtype), line) for _ in range(3))
            for mode, other in ((TENSOR, z), (SCALAR, 0), (REGISTER, z)):
                cut = bits if mode != REGISTER else Tile(
                    UINT8, bits.values, ((at, 1), (0, 32 // dtype.size))
                )  # fmt: skip
                label = f"row-{dtype}-{row}-{mode}"
                yield flat_case("select", label, [x, cut, y, other], (mode,), [(at, row)])
        for count in (0, 1, 100, 256, 333):
            x, y, z = (Tile(dtype, numbers((512,), dtype), ((0, n),)) for _ in range(3))
            bits = Tile(UINT8, bytes_of((64,)), ((0, (n + 7) // 8),))
            label = f"run-{dtype}-{count}"
            yield flat_case("select", label, [x, bits, y, z], (TENSOR,), [(n, count)])
        same = whole(dtype, numbers((2, 64), dtype))
        yield flat_case(
            "select", f"whole-{dtype}", [same, Tile(UINT8, bytes_of((32,)), ((0, 16),)), same, same],
            (TENSOR,),
        )  # fmt: skip


def bitwise_cases() -> Iterator[FlatCase]:
    """All widths, odd numbers of bytes, numbers as operands, in place, columns and rows."""
    for dtype in (INT8, UINT8, INT16, UINT16, INT32, UINT32):
        low, high = dtype.limits()

        def integers(*shape: int, low: int = low, high: int = high, dtype: DType = dtype) -> Any:
            kind = np.dtype(dtype.compute)
            return RNG.integers(low, high, shape, dtype=kind, endpoint=True)

        block = 32 // dtype.size
        for count in (1, 2, 3, 31, 64, 255, 1000):
            length = blocks(count, dtype.size)
            d, a, b = (Tile(dtype, integers(length), ((0, count),)) for _ in range(3))
            for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
                yield flat_case(name, f"{dtype}-{count}", [d, a, b])
                for number in (5, high, low):
                    yield flat_case(name, f"{dtype}-{count}-{number}", [d, a, number])
            yield flat_case("bitwise_not", f"{dtype}-{count}", [d, a])
        d, a, b = (
            Tile(dtype, integers(3, 3 * block), ((0, 3), (i * block, block))) for i in range(3)
        )
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
            yield flat_case(name, f"{dtype}-columns", [d, a, b])
            yield flat_case(name, f"{dtype}-columns-6", [d, a, 6])
        yield flat_case("bitwise_not", f"{dtype}-columns", [d, a])


@pytest.mark.parametrize(
    ("cases", "least"),
    [
        (bitwise_cases, 500),
        (compare_cases, 200),
        (compare_region_cases, 30),
        (select_cases, 180),
        (select_region_cases, 30),
    ],
    ids=["bitwise", "compare", "compare-regions", "select", "select-regions"],
)
def test_masks_agree(cases: Any, least: int, tmp_path: Path) -> None:
    listed = list(cases())
    assert len(listed) >= least
    count, wrong = disagreements(kept(listed), tmp_path)
    assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(wrong[:30])


def test_what_compare_means() -> None:
    """The table's meaning itself, said again in other words."""
    a = numbers((100,), FLOAT32)
    case = flat_case(
        "compare", "x",
        [Tile(UINT8, np.full((32,), 0xAA, np.uint8), ((0, 13),)),
         Tile(FLOAT32, np.pad(a, (0, 4)), ((0, 100),)), 1.0], ("ge",),
    )  # fmt: skip
    got = interpreted(case.func, case.arguments)[0]
    for k in range(104):
        assert (got[k // 8] >> (k % 8)) & 1 == (k < 100 and bool(a[k] >= 1.0))
    assert (got[13:] == 0xAA).all()


@pytest.mark.parametrize(
    ("slug", "operands", "mode"),
    [
        ("compare-mode", [whole(UINT8, bytes_of((32,))), whole(INT32, numbers((256,), INT32)), 3], "lt"),
        ("shape-mismatch", [whole(UINT8, bytes_of((32,))), whole(FLOAT32, numbers((512,), FLOAT32)), 3], "lt"),
        ("operand-dtype", [whole(INT16, bytes_of((32,))), whole(FLOAT32, numbers((256,), FLOAT32)), 3], "lt"),
        ("dtype-mismatch", [whole(UINT8, bytes_of((32,))), whole(INT32, numbers((256,), INT32)), 0.5], "eq"),
        ("attribute-value", [whole(UINT8, bytes_of((32,))), whole(FLOAT32, numbers((256,), FLOAT32)), 3], "less"),
    ],
)  # fmt: skip
def test_compare_is_refused(slug: str, operands: list[Any], mode: str) -> None:
    with pytest.raises(KernelError) as caught:
        flat_case("compare", "x", operands, (mode,))
    assert caught.value.slug == slug


@pytest.mark.parametrize(
    ("slug", "src1", "mode"),
    [
        ("select-mode", 1.0, TENSOR),
        ("select-mode", whole(FLOAT32, numbers((64,), FLOAT32)), SCALAR),
        ("dtype-mismatch", whole(FLOAT16, numbers((64,), FLOAT16)), TENSOR),
        ("shape-mismatch", whole(FLOAT32, numbers((32,), FLOAT32)), TENSOR),
    ],
)
def test_select_is_refused(slug: str, src1: Any, mode: str) -> None:
    x = whole(FLOAT32, numbers((64,), FLOAT32))
    with pytest.raises(KernelError) as caught:
        flat_case("select", "x", [x, whole(UINT8, bytes_of((8,))), x, src1], (mode,))
    assert caught.value.slug == slug


def causal_mask(kind: str) -> Func:
    """As the language has it: larger masks than are used, modes in any case, integers and elements
    of buffers as numbers, rows in a loop, slices with extents of run time."""

    @T.prim_func
    def k(X: T.Tensor((4, 128), kind), L: T.Tensor((16,), kind), n: T.int32,
          Y: T.Tensor((4, 128), kind)):  # fmt: skip
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((4, 128), kind)
            y = T.alloc_ub((4, 128), kind)
            limits = T.alloc_ub((16,), kind)
            large = T.alloc_ub((4, 32), "uint8")
            some = T.alloc_ub((64,), "int8")
            with T.Scope("V"):
                T.copy(X, x)
                T.copy(L, limits)
                T.barrier_all()
                T.tile.fill(large, 0)
                T.tile.fill(y, 9)
                T.pipe_barrier("v")
                for i in T.serial(2):
                    T.tile.compare(large[i, :], x[i, :], limits[i], "le")
                    T.pipe_barrier("v")
                    T.tile.compare(some, x[i, :], -1, mode="NE")
                    T.pipe_barrier("v")
                    T.tile.bitwise_and(large[i, 0:16], large[i, 0:16], 0xFF)
                    T.pipe_barrier("v")
                    T.tile.select(y[i, :], large[i, :], x[i, :], 0, "vsel_tensor_scalar_mode")
                    T.pipe_barrier("v")
                T.tile.compare(some, x[2, 0:n], x[3, 0:n], "GT")
                T.pipe_barrier("v")
                T.tile.select(y[2, 0:n], some, x[2, 0:n], x[3, 0:n], "VSEL_TENSOR_TENSOR_MODE")
                T.pipe_barrier("v")
                T.tile.select(y[3, :], large, x[3, :], x[2, :], "VSEL_CMPMASK_SPR")
                T.barrier_all()
                T.copy(y, Y)

    return k


def test_masks_from_the_language(tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    kinds = (FLOAT16, FLOAT32)
    for dtype in kinds:
        batch.add(causal_mask(dtype.name))
    batch.build()
    for number, dtype in enumerate(kinds):
        for n in (0, 1, 100, 128):
            x = RNG.integers(-5, 6, (4, 128)).astype(dtype.compute)
            limits = np.arange(16).astype(dtype.compute)
            given = [x, limits, n, np.zeros((4, 128), dtype.compute)]
            outcome = batch.run(number, given, checks=STRICT)
            assert outcome.error is None, outcome.error.text
            want = np.full((4, 128), 9, dtype.compute)
            for i in (0, 1):
                want[i] = np.where(x[i] <= i, x[i], 0)
            want[2, :n] = np.maximum(x[2, :n], x[3, :n])
            lanes = 256 // dtype.size
            first = np.resize((x[0] <= 0)[:lanes], 128)
            want[3] = np.where(first, x[3], x[2])
            assert (outcome.arrays[3] == want).all()


@pytest.mark.parametrize(("dtype", "shape"), [("float32", (4, 64)), ("float16", (16,))])
def test_bits_in_a_tile_of_floats(dtype: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    """Scripts keep masks in whatever tile they have: bits go to its bytes."""

    @T.prim_func
    def k(
        A: T.Tensor((4, 64), "float32"),
        B: T.Tensor((4, 64), "float32"),
        C: T.Tensor((4, 64), "float32"),
    ):  # fmt: skip
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            a = T.alloc_ub((4, 64), "float32")
            b = T.alloc_ub((4, 64), "float32")
            mask = T.alloc_ub(shape, dtype)
            T.copy(A, a)
            T.copy(B, b)
            T.tile.compare(mask, a, b, "LT")
            T.tile.select(a, mask, a, b, "VSEL_TENSOR_TENSOR_MODE")
            T.copy(a, C)

    batch = KernelBatch(tmp_path)
    number = batch.add(k, (Automatic.SYNC, Automatic.MEMORY))
    batch.build()
    a, b = (RNG.random((4, 64)).astype(np.float32) for _ in range(2))
    outcome = batch.run(number, [a, b, np.zeros_like(a)], checks=STRICT)
    assert outcome.error is None, outcome.error.text
    assert np.array_equal(outcome.arrays[2], np.minimum(a, b))
