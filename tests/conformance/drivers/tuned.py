"""Kernels that examples hand to a tuner: one configuration of each, of sizes of our own."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from conformance.drivers.case import Compared, Draw, driver, tolerance

ROWS = """
    m   n   k   block_M block_N block_K num_stages thread_num
    128 96  160 64      32      32      2          128
    100 70  90  32      64      32      1          128
"""


def _compared(kernel: Any, draw: Draw, m: int, n: int, k: int, dtype: str) -> Iterator[Compared]:
    """A product with a transposed matrix."""
    a, b = draw(m, k, dtype=dtype), draw(n, k, dtype=dtype)
    yield Compared("c", kernel(a, b), a.double() @ b.double().T, tolerance(dtype))


def _compiled(program: Any) -> Any:
    return importlib.import_module("tilelang").compile(program, out_idx=-1)


def _by_the_tuner(module: str, dtype: str, more: Mapping[str, Any]) -> Any:
    """The module's own tuning, of one configuration."""

    def check(
        factory: Any, draw: Draw, m: int, n: int, k: int, **config: int
    ) -> Iterator[Compared]:
        example = importlib.import_module(f"example_{module}")
        vars(example)["get_configs"] = lambda *given, **named: [{**config, **more}]
        yield from _compared(factory(m, n, k).kernel, draw, m, n, k, dtype)

    return check


def _of_a_factory(more: Mapping[str, Any]) -> Any:
    def check(
        factory: Any, draw: Draw, m: int, n: int, k: int, **config: int
    ) -> Iterator[Compared]:
        yield from _compared(factory(m, n, k, **config, **more), draw, m, n, k, "float16")

    return check


_TUNED: Callable[[str], str] = "gemm/example_gemm_{}.py".format
RASTER = {"enable_rasteration": True}

tuned = driver(_TUNED("autotune") + ":get_best_config.kernel.main", ROWS)(
    _by_the_tuner("example_gemm_autotune", "bfloat16", RASTER)
)
tuned_with_options = driver(_TUNED("autotune_pass_configs") + ":get_best_config.kernel.main", ROWS)(
    _by_the_tuner("example_gemm_autotune_pass_configs", "float16", {})
)
plain = driver(_TUNED("autotune") + ":matmul.gemm_autotune", ROWS)(_of_a_factory(RASTER))
plain_of_advanced = driver(_TUNED("advanced_autotune") + ":matmul.gemm_autotune", ROWS)(
    _of_a_factory(RASTER)
)
decorated = driver(_TUNED("autotune_pass_configs") + ":matmul_decorator.main", ROWS)(
    _of_a_factory({})
)
stopped_early = driver(_TUNED("autotune_early_stop") + ":matmul_early_stop.main", ROWS)(
    _of_a_factory({})
)


@driver(_TUNED("advanced_autotune") + ":_build_autotuner.kernel.main", ROWS)
def advanced(factory: Any, draw: Draw, m: int, n: int, k: int, **config: int) -> Iterator[Compared]:
    _, _, kernel = factory(m, n, k, False, "event", "auto", True, False, 1)
    program = kernel(**config, enable_rasteration=True)
    yield from _compared(_compiled(program), draw, m, n, k, "bfloat16")


@driver(_TUNED("autotune_early_stop") + ":make_kernel.kernel.main", ROWS)
def of_named_sizes(
    factory: Any, draw: Draw, m: int, n: int, k: int, **config: int
) -> Iterator[Compared]:
    """The module names the sizes; they are made smaller here."""
    example = importlib.import_module("example_example_gemm_autotune_early_stop")
    vars(example).update(M=m, N=n, K=k)
    yield from _compared(_compiled(factory()(**config)), draw, m, n, k, "float16")
