"""Kernels are named by their factories and arguments, wherever they are shown."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_runtime import jit
from tile_runtime.jit_kernels.kernel_name import call_name, function_of
from tile_runtime.tools.command_line import main

pytestmark = pytest.mark.usefixtures("quick_kernels")
SCRIPT = """\
import torch

import tile_frontend as T


@T.jit(out_idx=[-1])
def doubled(n, block=64):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(n // block, threads=1) as b:
            a = T.alloc_shared((block,), "float32")
            T.copy(A[b * block], a)
            T.tile.add(a, a, a)
            T.copy(a, B[b * block])

    return kernel


if __name__ == "__main__":
    for n in (128, 256):
        doubled(n)(torch.zeros(n))
"""


def factory(M: int, dtype: Any = "float16", flag: bool = False, *, rows: int = 1) -> None: ...


@pytest.mark.parametrize(
    ("args", "named", "name"),
    [
        ((8,), {}, "factory[M=8]"),
        ((8, "float16"), {"rows": 1}, "factory[M=8]"),
        ((), {"rows": 2, "M": 8}, "factory[M=8, rows=2]"),
        ((8, torch.float32), {}, "factory[M=8, dtype=float32]"),
        ((8,), {"flag": True}, "factory[M=8, flag=True]"),
        ((8,), {"rows": True}, "factory[M=8, rows=True]"),
        ((8, "x" * 99), {}, f"factory[M=8, dtype={'x' * 31}…]"),
        ((8,), {"K": 3}, "factory[M=8, K=3]"),
    ],
)
@pytest.mark.whole
def test_a_call(args: tuple[Any, ...], named: dict[str, Any], name: str) -> None:
    assert call_name(factory, args, named) == name and function_of(name) == "factory"


def test_without_arguments() -> None:
    assert call_name(lambda: None, (), {}) == "<lambda>"


@jit
def eager(A, block: int = 64):
    n = T.const("n")
    A: T.Tensor((n,), "float32")
    B = T.empty((n,), "float32")
    with T.Kernel(T.ceildiv(n, block), threads=1) as b:
        a = T.alloc_shared((block,), "float32")
        T.copy(A[b * block], a)
        T.tile.add(a, a, a)
        T.copy(a, B[b * block])
    return B


def test_where_names_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = eager.compile(n=128)
    assert kernel.name == "eager[n=128]" and "<kernel eager[n=128] for " in repr(kernel)
    assert pickle.loads(pickle.dumps(kernel)).name == kernel.name
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    page = tmp_path / "page.html"
    for asked, name in (
        ((), "256"),
        (("--kernel", "doubled[n=128]"), "128"),
        (("--kernel", "doubled"), "256"),
    ):
        assert main(["report", str(script), "-o", str(page), *asked]) == 0
        assert f"doubled[n={name}] on " in capsys.readouterr().out
        assert f"<title>doubled[n={name}] on " in page.read_text()
    assert main(["report", str(script), "--kernel", "kernel"]) == 1
    assert "one of doubled[n=128], doubled[n=256]" in capsys.readouterr().err
    assert main(["cache", "ls"]) == 0
    assert {"eager[n=128]", "doubled[n=128]", "doubled[n=256]"} <= set(
        capsys.readouterr().out.split()
    )
