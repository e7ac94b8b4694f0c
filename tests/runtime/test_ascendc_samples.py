"""The sample kernels of examples/ascendc: right results under several seeds, and CANN's headers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import vendor_headers

from tile_ir.switches import override
from tile_runtime import simulate

EXAMPLES = Path(__file__).parents[2] / "examples" / "ascendc"


@pytest.fixture(scope="module")
def module_cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("sources"))


@pytest.fixture(autouse=True)
def compiled_once(fresh_switches: None, module_cache: str) -> Iterator[None]:
    """Kernels of this module are compiled once, and not once a test."""
    with override(cache_dir=module_cache):
        yield


def random_matrix(seed: int, *shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float16)


@pytest.mark.parametrize("check", ["off", "device"])
@pytest.mark.parametrize("elements", [1, 999, 40000])
def test_vector_add(elements: int, check: str) -> None:
    x, y = random_matrix(1, elements), random_matrix(2, elements)
    z = np.full(elements, np.nan, np.float16)
    tiling = np.array((elements, 1000), [("elements", "<u4"), ("tile", "<u4")])
    for seed in range(4):
        result = simulate(
            EXAMPLES / "vector_add.cpp", "add", 8, [x, y, z, tiling], seed=seed, check=check
        )
        result.raise_for_error()
        assert (z == x + y).all()


@pytest.mark.parametrize("seed", range(3))
def test_scale_add_and_maximum(seed: int) -> None:
    source = EXAMPLES / "vector_add.cpp"
    x, y = (random_matrix(i, 9999).astype(np.float32) for i in (1, 2))
    z = np.full(9999, np.nan, np.float32)
    result = simulate(
        source, None, 3, [x, y, z, 9999], template="scale_add<float, 1024>", seed=seed
    )
    result.raise_for_error()
    assert np.array_equal(z, 2 * x + y)
    largest = torch.zeros(8)
    simulate(source, "maximum", 1, [x, largest], seed=seed).raise_for_error()
    assert (largest == x[:64].max()).all()


@pytest.mark.parametrize("seed", range(3))
def test_matmul_and_mix(seed: int) -> None:
    a, b = random_matrix(1, 256, 128), random_matrix(2, 128, 384)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    shape = np.array([256, 384, 128], np.uint32).tobytes()
    c = np.full((256, 384), np.nan, np.float32)
    simulate(EXAMPLES / "matmul.cpp", None, 4, [a, b, c, shape], seed=seed).raise_for_error()
    assert np.allclose(c, expected, atol=1e-4)
    d = np.full((256, 384), np.nan, np.float16)
    arguments = {
        "a": a,
        "b": b,
        "d": d,
        "workspace": np.zeros((5, 64, 64), np.float32),
        "shape": shape,
    }
    simulate(EXAMPLES / "matmul_relu.cpp", None, 5, arguments, seed=seed).raise_for_error()
    assert np.allclose(d, np.maximum(expected, 0), atol=1e-2)


@pytest.mark.parametrize("elements", [1, 999, 40000])
def test_queue_add(elements: int) -> None:
    x, y = random_matrix(1, elements), random_matrix(2, elements)
    z = np.full(elements, np.nan, np.float16)
    tiling = np.array([elements, 1000], np.uint32)
    for seed in range(3):
        simulate(
            EXAMPLES / "queue_add.cpp", None, 8, [x, y, z, tiling], seed=seed, check="strict"
        ).raise_for_error()
        assert (z == x + y).all()


@pytest.mark.parametrize(("rows", "columns"), [(20, 999), (3, 1), (2, 64), (4, 8000), (1, 12000)])
def test_queue_softmax(rows: int, columns: int) -> None:
    x = np.random.default_rng(rows).uniform(-3, 3, (rows, columns)).astype(np.float32)
    z = np.full_like(x, np.nan)
    simulate(
        EXAMPLES / "queue_softmax.cpp", None, 8, [x, z, rows, columns], check="strict"
    ).raise_for_error()
    expected = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    expected /= expected.sum(1, keepdims=True)
    assert np.allclose(z, expected, rtol=1e-5, atol=0)


@pytest.mark.vendor
@pytest.mark.parametrize(
    "name", ["vector_add", "matmul", "matmul_relu", "queue_add", "queue_softmax"]
)
def test_samples_type_check_with_cann(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.cpp"
    text = (EXAMPLES / f"{name}.cpp").read_text()
    if name == "vector_add":  # a template is checked when it is made concrete
        text += (
            "template void scale_add<float, 1024>(GM_ADDR, GM_ADDR, GM_ADDR, uint32_t, float);\n"
        )
        text += "template void scale_add<half, 64>(GM_ADDR, GM_ADDR, GM_ADDR, uint32_t, float);\n"
    path.write_text(text)
    vendor_headers.type_check(path, [EXAMPLES])
