"""Functions of elements that are formulas: against NumPy in double precision, over the whole range
and at its edges, on the scalar unit where it can and in `T.Parallel`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_cases import running

import tile_frontend as T
from tile_ir import Automatic, Func, KernelError
from tile_runtime.launcher.native import launcher

from .kernel_batch import KernelBatch

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
COUNT = 256
INF, NAN = np.inf, np.nan
EDGES = [0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 0.5, -0.5, 1e-30, -1e-30, 1e30, -1e30, 2.0]


@dataclass(frozen=True)
class Case:
    """A function, what NumPy has for it, the interval of its arguments and the relative error."""

    function: Callable[..., Any]
    numpy: Callable[..., Any]
    low: float
    high: float
    error: float
    edges: bool = True
    signed_zero: bool = True


CASES: dict[str, Case] = {
    "exp10": Case(lambda x, y: T.exp10(x), lambda x, y: 10.0**x, -37, 38, 1e-6),
    "log1p": Case(lambda x, y: T.log1p(x), lambda x, y: np.log1p(x), -0.99, 4, 5e-7),
    "log1p far": Case(lambda x, y: T.log1p(x), lambda x, y: np.log1p(x), 1e-7, 1e9, 5e-7),
    "tan": Case(lambda x, y: T.tan(x), lambda x, y: np.tan(x), -1.4, 1.4, 2e-6, False),
    "sinh": Case(lambda x, y: T.sinh(x), lambda x, y: np.sinh(x), -89, 89, 1e-6),
    "cosh": Case(lambda x, y: T.cosh(x), lambda x, y: np.cosh(x), -89, 89, 1e-6),
    "asin": Case(lambda x, y: T.asin(x), lambda x, y: np.arcsin(x), -1, 1, 5e-7),
    "acos": Case(lambda x, y: T.acos(x), lambda x, y: np.arccos(x), -1, 0.99, 5e-7),
    "atan": Case(lambda x, y: T.atan(x), lambda x, y: np.arctan(x), -9, 9, 5e-7),
    "atan2": Case(lambda x, y: T.atan2(y, x), lambda x, y: np.arctan2(y, x), -9, 9, 1e-6),
    "asinh": Case(lambda x, y: T.asinh(x), lambda x, y: np.arcsinh(x), -3e4, 3e4, 1e-6),
    "acosh": Case(lambda x, y: T.acosh(x), lambda x, y: np.arccosh(x), 1, 3e4, 1e-6),
    "atanh": Case(lambda x, y: T.atanh(x), lambda x, y: np.arctanh(x), -0.99, 0.99, 1e-6),
    "hypot": Case(lambda x, y: T.hypot(x, y), lambda x, y: np.hypot(x, y), -9, 9, 5e-7),
    "fmod": Case(lambda x, y: T.fmod(x, y), lambda x, y: np.fmod(x, y), -9e4, 9e4, 0, False),
    "copysign": Case(lambda x, y: T.copysign(x, y), lambda x, y: np.copysign(x, y), -9, 9, 0),
    "ldexp": Case(
        lambda x, y: T.ldexp(x, T.cast(y * 4, "int32")),
        lambda x, y: x * 2.0 ** np.trunc(y * 4), -9, 9, 0, False,
    ),
    "round away": Case(
        lambda x, y: T.round(x, rounding_mode="ties-away-from-zero"),
        lambda x, y: np.copysign(np.floor(np.abs(x) + 0.5), x), -9, 9, 0,
    ),
    "nearbyint": Case(lambda x, y: T.nearbyint(x), lambda x, y: np.rint(x), -9, 9, 0, True, False),
    "fast_rcp": Case(lambda x, y: T.fast_rcp(x), lambda x, y: 1.0 / x, 0.1, 9, 1e-7),
}  # fmt: skip


def kernel(function: Callable[..., Any], dtype: str, loop: Any) -> Func:
    @T.prim_func
    def k(X: T.Tensor((COUNT,), dtype), Y: T.Tensor((COUNT,), dtype), Z: T.Tensor((COUNT,), dtype)):
        with T.Kernel(1, threads=1):
            x = T.alloc_ub((COUNT,), dtype)
            y = T.alloc_ub((COUNT,), dtype)
            z = T.alloc_ub((COUNT,), dtype)
            T.copy(X, x)
            T.copy(Y, y)
            for i in loop(COUNT):
                z[i] = function(x[i], y[i])
            T.copy(z, Z)

    return k


def data(case: Case) -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    x = rng.uniform(case.low, case.high, COUNT).astype(np.float32)
    x[:32] = np.linspace(case.low, case.high, 32, dtype=np.float32)
    if case.low == -case.high:  # of all sizes
        x[32:] *= 10 ** rng.uniform(-5, 0, COUNT - 32)
    y = rng.uniform(0.5, 4, COUNT).astype(np.float32) * rng.choice([-1, 1], COUNT)
    if case.edges:
        pairs = [(a, b) for a in EDGES[:7] for b in EDGES[:7]] + [(a, 1.0) for a in EDGES]
        x[-len(pairs) :] = [a for a, _ in pairs]
        y[-len(pairs) :] = [b for _, b in pairs]
    return x, y.astype(np.float32)


@pytest.fixture(scope="module")
def batch(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[KernelBatch, dict[str, int]]:
    kernels = KernelBatch(tmp_path_factory.mktemp("mathematics"))
    places = {
        name: kernels.add(kernel(CASES[name].function, "float32", T.Parallel), [Automatic.SYNC])
        for name in sorted(running(request, "name"))
    }
    kernels.build()
    return kernels, places


@pytest.mark.parametrize("name", CASES)
def test_float32(batch: tuple[KernelBatch, dict[str, int]], name: str) -> None:
    kernels, places = batch
    case = CASES[name]
    x, y = data(case)
    outcome = kernels.run(places[name], [x, y, np.zeros_like(x)], checks=launcher().CHECKS_STRICT)
    assert outcome.error is None, outcome.error.text
    found = outcome.arrays[2]
    with np.errstate(all="ignore"):
        exact = case.numpy(x.astype(np.float64), y.astype(np.float64))
        want = exact.astype(np.float32)
    assert not [r.message for r in kernels.funcs[places[name]].remarks if r.slug == "scalar-loop"]
    special = ~np.isfinite(want) | (np.abs(want) < 1e-37)
    assert np.array_equal(found[~np.isfinite(want)], want[~np.isfinite(want)], equal_nan=True)
    near = (np.abs(found - want) <= case.error * np.abs(want)) | special
    assert near.all(), [(x[i], y[i], found[i], want[i]) for i in np.flatnonzero(~near)[:5]]
    zero = (want == 0) & case.signed_zero
    assert np.array_equal(np.signbit(found[zero]), np.signbit(want[zero]))


INTEGERS: dict[str, tuple[Callable[..., Any], Callable[[int, int], int]]] = {
    "popcount": (lambda x, y: T.popcount(x), lambda x, width: bin(x % 2**width).count("1")),
    "clz": (lambda x, y: T.clz(x), lambda x, width: width - (x % 2**width).bit_length()),
}


@pytest.mark.parametrize("loop", [T.serial, T.Parallel], ids=["serial", "parallel"])
def test_bits(loop: Any, tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    asked = [(name, dtype) for name in INTEGERS for dtype in ("int32", "int16", "int8")]
    places = [batch.add(kernel(INTEGERS[n][0], d, loop), [Automatic.SYNC]) for n, d in asked]
    batch.build()
    for (name, dtype), place in zip(asked, places, strict=True):
        info = np.iinfo(dtype)
        rng = np.random.default_rng(3)
        x = rng.integers(info.min, info.max, COUNT, dtype=dtype, endpoint=True)
        x[:6] = [0, -1, 1, info.min, info.max, 12]
        outcome = batch.run(place, [x, x, np.zeros_like(x)], checks=launcher().CHECKS_STRICT)
        assert outcome.error is None, outcome.error.text
        want = [INTEGERS[name][1](int(v), info.bits) for v in x]
        assert outcome.arrays[2].tolist() == want, (name, dtype)


def test_numbers() -> None:
    assert [T.hypot(3, 4), T.fmod(-7, 2), T.copysign(2.0, -0.0)] == [5.0, -1.0, -2.0]
    assert [T.ldexp(3.0, 4), T.exp10(2), T.atan2(0.0, 1.0)] == [48.0, 100.0, 0.0]
    with pytest.raises(KernelError, match="asin"):
        T.asin(2.0)
    with pytest.raises(KernelError, match="rounding_mode"):
        T.round(1.0, rounding_mode="up")
