"""The kernels of the examples, traced but not compiled.

Examples that put their flags by hand are `traced`; `automatic` are those that leave them to the
compiler, and `unsynchronised` makes such a kernel of any.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from bench.without_flags import without_flags
from forked_python import run_python

from tile_ir import Func
from tile_runtime.options.pass_configs import PassConfigKey, pass_options

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("[0-9]*.py"))

# What kernels without flags leave to the compiler.
AUTOMATIC_SYNC = pass_options({PassConfigKey.TL_ASCEND_AUTO_SYNC: True}).automatic


def script_case(script: Path, slow: Sequence[str]) -> Any:
    """A script as a case of a test; slow ones run with `--all` only."""
    marks = [pytest.mark.exhaustive] if script.stem in slow else []
    return pytest.param(script, id=script.stem, marks=marks)


def lines_at_strict(script: Path) -> list[str]:
    """What a script prints with all checks. It ends well, and tells of no error or warning."""
    paths = [str(p) for p in (EXAMPLES.parent / "packages").glob("*/src")]
    environment = {
        **os.environ,
        "TILE_CHECK": "strict",
        "PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")]),
    }
    done = run_python([str(script)], env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr, done.stderr
    return done.stdout.splitlines()


def load(stem: str) -> ModuleType:
    """An example as a module; its `main` is not run."""
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    spec = importlib.util.spec_from_file_location(stem, EXAMPLES / f"{stem}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Kernels(Mapping[str, Func]):
    """Kernels by name, each traced when somebody first asks for it: names alone list the cases of
    a test."""

    def __init__(self, calls: Mapping[str, tuple[Any, ...]]) -> None:
        """By name, the script, the factory in it, and what the factory is called with."""
        self._calls = calls
        self._made: dict[str, Func] = {}

    def __getitem__(self, name: str) -> Func:
        if name not in self._made:
            script, factory, *arguments = self._calls[name]
            self._made[name] = getattr(load(script), factory).__wrapped__(*arguments)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)

    def __or__(self, other: Kernels) -> Kernels:
        return Kernels({**self._calls, **other._calls})


@cache
def traced() -> Kernels:
    """Every kernel with flags of its own that the examples build, by a name of its own."""
    intrinsic = ("03_gemm_intrinsic", "gemm_intrinsic")
    return Kernels(
        {
            "vector_add": ("01_vector_add", "vector_add", 1024, 1024, 64),
            "gemm": ("02_gemm", "gemm", 1024, 1024, 1024, 128, 256, 64),
            "gemm_intrinsic_24": (*intrinsic, 1024, 1024, 1024, 128, 256, 256, 64, 24),
            "gemm_intrinsic_20": (*intrinsic, 1024, 2048, 512, 128, 256, 256, 64, 20),
            **{
                f"softmax_{dtype}_{m}x{n}": (
                    "04_online_softmax", "online_softmax", m, n, rows, block, dtype,
                )
                for dtype in ("float32", "float16", "bfloat16")
                for m, n, rows, block in ((34, 322, 16, 64), (1023, 4095, 2, 4096))
            },
            "flash_attention": ("05_flash_attention", "flash_attention", 1, 2, 512, 128, 64, 128),
        }
    )  # fmt: skip


@cache
def automatic() -> Kernels:
    """A kernel of every example without flags; AUTOMATIC_SYNC makes them complete."""
    return Kernels(
        {
            "rms_norm": ("06_rms_norm", "rms_norm", 333, 1001, 8, 7),
            "gelu_mul": ("07_gelu_mul", "gelu_mul", 301, 1400, 16, 256, 5),
            "rope": ("08_rope", "rope", 203, 3, 64, 4096, 8, 5),
            "cross_entropy": ("09_cross_entropy", "cross_entropy", 203, 5003, 16, 512, 5),
            "gemm_ragged": ("10_gemm_ragged", "gemm_ragged", 517, 389, 611, 128, 128, 256, 64, 5),
            "split_k_gemm": (
                "11_split_k_gemm", "split_k_gemm", 100, 200, 5000, 128, 128, 256, 7,
            ),
            "top_k": ("12_top_k", "top_k", 99, 1000, 8, 64, 5),
        }
    )  # fmt: skip


def unsynchronised(func: Func) -> Func:
    """The kernel without its in-core flags and barriers, and without what holds nothing else."""
    return without_flags(func)
