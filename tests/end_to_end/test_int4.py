"""Four-bit tiles from Python to the simulator: bytes in gm, int4 in ub, float16 to compute with."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from structural_equality import structurally_equal

import tile_frontend as T
from tile_ir import DEFAULT_TARGET, Automatic, Func, KernelError, parse, print_func
from tile_ir.switches import override
from tile_passes import run_pipeline
from tile_runtime import PassConfigKey, jit
from tile_runtime.launcher.native import launcher

from .kernel_batch import KernelBatch, interpreted

# By arithmetic, independent of the packing in the packages.
ROUND = {
    "NONE": np.rint,
    "RINT": np.rint,
    "FLOOR": np.floor,
    "CEIL": np.ceil,
    "TRUNC": np.trunc,
    "ROUND": lambda x: np.trunc(x + np.copysign(0.5, x)),
}
# Rows and columns of the buffers, then the rows and columns that are converted.
WHOLE = [(1, 64, 0, 1, 0, 64), (1, 128, 0, 1, 0, 128), (1, 2, 0, 1, 0, 2), (3, 192, 0, 3, 0, 192),
         (5, 64, 0, 5, 0, 64), (3, 96, 0, 3, 0, 96), (7, 34, 0, 7, 0, 34)]  # fmt: skip
PARTS = [(4, 128, 1, 2, 0, 128), (4, 256, 1, 3, 64, 128), (3, 192, 0, 3, 128, 64),
         (6, 128, 0, 6, 64, 38), (2, 128, 1, 1, 0, 2)]  # fmt: skip


def narrowed(x: Any, mode: str) -> Any:
    """What the vector unit makes of halves: rounded, saturated, NaN as 0."""
    with np.errstate(invalid="ignore"):
        whole = ROUND[mode](x.astype(np.float64))
    return np.where(np.isnan(whole), 0, np.clip(whole, -8, 7)).astype(np.int64)


def packed(numbers: Any) -> Any:
    """Two to a byte, the first one in the low half."""
    pairs = (numbers % 16).reshape(*numbers.shape[:-1], -1, 2)
    return (pairs[..., 0] + 16 * pairs[..., 1]).astype(np.uint8).view(np.int8)


def unpacked(raw: Any) -> Any:
    unsigned = raw.view(np.uint8).astype(np.int64)
    numbers = np.stack((unsigned % 16, unsigned // 16), -1).reshape(*raw.shape[:-1], -1)
    return (numbers + 8) % 16 - 8


def narrow(form: tuple[int, ...], mode: str) -> Func:
    m, n, top, rows, left, columns = form

    @T.prim_func
    def narrow(X: T.Tensor((m, n), "float16"), Y: T.Tensor((m, n // 2), "int8")):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((m, n), "float16")
            y = T.alloc_ub((m, n // 2), "int8")
            q = T.alloc_ub((m, n), "int4")
            T.reinterpretcast(y, q, "int8_t")
            T.copy(X, x)
            T.copy(Y, y)
            T.barrier_all()
            T.tile.cast(q[top:top + rows, left:left + columns],
                        x[top:top + rows, left:left + columns], "CAST_" + mode)  # fmt: skip
            T.barrier_all()
            T.copy(y, Y)

    return narrow


def widen(form: tuple[int, ...], by_copy: bool) -> Func:
    m, n, top, rows, left, columns = form

    @T.prim_func
    def widen(X: T.Tensor((m, n // 2), "int8"), Y: T.Tensor((m, n), "float16")):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((m, n // 2), "int8")
            q = T.alloc_ub((m, n), T.int4)
            y = T.alloc_ub((m, n), "float16")
            T.reinterpretcast(q, x, "int4b_t")
            T.copy(X, x)
            T.copy(Y, y)
            T.barrier_all()
            if by_copy:
                T.copy(q[top:top + rows, left:left + columns],
                       y[top:top + rows, left:left + columns])  # fmt: skip
            else:
                T.tile.cast(y[top:top + rows, left:left + columns],
                            q[top:top + rows, left:left + columns], "CAST_NONE")  # fmt: skip
            T.barrier_all()
            T.copy(y, Y)

    return widen


def halves(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Numbers around the range of int4, ties and special values among them."""
    values = rng.uniform(-10, 10, shape)
    values = np.where(rng.random(shape) < 0.4, np.round(values * 2) / 2, values)
    special = [np.inf, -np.inf, np.nan, 65504, -65504, 1e-7, -0.0, 7.5, -8.5, 6.5]
    values = np.where(rng.random(shape) < 0.2, rng.choice(special, shape), values)
    return values.astype(np.float16)


def test_narrowing(tmp_path: Path) -> None:
    """All modes, whole buffers and parts; what is not converted keeps its nibbles."""
    rng, batch = np.random.default_rng(4), KernelBatch(tmp_path)
    cases = [(f, mode) for f in WHOLE + PARTS for mode in ROUND]
    numbers = [batch.add(narrow(*case)) for case in cases]
    batch.build()
    for number, (form, mode) in zip(numbers, cases, strict=True):
        m, n, top, rows, left, columns = form
        x, old = halves(rng, (m, n)), rng.integers(-128, 128, (m, n // 2)).astype(np.int8)
        outcome = batch.run(number, [x, old], checks=launcher().CHECKS_STRICT)
        assert outcome.error is None, outcome.error.text
        place = np.s_[top : top + rows, left : left + columns]
        expected = unpacked(old)
        expected[place] = narrowed(x[place], mode)
        np.testing.assert_array_equal(unpacked(outcome.arrays[1]), expected)
        np.testing.assert_array_equal(outcome.arrays[1], packed(expected))
        by_interpreter = interpreted(batch.funcs[number], [x, old])[1]
        np.testing.assert_array_equal(by_interpreter, outcome.arrays[1])


def test_widening(tmp_path: Path) -> None:
    """By `cast` and by a copy that converts; all sixteen numbers."""
    rng, batch = np.random.default_rng(5), KernelBatch(tmp_path)
    cases = [(f, by_copy) for f in WHOLE + PARTS for by_copy in (False, True)]
    numbers = [batch.add(widen(*case)) for case in cases]
    batch.build()
    for number, (form, _) in zip(numbers, cases, strict=True):
        m, n, top, rows, left, columns = form
        x, old = rng.integers(-128, 128, (m, n // 2)).astype(np.int8), halves(rng, (m, n))
        outcome = batch.run(number, [x, old], checks=launcher().CHECKS_STRICT)
        assert outcome.error is None, outcome.error.text
        place = np.s_[top : top + rows, left : left + columns]
        expected = old.copy()
        expected[place] = unpacked(x)[place]
        np.testing.assert_array_equal(outcome.arrays[1], expected)
        by_interpreter = interpreted(batch.funcs[number], [x, old])[1]
        np.testing.assert_array_equal(by_interpreter, outcome.arrays[1])


def round_trip(rows: int, columns: int, count: int) -> Func:
    """Bytes to float16 and back; the memory of what is not int4 is planned around it."""

    @T.prim_func
    def round_trip(
        X: T.Tensor((rows, columns // 2), "int8"), Z: T.Tensor((rows, columns // 2), "int8")
    ):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            raw = T.alloc_ub((rows, columns // 2), "int8")
            four = T.alloc_ub((rows, columns), "int4")
            wide = T.alloc_ub((rows, columns), "float16")
            again = T.alloc_shared((rows, columns), "int4")
            out = T.alloc_ub((rows, columns // 2), "int8")
            T.reinterpretcast(four, raw, "int4")
            T.reinterpretcast(out, again, "int8")
            T.copy(X, raw)
            T.copy(Z, out)
            T.barrier_all()
            T.tile.cast(wide, four, "CAST_NONE", count)
            T.barrier_all()
            T.tile.cast(again, wide, "CAST_RINT", count)
            T.barrier_all()
            T.copy(out, Z)

    return round_trip


@pytest.mark.parametrize(("rows", "columns", "count"), [(4, 64, 256), (3, 64, 100), (1, 4096, 66)])
def test_round_trip(rows: int, columns: int, count: int, tmp_path: Path) -> None:
    batch, func = KernelBatch(tmp_path), round_trip(rows, columns, count)
    number = batch.add(func)
    batch.build()
    x = np.random.default_rng(6).integers(-128, 128, (rows, columns // 2)).astype(np.int8)
    outcome = batch.run(number, [x, np.zeros_like(x)], checks=launcher().CHECKS_STRICT)
    assert outcome.error is None, outcome.error.text
    expected = np.zeros_like(x)
    expected.reshape(-1)[: count // 2] = x.reshape(-1)[: count // 2]
    np.testing.assert_array_equal(outcome.arrays[1], expected)


def negated() -> Func:
    """No barrier; bytes and four-bit elements are two names of the same memory."""

    @T.prim_func
    def negated(X: T.Tensor((8, 64), "int8"), Z: T.Tensor((8, 64), "int8")):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            raw = T.alloc_ub((2, 64), "int8")
            four = T.alloc_ub((2, 128), "int4")
            wide = T.alloc_ub((2, 128), "float16")
            T.reinterpretcast(four, raw, "int4")
            for i in T.serial(4):
                T.copy(X[2 * i, 0], raw)
                T.tile.cast(wide, four, "CAST_NONE")
                T.tile.mul(wide, wide, -1.0)
                T.tile.cast(four, wide, "CAST_RINT")
                T.copy(raw, Z[2 * i, 0])

    return negated


def test_from_torch_with_automatic_order() -> None:
    x = np.random.default_rng(8).integers(-128, 128, (8, 64)).astype(np.int8)
    automatic = {PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
    with override(check="strict"):
        z = jit(out_idx=[-1], pass_configs=automatic)(negated)()(torch.from_numpy(x))
    np.testing.assert_array_equal(unpacked(z.numpy()), np.minimum(-unpacked(x), 7))


def test_text_and_memory() -> None:
    """The text keeps the type, and a tile takes half a byte per element."""
    func = round_trip(4, 64, 256)
    assert structurally_equal(func, parse(print_func(func)))
    planned = run_pipeline(func, DEFAULT_TARGET).func
    starts = {a.buffer.name: a.address for a in planned.launch.allocs}
    assert starts == {"raw": 0, "four": 0, "wide": 128, "again": 640, "out": 640}


def test_count_at_run_time(tmp_path: Path) -> None:
    """An odd one is no error of the compiler's; the simulator knows the device refuses it."""

    @T.prim_func
    def k(X: T.Tensor((64,), "int8"), Y: T.Tensor((128,), "float16"), n: T.int32):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            raw = T.alloc_ub((64,), "int8")
            four = T.alloc_ub((128,), "int4")
            y = T.alloc_ub((128,), "float16")
            T.reinterpretcast(four, raw, "int4")
            T.copy(X, raw)
            T.copy(Y, y)
            T.barrier_all()
            T.tile.cast(y, four, "CAST_NONE", n)
            T.barrier_all()
            T.copy(y, Y)

    batch = KernelBatch(tmp_path)
    number = batch.add(k)
    batch.build()
    x, y = np.arange(64, dtype=np.int8), np.full(128, 99, np.float16)
    outcome = batch.run(number, [x, y, 70], checks=launcher().CHECKS_STRICT)
    assert outcome.error is None, outcome.error.text
    np.testing.assert_array_equal(outcome.arrays[1][:70], unpacked(x)[:70])
    assert (outcome.arrays[1][70:] == 99).all()
    odd = batch.run(number, [x, y, 71])
    assert odd.error.kind == "bad-argument" and "must be even" in odd.error.text


def dequantized_matmul(m: int, n: int, k: int, group: int) -> Func:
    """W4A16: the vector cores unpack weights group by group, scaled, into a workspace that the cube
    cores multiply with."""

    @T.prim_func
    def w4(
        A: T.Tensor((m, k), "float16"),
        W: T.Tensor((k, n // 2), "int8"),
        S: T.Tensor((k // group, n), "float16"),
        F: T.Tensor((k, n), "float16"),
        C: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, lane):
            raw = T.alloc_ub((group, n // 2), "int8")
            four = T.alloc_ub((group, n), "int4")
            wide = T.alloc_ub((group, n), "float16")
            scale = T.alloc_ub((1, n), "float16")
            a = T.alloc_L1((m, k), "float16")
            w = T.alloc_L1((k, n), "float16")
            c = T.alloc_L0C((m, n), "float32")
            T.reinterpretcast(four, raw, "int4b_t")
            with T.Scope("V"):
                for i in T.serial(k // group // 2):
                    g = lane * (k // group // 2) + i
                    T.copy(W[g * group, 0], raw)
                    T.copy(S[g, 0], scale)
                    T.barrier_all()
                    T.tile.cast(wide, four, "CAST_NONE", group * n)
                    T.pipe_barrier("v")
                    for r in T.serial(group):
                        T.tile.mul(wide[r, :], wide[r, :], scale[0, :])
                    T.barrier_all()
                    T.copy(wide, F[g * group, 0])
                    T.barrier_all()
                T.set_cross_flag("MTE3", 0)
            with T.Scope("C"):
                T.wait_cross_flag(0)
                T.copy(A, a)
                T.copy(F, w)
                T.barrier_all()
                T.gemm_v0(a, w, c, init=True)
                T.barrier_all()
                T.copy(c, C)

    return w4


def test_weights_of_four_bits(tmp_path: Path) -> None:
    m, n, k, group = 16, 128, 64, 16
    rng, batch = np.random.default_rng(7), KernelBatch(tmp_path)
    number = batch.add(dequantized_matmul(m, n, k, group))
    batch.build()
    a = rng.integers(-4, 5, (m, k)).astype(np.float16)
    w = rng.integers(-8, 8, (k, n))
    s = rng.choice([0.25, 0.5, 1.0, 2.0], (k // group, n)).astype(np.float16)
    arrays = [a, packed(w), s, np.zeros((k, n), np.float16), np.zeros((m, n), np.float32)]
    outcome = batch.run(number, arrays, checks=launcher().CHECKS_STRICT)
    assert outcome.error is None, outcome.error.text
    weights = w * np.repeat(s, group, axis=0).astype(np.float64)
    np.testing.assert_array_equal(outcome.arrays[4], a.astype(np.float64) @ weights)


def refused(make: Any) -> KernelError:
    with pytest.raises(KernelError) as caught:
        run_pipeline(make(), DEFAULT_TARGET)
    assert caught.value.loc is not None and caught.value.hint
    return caught.value


def test_a_start_inside_a_block() -> None:
    def start(left: int) -> Func:
        @T.prim_func
        def k(X: T.Tensor((2, 128), "float16")):
            with T.Kernel(1, threads=1, is_npu=True) as (_):
                x = T.alloc_ub((2, 128), "float16")
                q = T.alloc_ub((2, 128), "int4")
                T.copy(X, x)
                T.barrier_all()
                T.tile.cast(q[1, left:left + 32], x[1, 0:32], "CAST_RINT")  # fmt: skip

        return k

    run_pipeline(start(64), DEFAULT_TARGET)
    for left in (1, 16, 32):
        error = refused(lambda left=left: start(left))
        assert error.slug == "operand-alignment"
        assert "multiples of 64 elements" in (error.hint or "")


def test_rows_that_start_inside_a_block() -> None:
    def make() -> Func:
        @T.prim_func
        def k(X: T.Tensor((2, 96), "float16")):
            with T.Kernel(1, threads=1, is_npu=True) as (_):
                x = T.alloc_ub((2, 96), "float16")
                q = T.alloc_ub((2, 96), "int4")
                T.copy(X, x)
                T.barrier_all()
                T.tile.cast(q[:, 0:64], x[:, 0:64], "CAST_RINT")

        return k

    error = refused(make)
    assert error.slug == "operand-alignment" and "48 bytes apart" in error.message


@pytest.mark.whole
@pytest.mark.parametrize(
    ("rows", "columns", "tile"), [(100, 64, (64, 128)), (5, 2, (3, 64)), (7, 192, (8, 192))]
)
def test_a_ragged_tile_is_zero_where_nothing_is_loaded(
    rows: int, columns: int, tile: tuple[int, int], tmp_path: Path
) -> None:
    blocks = -(-rows // tile[0])

    @T.prim_func
    def widen(W: T.Tensor((rows, columns), "int4"), Y: T.Tensor((blocks, *tile), "float16")):
        with T.Kernel(blocks, threads=1) as cid:
            q = T.alloc_ub(tile, "int4")
            h = T.alloc_ub(tile, "float16")
            T.copy(W[cid * tile[0], 0], q)
            T.copy(q, h)
            T.copy(h, Y[cid, :, :])

    batch = KernelBatch(tmp_path)
    number = batch.add(widen, [Automatic.SYNC])
    batch.build()
    numbers = np.random.default_rng(4).integers(-8, 8, (rows, columns))
    y = np.zeros((blocks, *tile), np.float16)
    outcome = batch.run(number, [packed(numbers), y], checks=launcher().CHECKS_STRICT)
    assert outcome.error is None, outcome.error.text
    want = np.zeros((blocks * tile[0], tile[1]))
    want[:rows, :columns] = numbers
    assert np.array_equal(outcome.arrays[1].reshape(want.shape), want)


def test_a_part_that_starts_inside_a_byte_at_run_time(tmp_path: Path) -> None:
    """The compiler refuses what it knows (tests/frontend/errors/packed_elements.py)."""

    @T.prim_func
    def kernel(x: T.Tensor((4, 32), "int4"), y: T.Tensor((4, 32), "int4"), m: T.int32):
        with T.Kernel(1) as (cid, vid):
            t = T.alloc_ub((4, 32), "int4")
            if vid == 0:
                T.copy(x, t)
                T.barrier_all()
                T.copy(t[0, 0], y[1:2, m : m + 4])

    batch = KernelBatch(tmp_path)
    number = batch.add(kernel)
    batch.build()
    given = np.arange(64, dtype=np.int8).reshape(4, 16)
    even = batch.run(number, [given, np.zeros_like(given), 4])
    assert even.error is None
    np.testing.assert_array_equal(even.arrays[1][1, 2:4], given[0, :2])
    odd = batch.run(number, [given, np.zeros_like(given), 5])
    assert odd.error is not None and odd.error.kind == "odd-elements"


def test_a_name_for_an_odd_number_is_refused() -> None:
    with pytest.raises(KernelError, match="odd-elements"):

        @T.prim_func
        def kernel(x: T.Tensor((4, 32), "int4"), y: T.Tensor((4, 32), "int4")):
            with T.Kernel(1) as (cid, vid):
                t = T.alloc_ub((4, 32), "int4")
                T.copy(x, t)
                w = 5
                T.copy(t[0:1, 0:w], y[0:1, 0:w])
