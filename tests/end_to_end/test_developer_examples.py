"""The examples in developer style: against torch at `strict`, by the interpreter before and after
the compiler has ordered the cores, by both static checks, and under every choice of options."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import example_kernels
import numpy as np
import pytest
from kept_cases import kept

from tile_checkers import check_memory, check_sync
from tile_ir import DEFAULT_TARGET, Automatic, Buffer, Func, KernelError, interpret, print_func
from tile_ir.expr import constant_value
from tile_passes import PassOptions, run_pipeline
from tile_runtime.launcher.native import launcher
from tile_runtime.options.pass_configs import PassConfigKey, pass_options

from .kernel_batch import KernelBatch

FOLDER = example_kernels.EXAMPLES / "developer"
SCRIPTS = sorted(FOLDER.glob("*.py"))
# These run 8 to 13 s; the kernels of all scripts are small in the other tests.
SLOW = ("top_k_routing", "dequantised_gemm")
SEEDS = 50
LEVELS = ("CHECKS_DEVICE", "CHECKS_STRICT")
OPTIONS = (
    PassConfigKey.TL_ASCEND_AUTO_SYNC,
    PassConfigKey.TL_ASCEND_MEMORY_PLANNING,
    PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE,
    PassConfigKey.TL_ASCEND_AUTO_CV_SYNC,
)
SUBSETS = [
    dict.fromkeys(chosen, True)
    for n in range(len(OPTIONS) + 1)
    for chosen in itertools.combinations(OPTIONS, n)
]


@pytest.mark.parametrize("script", [example_kernels.script_case(p, SLOW) for p in SCRIPTS])
def test_script_matches_torch_at_strict(script: Path) -> None:
    lines = example_kernels.lines_at_strict(script)
    assert lines and all(verdict == "Kernel Output Match!" for verdict in lines[1::2])


def test_nothing_is_named_that_the_compiler_chooses() -> None:
    words = ("alloc_ub", "alloc_L", "Scope", "flag", "barrier", "workspace", "vid")
    for script in SCRIPTS:
        code = script.read_text().split('"""', 2)[2]
        assert not [w for w in words if w in code], script.name


def module(stem: str) -> ModuleType:
    if str(example_kernels.EXAMPLES) not in sys.path:
        sys.path.insert(0, str(example_kernels.EXAMPLES))
    spec = importlib.util.spec_from_file_location(f"developer_{stem}", FOLDER / f"{stem}.py")
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@lru_cache
def small() -> dict[str, Func]:
    """A kernel of every script, small, with tails and odd rows where its script has them."""

    def of(stem: str, name: str, *arguments: Any, **named: Any) -> Func:
        return getattr(module(stem), name).__wrapped__(*arguments, **named)

    return {
        "gemm": of("gemm", "gemm", 64, 64, 96, 32, 64, 32),
        "gemm_epilogue": of("gemm_epilogue", "gemm_bias_relu", 50, 70, 33, 32, 32, 32),
        "dequantised_gemm": of("dequantised_gemm", "int8_gemm", 64, 64, 128, 32, 32, 64),
        "softmax": of("softmax", "softmax", 40, 50, 7, "float16"),
        "rms_norm": of("rms_norm", "rms_norm", 40, 50, 5, cores=3),
        "layer_norm_add": of("layer_norm_add", "layer_norm_add", 35, 64, 8, cores=2),
        "rope": of("rope", "rope", 9, 3, 64, cores=2),
        "cross_entropy": of("cross_entropy", "cross_entropy", 48, 64, 8),
        "attention": of("flash_attention", "flash_attention", 1, 1, 128, 64, 32, 32),
        "attention_causal": of(
            "flash_attention", "flash_attention", 1, 2, 128, 64, 32, 32, 1, True
        ),
        "attention_groups": of("flash_attention", "flash_attention", 1, 2, 96, 64, 32, 32, 2),
        "attention_narrow": of(
            "flash_attention", "flash_attention", 1, 2, 128, 64, 32, 32, 1, True, handed="float16"
        ),
        "attention_paged": of("paged_attention", "paged_attention", 2, 6, 3, 64, 5, 32, 3),
        "attention_latent": of("mla", "latent_attention", 1, 16, 70, 64, 16, 16, 32),
        "attention_many_heads": of("mla", "attention_of_many_heads", 1, 32, 256, 64, 16, 32, 128),
        "attention_sparse": of("sparse_attention", "sparse_attention", 2, 16, 96, 64, 16, 48, 32),
        "attention_linear": of("linear_attention", "linear_attention", 1, 2, 96, 32, 32),
        "indexer": of(
            "lightning_indexer", "lightning_indexer", 32, 2, 64, 32, 16, 16, 32, 16, cores=1
        ),
        "grouped_gemm": of("grouped_gemm", "grouped_gemm", 40, 3, 64, 48, 16, 32, 32),
        "w4a8_gemm": of("w4a8_gemm", "w4a8_gemm", 32, 64, 128, 32, 64, 64),
        "convolution": of("convolution", "convolution", 1, 32, 5, 6, 16, 3, 1, 1, 16, 16),
        "routing": of("top_k_routing", "route", 20, 64, 32, 4, 16, 32),
    }


AUTOMATIC = pass_options({PassConfigKey.TL_ASCEND_AUTO_SYNC: True}).automatic
NUMPY = {"float16": np.float16, "float32": np.float32, "int8": np.int8, "int32": np.int32}


# Numbers that choose what a kernel does: of pages, of positions, of tokens, of classes.
CHOOSING = {
    "table": [[4, 0, 2], [1, 3, 0]],
    "lengths": [70, 32],
    "sizes": [17, 0, 23],
    "labels": [k * 7 % 64 for k in range(48)],
    "indices": [list(range(0, 96, 2)), list(range(47, -1, -1))],
}


def arguments(func: Func, seed: int = 0) -> list[Any]:
    """Random tensors for every parameter, workspaces of the compiler included: the same for the
    same parameter, since nobody writes what lies between the rows of a workspace."""
    result = []
    for number, p in enumerate(func.params):
        assert isinstance(p, Buffer)
        rng = np.random.default_rng((seed, number))
        shape = [constant_value(d) for d in p.shape]
        dtype = NUMPY[p.dtype.name]
        chosen = np.array(CHOOSING.get(p.name, ()), dtype)
        if list(chosen.shape) == shape:
            result.append(chosen)
        elif dtype is np.int8:
            result.append(rng.integers(-9, 9, shape).astype(dtype))
        elif "label" in p.name:
            result.append(rng.integers(0, 64, shape).astype(dtype))
        else:
            result.append(rng.standard_normal(shape).astype(dtype))
    return result


def compared(want: list[Any], got: list[Any], name: str) -> Iterator[tuple[Any, Any]]:
    """All tensors of the author, and the workspaces of the compiler but those that have versions."""
    own = len(small()[name].params)
    for number, (a, b) in enumerate(zip(want, got, strict=True)):
        if number < own or a.shape == b.shape:
            yield a, b


@dataclass(frozen=True)
class Lowered:
    merged: Func
    final: Func


@lru_cache
def lowered(name: str) -> Lowered:
    seen: dict[str, Func] = {}
    options = PassOptions(
        automatic=AUTOMATIC, after_each=lambda p, f, changed: seen.update({p.name: f})
    )
    final = run_pipeline(small()[name], DEFAULT_TARGET, options).func
    return Lowered(seen["merge_streams"], final)


@pytest.mark.parametrize("name", small())
def test_order_of_the_compiler_means_the_text(name: str) -> None:
    """One program from top to bottom, and cores that run by themselves and wait for flags."""
    seen: dict[str, Func] = {}
    options = PassOptions(
        automatic=AUTOMATIC, after_each=lambda p, f, changed: seen.update({p.name: f})
    )
    run_pipeline(small()[name], DEFAULT_TARGET, options)
    merged, split = seen["merge_streams"], seen["remove_dead"]
    want, got = arguments(merged), arguments(split)
    interpret(merged, want, in_text_order=True)
    interpret(split, got)
    for a, b in compared(want, got, name):
        np.testing.assert_allclose(b.astype(np.float64), a.astype(np.float64), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", small())
def test_both_checks_are_content(name: str) -> None:
    final = lowered(name).final
    assert [d.render() for d in check_sync(final, DEFAULT_TARGET)] == []
    assert [d.render() for d in check_memory(final, DEFAULT_TARGET)] == []


@pytest.mark.exhaustive
def test_simulated_under_many_schedules(tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    numbers = {name: batch.add(f, AUTOMATIC) for name, f in small().items()}
    batch.build()
    for name, number in numbers.items():
        merged = lowered(name).merged
        want = arguments(merged)
        interpret(merged, want, in_text_order=True)
        for seed, starved, level in itertools.product(range(SEEDS), range(4), LEVELS):
            outcome = batch.run(
                number, arguments(lowered(name).final), checks=getattr(launcher(), level),
                seed=seed, starved=starved,
            )  # fmt: skip
            assert outcome.error is None, (name, seed, starved, level, outcome.error.text)
            for a, b in compared(want, outcome.arrays, name):
                near = {"rtol": 4e-3, "atol": 4e-3}
                np.testing.assert_allclose(b.astype(np.float64), a.astype(np.float64), **near)


@pytest.mark.parametrize("name", small())
def test_every_subset_of_the_options_gives_the_same_kernel(name: str) -> None:
    want = print_func(lowered(name).final)
    for subset in kept(SUBSETS, least=5):
        # With as many blocks as the text has: idle cores would get rows of the small sizes.
        options = pass_options({**subset, PassConfigKey.TL_ASCEND_RETILE: False})
        # Which buffers share bytes and what is ordered is the compiler's with every one of them,
        # where lanes or cores are.
        if not (options.automatic or _leaves_more(small()[name])):
            continue
        got = run_pipeline(small()[name], DEFAULT_TARGET, options).func
        text = print_func(replace(got, automatic=lowered(name).final.automatic))
        assert text == want, subset


def _leaves_more(func: Func) -> bool:
    return func.launch.threads == 2


@pytest.mark.exhaustive
def test_expert_examples_under_every_subset_of_the_options() -> None:
    """Each is right, or an error that says what does not go together."""
    by_hand = example_kernels.traced()
    for name, func in (by_hand | example_kernels.automatic()).items():
        finals: dict[str, Func] = {}
        for subset in SUBSETS:
            try:
                options = pass_options(subset)
                final = run_pipeline(func, DEFAULT_TARGET, options).func
            except KernelError as error:
                assert error.slug == "cross-order-mixed" and "attention" in name, (name, subset)
                continue
            if name in by_hand or Automatic.SYNC in options.automatic:
                finals[print_func(replace(final, automatic=frozenset()))] = final
        # With and without planning, with and without flags of the compiler: no more than that.
        assert 1 <= len(finals) <= 4, name
        for final in finals.values():
            assert not check_memory(final, DEFAULT_TARGET), name
            assert not [d for d in check_sync(final) if d.severity == "error"], name
