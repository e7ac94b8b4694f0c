"""The kernels that are timed compute what they claim, at small sizes, against NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import timing_kernels
from matmul_tiling import COLUMN_BLOCKS, K_BY_N, N_BY_K, MatmulTiling

F16, F32, I8, I32 = np.float16, np.float32, np.int8, np.int32
SEEDS = (0, 1, 7)  # orders of blocks and cores; 0 is the natural one


def uniform(shape: tuple[int, ...] | int, dtype: Any, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(dtype)


@pytest.mark.parametrize("tile", [4096, 16256])
@pytest.mark.parametrize("kernel", ["one", "by element", "two", "two apart"])
def test_add(kernel: str, tile: int) -> None:
    """Seven rows on three cores, with a last tile that is not full."""
    rows, columns = 7, 8192 + 512
    x, y = uniform((rows, columns), F16, 1), uniform((rows, columns), F16, 2)
    z = np.zeros_like(x)
    if kernel.startswith("two"):
        apart = 2 * tile if kernel == "two apart" else 0
        timing_kernels.run(
            "add_two_buffers", x, y, z, rows, columns, tile, True, min(apart, 32512), blocks=3
        )
    else:
        element = kernel == "by element"
        timing_kernels.run("add_one_buffer", x, y, z, rows, columns, tile, element, blocks=3)
    np.testing.assert_array_equal(z, x + y)


def to_nz(x: Any) -> Any:
    """Row-major to column blocks of 16: [columns / 16][rows][16], the last block filled with 0."""
    rows, columns = x.shape
    padded = np.zeros((rows, -(-columns // 16) * 16), x.dtype)
    padded[:, :columns] = x
    return np.ascontiguousarray(padded.reshape(rows, -1, 16).transpose(1, 0, 2))


def bf16(x: Any) -> Any:
    """The bits of bf16, cut off, and the values they stand for."""
    bits = (x.astype(F32).view(np.uint32) >> 16).astype(np.uint16)
    return bits, from_bf16(bits)


def from_bf16(bits: Any) -> Any:
    return (bits.astype(np.uint32) << 16).view(F32)


# The published kernels load into one buffer over and over, a tile of 128 KB among them, and nothing orders the loads:
# a race on the device, which the checks object to. Nobody looks at what they leave behind but the tests here.
UNCHECKED = 0
READS = [(256, (1, 64), 1, 1), (256, (8, 64), 1, 4), (256, (16, 64), 4, 4), (191, (16, 64), 1, 1)]


@pytest.mark.parametrize(("columns", "tile", "parts", "repeats"), READS)
@pytest.mark.parametrize("memory", ["ub", "l1"])
def test_read(memory: str, columns: int, tile: tuple[int, int], parts: int, repeats: int) -> None:
    """Every core leaves the last tile of its rows behind."""
    tile_m, tile_n = (max(tile[0], 16), tile[1]) if memory == "l1" else tile
    rows, cores = 32, 2
    x = uniform((rows, columns), F16)
    shape = (cores, tile_n // 16, tile_m, 16) if memory == "l1" else (cores, tile_m, tile_n)
    out = np.zeros(shape, F16)
    timing_kernels.run(
        f"read_to_{memory}",
        x,
        out,
        rows,
        columns,
        tile_m,
        tile_n,
        parts,
        repeats,
        True,
        blocks=cores,
        checks=UNCHECKED,
    )
    width = columns % tile_n or tile_n
    for core in range(cores):
        end = (core + 1) * rows // cores
        last = x[end - tile_m : end, columns - width :]
        if memory == "l1":
            np.testing.assert_array_equal(out[core], to_nz(last))
        else:
            np.testing.assert_array_equal(out[core][:, :width], last)


@pytest.mark.parametrize("memory", ["ub", "l1"])
@pytest.mark.parametrize("staggered", [False, True])
def test_read_whole(memory: str, staggered: bool) -> None:
    rows, columns, cores, tile = 96, 128, 3, (16, 64)
    x = uniform((rows, columns), F16)
    out = np.zeros((cores, *tile), F16)
    timing_kernels.run(
        f"read_whole_to_{memory}", x, out, rows, columns, *tile, staggered, True,
        blocks=cores, checks=UNCHECKED,
    )  # fmt: skip
    for core in range(cores):
        end = ((cores - 1 + core) % cores + 1 if staggered else cores) * rows // cores
        last = x[end - 16 : end, 64:]
        expected = to_nz(last).reshape(tile) if memory == "l1" else last
        np.testing.assert_array_equal(out[core], expected)


@pytest.mark.parametrize("pitch", [144, 145])
def test_nd_to_nz(pitch: int) -> None:
    x = uniform((1024, 512), F16)
    z = np.zeros_like(x)
    timing_kernels.run("nd_to_nz_in_ub", x, z, 1024, 512, 3, 2, pitch, blocks=6)
    np.testing.assert_array_equal(z.reshape(32, 1024, 16), to_nz(x))


@pytest.mark.parametrize(
    ("src0", "src1", "dst", "block", "repeat"),
    [
        (0, 0x10100, 0x20000, 1, 8),
        (0, 0x4000, 0x10000, 1, 8),
        (0, 0x10100, 0x4020, 1, 8),
        (0, 0x10100, 0x14100, 0, 1),
    ],
)
def test_repeated_add(src0: int, src1: int, dst: int, block: int, repeat: int) -> None:
    """The two places that overwrite their own input add again and again; these do not."""
    x, y = uniform(4096, F32, 1), uniform(4096, F32, 2)
    z = np.zeros_like(x)
    timing_kernels.run(
        "repeated_add", x, y, z, 3 if dst != 0x4020 else 1, src0, src1, dst, block, repeat, blocks=1
    )
    if block == 0:
        repeats = np.arange(64)[:, None]
        lanes = np.arange(64) % 8
        x = x[repeats * 8 + lanes].ravel()
    if dst == 0x4020:
        z, x, y = z[: 4096 - 8], x[: 4096 - 8], y[: 4096 - 8]
    np.testing.assert_array_equal(z, x + y)


def test_gelu() -> None:
    rows, columns, share_m, share_n = 7, 256, 4, 128
    x = uniform((rows, columns), F32) * 4
    y = np.zeros_like(x)
    timing_kernels.run("gelu", x, y, rows, columns, share_m, share_n, blocks=4)
    np.testing.assert_allclose(y, gelu(x), rtol=1e-5, atol=1e-6)


def gelu(x: Any) -> Any:
    wide = x.astype(np.float64)
    return wide / (1 + np.exp(-1.595769 * (wide + 0.044715 * wide**3)))


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_sum_256(steps: int) -> None:
    x, z = uniform(256, F32), np.zeros(8, F32)
    timing_kernels.run("sum_256", x, z, 2, steps, blocks=1)
    np.testing.assert_allclose(z[0], x.astype(np.float64).sum(), rtol=1e-5)


@pytest.mark.parametrize("halve", [False, True])
@pytest.mark.parametrize("n", [64, 1000, 30000])
def test_sum_long(n: int, halve: bool) -> None:
    x, z = uniform(n, F32) + 1, np.zeros(8, F32)
    timing_kernels.run("sum_long", x, z, n, halve, blocks=1)
    np.testing.assert_allclose(z[0], x.astype(np.float64).sum(), rtol=1e-5)


@pytest.mark.parametrize(("height", "width"), [(5, 64), (8, 48)])
def test_conv2d(height: int, width: int) -> None:
    """Tiles of whole rows and of parts of rows, the last not full; two images, two shares of n."""
    batch, blocks, n = 2, 2, 512
    x = uniform((batch, blocks * 16, height, width), F16, 1)
    weights = uniform((n, blocks * 16, 3, 3), F16, 2)
    stored_x = x.reshape(batch, blocks, 16, height, width).transpose(0, 1, 3, 4, 2).copy()
    stored = weights.reshape(n // 16, 16, blocks, 16, 9).transpose(2, 4, 0, 1, 3).copy()
    y = np.full((batch, n // 16, height * width, 16), np.nan, F16)
    timing_kernels.run("conv2d_f16", stored_x, stored, y, blocks, height, width, n, 256, blocks=4)
    around = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))).astype(F32)
    expected = sum(
        np.einsum("bchw,nc->bnhw", around[:, :, i : i + height, j : j + width], weights[:, :, i, j].astype(F32))
        for i in range(3)
        for j in range(3)
    )  # fmt: skip
    got = y.transpose(0, 1, 3, 2).reshape(batch, n, height, width)
    np.testing.assert_allclose(got, expected, rtol=2e-3, atol=1e-2)


def test_hc_post() -> None:
    """Five tokens on three cores, each in two pieces."""
    tokens, streams, d = 5, 4, 4096
    shapes = ((tokens, d), (tokens, streams, d), (tokens, streams), (tokens, streams, streams))
    given = [bf16(uniform(shape, F32, i)) for i, shape in enumerate(shapes)]
    y = np.zeros((tokens, streams, d), np.uint16)
    timing_kernels.run("hc_post_bf16", *(bits for bits, _ in given), y, tokens, d, blocks=3)
    x, residual, post, comb = (values for _, values in given)
    expected = post[:, :, None] * x[:, None] + np.einsum("tij,tid->tjd", comb, residual)
    np.testing.assert_allclose(from_bf16(y), expected, rtol=1e-2, atol=1e-2)


def normalised(comb: Any, rounds: int = 20) -> Any:
    comb = np.exp(comb - comb.max(axis=2, keepdims=True))
    comb = comb / comb.sum(axis=2, keepdims=True) + 1e-6
    comb = comb / (comb.sum(axis=1, keepdims=True) + 1e-6)
    for _ in range(1, rounds):
        comb = comb / (comb.sum(axis=2, keepdims=True) + 1e-6)
        comb = comb / (comb.sum(axis=1, keepdims=True) + 1e-6)
    return comb


@pytest.mark.parametrize("seed", SEEDS)
def test_hc_pre(seed: int) -> None:
    """A depth in three parts, the last not full, on four cores; more tokens than AIVs."""
    tokens, streams, d, depth = 32, 4, 512, 768
    x, values = bf16(uniform((tokens, streams, d), F32, 1))
    fn, base = uniform((24, streams * d), F32, 2) / 8, uniform(24, F32, 3)
    scale = np.array([0.5, 0.75, 1.0], F32)
    y, post = np.zeros((tokens, d), np.uint16), np.zeros((tokens, streams), F32)
    comb = np.zeros((tokens, streams, streams), F32)
    wide, products = np.zeros((3, 2, tokens, 1024), F32), np.zeros((3, tokens, 128), F32)
    squares = np.zeros((3, tokens, 16), F32)
    timing_kernels.run(
        "hc_pre_bf16", x, fn, scale, base, y, post, comb, wide, products, squares, tokens, d, depth, 3, blocks=4, seed=seed,
    )  # fmt: skip
    flat = values.reshape(tokens, -1).astype(np.float64)
    mix = (flat @ fn.T.astype(np.float64)) / np.sqrt((flat**2).mean(axis=1, keepdims=True) + 1e-6)
    mix = mix * np.repeat(scale, (4, 4, 16)) + base
    half = 1 / (1 + np.exp(-mix[:, :8]))
    tolerance = {"rtol": 5e-3, "atol": 5e-3}
    np.testing.assert_allclose(post, 2 * half[:, 4:], **tolerance)
    np.testing.assert_allclose(comb, normalised(mix[:, 8:].reshape(-1, 4, 4)), **tolerance)
    expected = ((half[:, :4] + 1e-6)[:, :, None] * values).sum(axis=1)
    np.testing.assert_allclose(from_bf16(y), expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(("kernel", "dtype"), [("topk_f32", F32), ("topk_f16", F16)])
def test_topk(kernel: str, dtype: Any) -> None:
    """Eight rows on two cores, four each in two sets of buffers. No two values of a row are equal."""
    rows, pitch, k = 8, 1280, 496
    values = np.stack([np.random.default_rng(i).permutation(1024) for i in range(rows)])
    src = np.zeros((rows, pitch), dtype)
    src[:, :1024] = values
    best, labels = np.zeros((rows, k), dtype), np.zeros((rows, k), np.uint32)
    index = np.arange(1024, dtype=np.uint32)
    timing_kernels.run(kernel, src, index, best, labels, rows, pitch, k, blocks=2)
    expected = np.argsort(-values, axis=1)[:, :k]
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_array_equal(best, np.take_along_axis(src, expected, axis=1))


@pytest.mark.parametrize("scalar", [False, True])
def test_one_is_added(scalar: bool) -> None:
    x, z = uniform((12, 16), F32, 1), np.zeros((12, 16), F32)
    timing_kernels.run("add_one_by_elements", x, z, 12, 16, scalar, blocks=1)
    np.testing.assert_array_equal(z[:, 0], x[:, 0] + 1)
    y, w = uniform((8, 128), F16, 2), np.zeros((8, 128), F16)
    timing_kernels.run("add_one_by_blocks", y, w, y.size, blocks=8)
    np.testing.assert_array_equal(w, y + F16(1))


def test_mmad_chain() -> None:
    a, b = uniform((128, 64), F16, 1), uniform((256, 64), F16, 2)
    c = np.zeros((128, 256), F32)
    timing_kernels.run("mmad_chain", a, b, c, 128, 256, 8, blocks=1)
    np.testing.assert_allclose(c, 8 * (a.astype(F32) @ b.T.astype(F32)), rtol=1e-4, atol=1e-4)


def stored_b(b: Any, layout: int) -> Any:
    """B as the kernel reads it, from [k][n]."""
    if layout == N_BY_K:
        return np.ascontiguousarray(b.T)
    return to_nz(b) if layout == COLUMN_BLOCKS else b


SMALL = MatmulTiling(
    m=160, n=176, k=352, base_m=64, base_n=96, base_k=32, panel_m=64, panel_n=128, panels_m=2
)
TILINGS = {
    "panels": SMALL,
    "n inside": replace(SMALL, m_inner=False, prefetch=False, step_ka=2),
    "unit flags": replace(SMALL, unit_flag=True, step_ka=8, step_kb=4),
    "one buffer": replace(SMALL, l1_buffers=1, step_ka=1, step_kb=1, prefetch=False),
    "dealt along m": replace(SMALL, swizzle=2, swizzle_direction=0),
    "dealt along n": replace(SMALL, swizzle=1, swizzle_direction=1, base_m=32),
}


@pytest.mark.parametrize("out", [F16, F32])
@pytest.mark.parametrize("layout", [N_BY_K, K_BY_N, COLUMN_BLOCKS])
@pytest.mark.parametrize("name", TILINGS)
def test_matmul(name: str, layout: int, out: Any) -> None:
    tiling = replace(TILINGS[name], layout_b=layout)
    a, b = uniform((tiling.m, tiling.k), F16, 1), uniform((tiling.k, tiling.n), F16, 2)
    c = np.full((tiling.m, tiling.n), np.nan, out)
    kernel = "matmul_f16_f16" if out is F16 else "matmul_f16_f32"
    timing_kernels.run(kernel, a, stored_b(b, layout), c, tiling.array(), blocks=4)
    np.testing.assert_allclose(c, a.astype(F32) @ b.astype(F32), rtol=2e-3, atol=5e-3)


@pytest.mark.parametrize("seed", SEEDS)
def test_matmul_after_nz(seed: int) -> None:
    """An odd n, the last tile of B not full."""
    t = MatmulTiling(
        96, 353, 128, 64, 96, 32, 2, 2, COLUMN_BLOCKS, panel_m=64, panel_n=192, panels_m=2
    )
    a, b = uniform((t.m, t.k), F16, 1), uniform((t.k, t.n), F16, 2)
    nz, c = np.zeros((368 // 16, t.k, 16), F16), np.full((t.m, t.n), np.nan, F16)
    timing_kernels.run("matmul_after_nz_f16", a, b, nz, c, t.array(), blocks=4, seed=seed)
    np.testing.assert_array_equal(nz, to_nz(b))
    np.testing.assert_allclose(c, a.astype(F32) @ b.astype(F32), rtol=2e-3, atol=5e-3)


def test_matmul_of_one_row() -> None:
    tiling = MatmulTiling(1, 96, 200, 32, 32, 64, 2, 2, swizzle=3)
    a, b = uniform((1, 200), F32, 1), uniform((200, 96), F32, 2)
    c = np.full((1, 96), np.nan, F32)
    timing_kernels.run("matmul_f32_f32", a, stored_b(b, N_BY_K), c, tiling.array(), blocks=2)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


def test_matmul_gelu() -> None:
    """More tiles a core than may be outstanding."""
    tiling = MatmulTiling(512, 96, 64, 16, 32, 32, 2, 2, panel_m=256, panel_n=96, panels_m=2)
    a, b = uniform((512, 64), F16, 1), uniform((64, 96), F16, 2)
    c = np.full((512, 96), np.nan, F32)
    timing_kernels.run("matmul_gelu_f32", a, stored_b(b, N_BY_K), c, tiling.array(), blocks=2)
    np.testing.assert_allclose(c, gelu(a.astype(F32) @ b.astype(F32)), rtol=1e-4, atol=1e-4)


QUANT = MatmulTiling(256, 768, 1024, 128, 256, 128, 2, 2, swizzle=3)
QUANT_TILINGS = {
    "B [n][k]": replace(QUANT, k=320),
    "B [k][n]": replace(QUANT, k=320, layout_b=K_BY_N),
    "rotated": replace(QUANT, rotate_k=True),
    "A kept": replace(QUANT, rotate_k=True, layout_b=K_BY_N, keep_a=True, swizzle=1, in_runs=True),
}


def int8(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(-16, 16, shape).astype(I8)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", QUANT_TILINGS)
def test_quant_matmul(name: str, seed: int) -> None:
    """Three tiles for one core: more than the stages of its workspace."""
    t = QUANT_TILINGS[name]
    a, b = int8(t.m, t.k), int8(t.k, t.n, seed=1)
    scale, token = uniform(768, F16, 1) / 64, uniform(256, F16, 2)
    d = np.full((256, 768), np.nan, F16)
    workspace = np.zeros((2, 2, 128, 256), I32)
    timing_kernels.run(
        "quant_matmul_i8", a, stored_b(b, t.layout_b), scale, token, d, workspace, t.array(), blocks=2, seed=seed,
    )  # fmt: skip
    exact = (a.astype(I32) @ b.astype(I32)) * scale.astype(F32) * token.astype(F32)[:, None]
    np.testing.assert_allclose(d, exact, rtol=2e-3, atol=1e-2)


@pytest.mark.parametrize("seed", SEEDS)
def test_quant_split_k_matmul(seed: int) -> None:
    """Slices of one and of two chunks; two tiles, and as many AIVs that have none."""
    m, n, k, slices = 256, 256, 1280, 3
    tiling = MatmulTiling(m, n, k, 128, 256, 128, 2, 2, unit_flag=True)
    a, b = int8(m, k), int8(k, n, seed=1)
    scale, token = uniform(n, F16, 1) / 64, uniform(m, F16, 2)
    d, reduced = np.full((m, n), np.nan, F16), np.zeros((m, n), I32)
    partial = np.zeros((slices, m, n), I32)
    timing_kernels.run(
        "quant_split_k_matmul_i8", a, stored_b(b, N_BY_K), scale, token, d, partial, reduced, tiling.array(), slices,
        blocks=4, seed=seed,
    )  # fmt: skip
    product = a.astype(I32) @ b.astype(I32)
    np.testing.assert_array_equal(reduced, product)
    exact = product * scale.astype(F32) * token.astype(F32)[:, None]
    np.testing.assert_allclose(d, exact, rtol=2e-3, atol=1e-2)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("aivs", "slots", "doubled"), [("one_aiv", 2, False), ("two_aivs", 4, True)]
)
def test_quant_group_matmul(aivs: str, slots: int, doubled: bool, seed: int) -> None:
    """Shares of two groups over three cores."""
    groups, m, n, k = 2, 256, 1024, 256
    tiling = MatmulTiling(
        m, n, k, base_k=128, step_kb=1, layout_b=COLUMN_BLOCKS, unit_flag=True, keep_a=True
    )
    x, weight = int8(groups * m, k), int8(groups, k, n, seed=1)
    stored = weight.reshape(groups, k, n // 32, 32).transpose(0, 2, 1, 3).copy()
    scale, token = uniform((groups, n), F32, 1) / 256, uniform(groups * m, F32, 2)
    y = np.full((groups * m, n), np.nan, F16)
    workspace = np.zeros((slots, 3, 128, 256), I32)
    timing_kernels.run(
        f"quant_group_matmul_{aivs}", x, stored, scale, token, y, workspace, tiling.array(), groups, slots, doubled, False,
        blocks=3, seed=seed,
    )  # fmt: skip
    product = x.reshape(groups, m, k).astype(I32) @ weight.astype(I32)
    value = product * scale[:, None] * token.reshape(groups, m, 1)
    expected = (value / (1 + np.exp(-1.702 * value.astype(np.float64)))).reshape(groups * m, n)
    np.testing.assert_allclose(y, expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("n", "k"), [(256, 528), (384, 1600), (2816, 1040)])
def test_split_k_matmul(n: int, k: int, seed: int) -> None:
    """Runs of tiles within a row and across rows and bands, and a last slice that is not full."""
    m, blocks = 512, 2
    a, b = uniform((m, k), F16, 1), uniform((n, k), F16, 2)
    c = np.full((m, n), np.nan, F16)
    nz_a, nz_b, sums = np.zeros_like(a), np.zeros_like(b), np.full((m, n), np.nan, F32)
    timing_kernels.run(
        "split_k_matmul", a, b, c, nz_a, nz_b, sums, m, n, k, blocks=blocks, seed=seed
    )
    np.testing.assert_array_equal(nz_a.reshape(k // 16, m, 16), to_nz(a))
    np.testing.assert_allclose(c, a.astype(F32) @ b.astype(F32).T, rtol=2e-3, atol=2e-2)


def attention(q: Any, k: Any, v: Any) -> Any:
    score = q.astype(np.float64) @ k.astype(np.float64).T / np.sqrt(128)
    weight = np.exp(score - score.max(axis=1, keepdims=True))
    return weight / weight.sum(axis=1, keepdims=True) @ v.astype(np.float64)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("keys", [256, 1024, 3072])
def test_flash_attention(keys: int, seed: int) -> None:
    """Fewer tiles than are preloaded, and more than the FIFOs hold."""
    blocks = 2
    q, k, v = (uniform((n, 128), F16, i) * 2 for i, n in enumerate((128 * blocks, keys, keys)))
    o = np.full((128 * blocks, 128), np.nan, F32)
    workspace = np.zeros(blocks * 8 * (128 * 256 * 6 + 128 * 128 * 4), np.uint8)
    timing_kernels.run("flash_attention_128", q, k, v, o, workspace, keys, blocks=blocks, seed=seed)
    np.testing.assert_allclose(o, attention(q, k, v), rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("keys", [1024, 3072])
def test_attention_score(keys: int, seed: int) -> None:
    blocks = 2
    q, k, v = (uniform((n, 128), F16, i) * 2 for i, n in enumerate((256 * blocks, keys, keys)))
    o = np.full((256 * blocks, 128), np.nan, F16)
    workspace = np.zeros(blocks * (2 * (256 * 1024 * 6 + 256 * 512) + 256 * 512), np.uint8)
    timing_kernels.run("attention_score_128", q, k, v, o, workspace, keys, blocks=blocks, seed=seed)
    np.testing.assert_allclose(o, attention(q, k, v), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("keys", [128, 2176])
def test_attention_in_batches(keys: int, seed: int) -> None:
    """One tile, and a batch and a part of one; two tasks of each block."""
    blocks, tasks = 2, 2
    rows = 128 * blocks * tasks
    q, k, v = (uniform((n, 128), F16, i) * 2 for i, n in enumerate((rows, keys, keys)))
    o = np.full((rows, 128), np.nan, F16)
    workspace = np.zeros((blocks * 3 * 14, 128, 128), F16)
    timing_kernels.run(
        "attention_in_batches_128", q, k, v, o, workspace, keys, tasks, blocks=blocks, seed=seed
    )
    np.testing.assert_allclose(o, attention(q, k, v), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("name", "heads", "positions"), [("gathered", 16, 256), ("by_rows", 64, 64)]
)
def test_sparse_attention(name: str, heads: int, positions: int, seed: int) -> None:
    """Two blocks; some of the chosen positions lie behind the sequence, pages are not in order."""
    length, blocks = 2500, 2
    q, q_values = bf16(uniform((heads * blocks, 576), F32, 1))
    kv, kv_values = bf16(uniform((2560, 576), F32, 2) / 2)
    chosen = np.random.default_rng(3).permutation(2560)[:2048].astype(I32)
    pages = np.random.default_rng(4).permutation(20).astype(I32)
    o = np.zeros((heads * blocks, 512), np.uint16)
    of_block = positions * 576 * 2 + heads * positions * 6 + heads * 512 * 4
    workspace = np.zeros(blocks * of_block, np.uint8)
    timing_kernels.run(
        f"sparse_attention_{name}", q, kv, chosen, o, pages, workspace, length, blocks, blocks=blocks + 1, seed=seed,
    )  # fmt: skip
    seen = chosen[chosen < length]
    keys = kv_values[pages[seen // 128] * 128 + seen % 128]
    score = 0.5 * q_values.astype(np.float64) @ keys.T
    weight = np.exp(score - score.max(axis=1, keepdims=True))
    expected = weight / weight.sum(axis=1, keepdims=True) @ keys[:, :512]
    np.testing.assert_allclose(from_bf16(o), expected, rtol=2e-2, atol=2e-2)


class Chunks:
    """Inputs of the kernels of gated linear attention, for three chunks."""

    blocks = 3
    positions = (3, 128)
    q, k, v, s, a = (uniform((3, 128, 128), F16, i) / 4 for i in range(5))
    beta = uniform(positions, F16, 5) ** 2 + F16(0.1)
    g = -np.cumsum(uniform(positions, F32, 6) ** 2, axis=1) / 8
    decay = np.exp(g[:, :, None] - g[:, None])
    lower = np.tril(np.ones((128, 128), F32))
    strict = np.tril(np.ones((128, 128), F32), -1)

    @staticmethod
    def empty() -> Any:
        return np.full((3, 128, 128), np.nan, F16)


@pytest.mark.parametrize("seed", SEEDS)
def test_chunk_products_of_keys(seed: int) -> None:
    c, a = Chunks, Chunks.empty()
    timing_kernels.run(
        "chunk_products_of_keys", c.k, c.beta, c.g, c.strict, c.empty(), a, blocks=3, seed=seed
    )
    k = c.k.astype(F32)
    expected = c.beta[:, :, None] * c.decay * (k @ k.transpose(0, 2, 1)) * c.strict
    np.testing.assert_allclose(a, expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("seed", SEEDS)
def test_chunk_transform(seed: int) -> None:
    c, w, u = Chunks, Chunks.empty(), Chunks.empty()
    timing_kernels.run(
        "chunk_transform", c.k, c.v, c.beta, c.g, c.a, c.empty(), c.empty(), w, u, blocks=3, seed=seed,
    )  # fmt: skip
    a, beta = c.a.astype(F32), c.beta.astype(F32)[:, None]
    np.testing.assert_allclose(u, (a * beta) @ c.v.astype(F32), rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(
        w, (a * beta * np.exp(c.g)[:, None]) @ c.k.astype(F32), rtol=2e-3, atol=2e-3
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_chunk_output(seed: int) -> None:
    c, o = Chunks, Chunks.empty()
    between = [c.empty() for _ in range(3)]
    timing_kernels.run(
        "chunk_output", c.q, c.k, c.v, c.s, c.g, c.lower, *between, o, blocks=3, seed=seed
    )
    q, k, v, s = (x.astype(F32) for x in (c.q, c.k, c.v, c.s))
    inside = (q @ k.transpose(0, 2, 1) * c.decay * c.lower) @ v
    expected = np.exp(c.g)[:, :, None] * (q @ s) + inside
    np.testing.assert_allclose(o, expected, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("seed", SEEDS)
def test_chunk_inverse(seed: int) -> None:
    """As published it loads the unit matrix a second time while the first may still be read."""
    o = Chunks.empty()
    a = (Chunks.a * Chunks.strict / 4).astype(F16)
    unit = np.eye(128, dtype=F32)
    timing_kernels.run("chunk_inverse_128", a, unit, o, blocks=3, seed=seed, checks=UNCHECKED)
    np.testing.assert_allclose(o, np.linalg.inv(unit + a.astype(F32)), rtol=5e-3, atol=5e-3)


def test_empty() -> None:
    nothing = np.zeros(1, np.uint8)
    timing_kernels.run("empty_aiv", nothing, blocks=48)
    timing_kernels.run("empty_mix", nothing, blocks=24)
