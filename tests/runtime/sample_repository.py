"""A repository with kernels of every kind that `tile-ascend ci` judges, and changes of them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

_HEAD = """import torch

import tile_frontend as T

"""

TILES = "ROWS = 16\n"

# A program that compares its kernel itself, with the size of its tiles from another file.
SCALE = (
    _HEAD
    + """from tiles import ROWS


@T.jit(out_idx=[-1])
def scale(M: int, N: int) -> T.PrimFunc:
    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")) -> None:
        with T.Kernel(2, is_npu=True, threads=2) as cid:
            x = T.alloc_shared((ROWS, N), "float32")
            for i in T.serial(M // 2 // ROWS):
                T.copy(X[cid * (M // 2) + i * ROWS, 0], x)
                for r, c in T.Parallel(ROWS, N):
                    x[r, c] = x[r, c] * 2
                T.copy(x, Y[cid * (M // 2) + i * ROWS, 0])

    return kernel


if __name__ == "__main__":
    x = torch.randn(128, 64)
    torch.testing.assert_close(scale(128, 64)(x), x * 2)
"""
)

# A library: a comment says how to run its kernel, a function computes the same.
SHIFT = (
    _HEAD
    + """
# tile-ascend: shift(N=128, m=33)
@T.jit(out_idx=[-1])
def shift(N: int) -> T.PrimFunc:
    M = T.symbolic("m")

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")) -> None:
        with T.Kernel(M, is_npu=True, threads=1) as cid:
            x = T.alloc_shared((1, N), "float32")
            T.copy(X[cid, 0], x)
            for i, j in T.Parallel(1, N):
                x[i, j] = x[i, j] + 1
            T.copy(x, Y[cid, 0])

    return kernel


def reference(x: torch.Tensor) -> torch.Tensor:
    return x + 1
"""
)

# In expert style, with barriers of its own.
EXPERT = (
    _HEAD
    + """
# tile-ascend: double()
def reference(x: torch.Tensor, y: torch.Tensor) -> None:
    y.copy_(x + x)


@T.prim_func
def double(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")) -> None:
    with T.Kernel(1, is_npu=True, threads=1) as cid:
        x = T.alloc_ub((64,), "float32")
        with T.Scope("V"):
            T.copy(X, x)
            T.barrier_all()
            T.tile.add(x, x, x)
            T.barrier_all()
            T.copy(x, Y)
"""
)

SOURCE = """// tile-ascend: --in x=f16[64] --out y=f16[64]
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void twice(GM_ADDR x, GM_ADDR y)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 128);
    GlobalTensor<half> from, to;
    from.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));
    to.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y));
    LocalTensor<half> values = buffer.Get<half>();
    DataCopy(values, from, 64);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    Add(values, values, values, 64);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(to, values, 64);
}
"""

BASE = {
    "tiles.py": TILES,
    "scale.py": SCALE,
    "lib/shift.py": SHIFT,
    "lib/expert.py": EXPERT,
    "notes.py": "print('no kernel')\n",
}

_FLAGS = "    SetFlag<HardEvent::MTE2_V>(0);\n    WaitFlag<HardEvent::MTE2_V>(0);\n"
_BARRIER = "            T.barrier_all()\n            T.tile.add"
# Every kind of mistake, each in a file of its own.
BAD = {
    "scale.py": SCALE.replace("x[r, c] * 2", "x[r, c] * 3"),
    "lib/shift.py": SHIFT.replace("x[i, j] + 1", "x[i, j] + 2"),
    "lib/expert.py": EXPERT.replace(_BARRIER, "            T.tile.add"),
    "twice.cpp": SOURCE.replace(_FLAGS, ""),
    "notes.py": "print('still none')\n",
}
# Another size of tiles, in a file that two others import; and a remark.
SLOW = {"tiles.py": "ROWS = 2\n"}
CLEAN = {"lib/shift.py": SHIFT.replace("# tile-ascend", "# A row a block.\n# tile-ascend")}


def line_of(text: str, part: str) -> int:
    """The number of the first line with these words."""
    return next(n for n, line in enumerate(text.splitlines(), 1) if part in line)


class SampleRepository:
    """A repository with one commit, and its work tree."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        self._git("init", "--quiet", "--initial-branch=main")
        self.write(BASE)
        self.commit("base")

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)

    def commit(self, subject: str) -> None:
        self._git("add", "--all")
        self._git("commit", "--quiet", "--allow-empty", f"--message={subject}")

    def branch(self, name: str, files: Mapping[str, str]) -> None:
        """A branch of main with these files, checked out."""
        self._git("checkout", "--quiet", "-B", name, "main")
        self.write(files)
        self.commit(name)

    def _git(self, *arguments: str) -> None:
        person = {"NAME": "a", "EMAIL": "a@example.org"}
        named = {f"GIT_{w}_{k}": v for w in ("AUTHOR", "COMMITTER") for k, v in person.items()}
        nothing = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        environment = {**os.environ, **named, **nothing}
        subprocess.run(["git", *arguments], cwd=self.root, env=environment, check=True)
