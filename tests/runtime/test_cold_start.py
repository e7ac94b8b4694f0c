"""What a process imports to run a kernel that another has left in the cache: what is not imported
takes no time. How long it takes is measured by `tile-ascend bench cold_start`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tile_ir.switches import override
from tile_runtime.scripts.module import load_script

SCRIPT = """
import torch
import tile_frontend as T


@T.jit(out_idx=[-1])
def doubling(n: int):
    @T.prim_func
    def doubled(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(1, is_npu=True, threads=1) as (cid,):
            a = T.alloc_ub((n,), "float32")
            with T.Scope("V"):
                T.copy(X, a)
                T.barrier_all()
                T.tile.add(a, a, a)
                T.barrier_all()
                T.copy(a, Y)

    return doubled


def main():
    assert (doubling(64)(torch.ones(64)) == 2).all()
    return doubling(64)
"""
AGAIN = """
import sys
from pathlib import Path
import torch
before = set(sys.modules)
from tile_ir.switches import override
from tile_runtime.scripts.module import load_script
with override(cache_dir=sys.argv[2]):
    assert load_script(Path(sys.argv[1])).main().cached
print(*sorted(set(sys.modules) - before))
"""
# What only those need who trace nothing but read text, or lower, emit, prove, report or tune.
NEEDLESS = (
    "lark", "networkx", "jinja2", "rich", "tile_ir.text.parser", "tile_ir.interpreter",
    "tile_checkers", "tile_passes.pipeline", "tile_passes.driver", "tile_runtime.tools",
    "tile_runtime.tuning", "tile_runtime.source_kernels", "tile_runtime.host_npu",
)  # fmt: skip


def test_a_cached_kernel_needs_no_compiler(tmp_path: Path) -> None:
    script, cache = tmp_path / "script.py", str(tmp_path / "cache")
    script.write_text(SCRIPT)
    with override(cache_dir=cache):
        load_script(script).main()
    command = [sys.executable, "-c", AGAIN, str(script), cache]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    imported = done.stdout.split()
    assert "tile_runtime.jit_kernels.build" in imported
    assert not [m for m in imported if any(f"{m}.".startswith(f"{n}.") for n in NEEDLESS)]
