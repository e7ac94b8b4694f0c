"""`T.recommend_configs`: what it proposes compiles and is in the order of the time model, and none
takes less than it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kept_cases import kept_number

import tile_frontend as T
from tile_ir import KernelError
from tile_ir.switches import override
from tile_runtime.jit_kernels.tensor_supply import TensorSupplyType, supply_tensors
from tile_runtime.scripts.module import load_script
from tile_runtime.tuning.autotuner import autotune
from tile_runtime.tuning.results import ResultStore

pytestmark = pytest.mark.usefixtures("quick_kernels")

DEVELOPER = Path(__file__).parents[2] / "examples" / "developer"
# Times that differ by less are the same.
SAME = 0.01
# So many of all proposals are run, from the first to the last; fewer without `--all`.
PART = max(4, kept_number(9))


@T.jit(
    out_idx=[-1],
    pass_configs={
        T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
        T.PassConfigKey.TL_ASCEND_PERSISTENT: True,
    },
)
def add(M: int, N: int, block_M: int, block_N: int, dtype: str = "float16") -> T.PrimFunc:
    across = T.cdiv(N, block_N)

    @T.prim_func
    def kernel(
        A: T.Tensor((M, N), dtype), B: T.Tensor((M, N), dtype), C: T.Tensor((M, N), dtype)
    ) -> None:
        with T.Kernel(T.cdiv(M, block_M) * across, threads=2, is_npu=True) as cid:
            row, column = cid // across * block_M, cid % across * block_N
            a = T.alloc_shared((block_M, block_N), dtype)
            b = T.alloc_shared((block_M, block_N), dtype)
            T.copy(A[row, column], a)
            T.copy(B[row, column], b)
            T.tile.add(a, a, b)
            T.copy(a, C[row, column])

    return kernel


def as_written(factory: Any, *sizes: Any, **tiles: int) -> Any:
    """The kernel with the tiles of its text, which are what a proposal prices: the compiler would
    merge small ones with their neighbours."""
    configs = {**factory.pass_configs, T.PassConfigKey.TL_ASCEND_RETILE: False}
    func = factory.func(*sizes, **tiles)
    return T.compile(func, out_idx=factory.out_idx, pass_configs=configs)


def elementwise(*sizes: int, **tiles: int) -> Any:
    return as_written(add, *sizes, **tiles)


def softmax(M: int, N: int, block_M: int) -> Any:
    factory = load_script(DEVELOPER / "softmax.py").softmax
    return as_written(factory, M, N, block_M, "float16")


def gemm(*sizes: int, **tiles: int) -> Any:
    return as_written(load_script(DEVELOPER / "gemm.py").gemm, *sizes, **tiles)


def attention(*sizes: int, **tiles: int) -> Any:
    factory = load_script(DEVELOPER / "flash_attention.py").flash_attention
    return as_written(factory, *sizes, **tiles)


FACTORIES = {"gemm": gemm, "elementwise": elementwise, "reduction": softmax, "attention": attention}


def kendall(ours: list[float], theirs: list[float]) -> float:
    """Tau-b of two rankings of the same."""
    agree = ties_of_ours = ties_of_theirs = pairs = 0
    for i in range(len(ours)):
        for j in range(i):
            a, b = order(ours[i], ours[j]), order(theirs[i], theirs[j])
            agree += a * b
            ties_of_ours += a == 0
            ties_of_theirs += b == 0
            pairs += 1
    return float(agree / ((pairs - ties_of_ours) * (pairs - ties_of_theirs)) ** 0.5)


def order(a: float, b: float) -> int:
    return 0 if abs(a - b) <= SAME * max(a, b) else (a > b) - (a < b)


CASES = [
    ("gemm", (1024, 1024, 1024)),
    ("gemm", (1000, 1000, 1000)),
    ("elementwise", (4096, 4096)),
    ("elementwise", (512, 8192)),
    ("elementwise", (4000, 1030)),
    ("elementwise", (2048, 777)),
    ("elementwise", (1000, 1000)),
    ("reduction", (4096, 1024)),
    ("reduction", (8192, 512)),
    ("reduction", (4096, 1000)),
    ("reduction", (1000, 777)),
    ("reduction", (3000, 300)),
    pytest.param("attention", (1, 4, 1024, 128), marks=pytest.mark.exhaustive),
    pytest.param("attention", (1, 8, 1024, 64), marks=pytest.mark.exhaustive),
]


@pytest.mark.parametrize(("kind", "sizes"), CASES)
def test_proposals_are_in_order(kind: str, sizes: tuple[int, ...]) -> None:
    proposed = T.recommend_configs(kind, *sizes)
    assert proposed == T.recommend_configs(kind, *sizes) and len(proposed) > 8
    guesses = [config.microseconds for config in proposed]
    assert guesses == sorted(guesses)
    chosen = proposed[:: max(1, len(proposed) // PART)]
    times = []
    for config in chosen:
        with override(soc="Ascend910B2", time=True, check="off"):
            kernel = FACTORIES[kind](*sizes, **config)
            kernel(*supply_tensors(kernel, TensorSupplyType.Zero))
        times.append(kernel.timeline().task_microseconds)
        assert config.least_microseconds <= times[-1], config
    tau = kendall([config.microseconds for config in chosen], times)
    assert tau >= 0.8, (
        tau,
        [(dict(c), c.microseconds, t) for c, t in zip(chosen, times, strict=True)],
    )


def test_a_tuner_leaves_out_what_can_not_win() -> None:
    """One of a block of 1 x 64 takes longer at least than the best."""
    proposed = T.recommend_configs("elementwise", 4096, 1024)
    few = [*proposed[:2], *proposed[-3:]]
    tuned = autotune(configs=few, executor="here")(add)(4096, 1024)
    assert tuned.config in few[:2] and len(tuned.tuning.rows) < len(few)
    assert len(ResultStore().studies()[0].rows) == len(tuned.tuning.rows)


@pytest.mark.parametrize(
    ("arguments", "slug"),
    [
        (("gem", 16, 16, 16), "config-kind"),
        (("gemm", 16, 16), "config-sizes"),
        (("elementwise", 16, 0), "config-sizes"),
    ],
)
def test_what_has_no_configurations(arguments: tuple[Any, ...], slug: str) -> None:
    with pytest.raises(KernelError) as caught:
        T.recommend_configs(*arguments)
    assert caught.value.diagnostic.slug == slug


def test_the_chip_decides() -> None:
    small = T.recommend_configs("gemm", 4096, 4096, 4096, target="Ascend910B4", most=3)
    assert len(small) == 3
    assert small[0].microseconds > T.recommend_configs("gemm", 4096, 4096, 4096)[0].microseconds
