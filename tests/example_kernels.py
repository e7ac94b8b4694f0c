"""The kernels of the examples, traced but not compiled."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from tile_ir import Func

EXAMPLES = Path(__file__).parents[1] / "examples"


def load(stem: str) -> ModuleType:
    """An example as a module; its `main` is not run."""
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    spec = importlib.util.spec_from_file_location(stem, EXAMPLES / f"{stem}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def traced() -> dict[str, Func]:
    """Every kernel the examples build, by a name of its own."""
    add = load("01_vector_add").vector_add.__wrapped__
    gemm = load("02_gemm").gemm.__wrapped__
    intrinsic = load("03_gemm_intrinsic").gemm_intrinsic.__wrapped__
    softmax = load("04_online_softmax").online_softmax.__wrapped__
    attention = load("05_flash_attention").flash_attention.__wrapped__
    return {
        "vector_add": add(1024, 1024, 64),
        "gemm": gemm(1024, 1024, 1024, 128, 256, 64),
        "gemm_intrinsic_24": intrinsic(1024, 1024, 1024, 128, 256, 256, 64, 24),
        "gemm_intrinsic_20": intrinsic(1024, 2048, 512, 128, 256, 256, 64, 20),
        **{
            f"softmax_{dtype}_{m}x{n}": softmax(m, n, 16, block, dtype)
            for dtype in ("float32", "float16", "bfloat16")
            for m, n, block in ((34, 130, 64), (1024, 4096, 512))
        },
        "flash_attention": attention(1, 2, 512, 128, 64, 128),
    }
