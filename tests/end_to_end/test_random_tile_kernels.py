"""A fixed part of the random kernels of tiles and of products, by the interpreter (`tile_campaign`)
and some at `strict`; `make fuzz-tiles` runs others."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from kept_cases import kept

from end_to_end.random_product_kernels import product_program
from end_to_end.random_tile_kernels import tile_program
from end_to_end.test_random_element_programs import loaded
from end_to_end.tile_campaign import outcome, small_program
from tile_ir import KernelWarning
from tile_runtime import compile

INTERPRETED, SIMULATED, PRODUCTS = 30, 6, 12


def test_tiles_mean_what_python_says(tmp_path: Path) -> None:
    programs = {seed: small_program(seed) for seed in kept(range(INTERPRETED), 6)}
    found = [outcome(made, seed, tmp_path) for seed, made in programs.items() if made is not None]
    assert not [each for each in found if each.startswith("wrong")]
    assert "right" in found


def test_products_mean_what_python_says(tmp_path: Path) -> None:
    seeds = kept(range(PRODUCTS), 3)
    found = [outcome(product_program(seed), seed, tmp_path) for seed in seeds]
    assert set(found) == {"right"}


@pytest.mark.usefixtures("strict")
def test_some_of_them_at_strict(tmp_path: Path) -> None:
    for seed in kept(range(SIMULATED), 1):
        made = tile_program(seed, 2)
        file = tmp_path / f"tile_kernel_{seed}.py"
        file.write_text(made.text)
        expected, types = made.arrays(seed), {n: d for n, (_, d) in made.shapes.items()}
        found = {
            n: torch.from_numpy(a.copy()).to(getattr(torch, types[n])) for n, a in expected.items()
        }
        made.run(expected)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KernelWarning)
            compile(loaded(file).kernel)(*found.values())
        for n, tensor in found.items():
            kept_as = tensor.float() if types[n] == "bfloat16" else tensor
            assert np.array_equal(kept_as.numpy(), expected[n]), (seed, n)


def test_a_tensor_smaller_than_the_nest_does_not_shorten_its_tiles(tmp_path: Path) -> None:
    """Elements of `B` outside of it are 0: the nest has 24, and so have its values."""
    file = tmp_path / "shorter.py"
    file.write_text(SHORTER)
    from tile_ir import DEFAULT_TARGET, interpret
    from tile_passes import run_pipeline
    from tile_runtime.options.pass_configs import pass_options

    func = run_pipeline(loaded(file).kernel, DEFAULT_TARGET, pass_options({})).func
    b, y = np.arange(23, dtype=np.uint8), np.zeros((1, 24), np.uint8)
    interpret(func, [b, y, np.zeros((1, 23), np.uint8)])
    wide = np.concatenate([b, [0, 0]])
    expected = np.minimum(1 + wide[:24], 8)
    expected[:23] = np.minimum(expected[:23] + wide[1:24], 8)
    assert np.array_equal(y[0], expected)


SHORTER = """
import tile_frontend as T

@T.prim_func
def kernel(B: T.Tensor((23,), "uint8"), Y: T.Tensor((1, 24), "uint8"), V: T.Tensor((1, 23), "uint8")):
    with T.Kernel(1, threads=128) as bx:
        t = T.alloc_shared((1, 24), "uint8")
        u = T.alloc_shared((1, 24), "uint8")
        T.fill(t, 1)
        T.fill(u, 1)
        for i, j in T.Parallel(1, 23):
            V[bx + i, j] = t[i, j] + u[i, j]
        for i, j in T.Parallel(1, 24):
            for e in T.serial(2):
                if e + j < 24:
                    t[i, j] = T.max(T.min(t[i, j] + B[j + e], 8), 0)
        T.copy(t, Y)
"""
