"""A chip is added by one file of data: shown in a copy of the package that gains one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import tile_ir

CHIP = """
from dataclasses import replace

from tile_ir.chips.dav_c220 import CAPACITY, chip
from tile_ir.machine import Memory

CHIPS = (replace(
    chip("AscendSmall", "A9", 2, 1000, 8, 1 << 20),
    capacity={**CAPACITY, Memory.UB: 512},
    events_per_pair=2,
),)
"""
KERNEL = """file 0 "k.py"
func "f" phase planned @0:1:1 {
  tensor $A: float32 [4, 64] @0:1:1
  launch blocks(1) %cid %vid threads any @0:1:1 {
    alloc $u: ub float32 [4, 64] address 0 @0:2:1
  }
}
"""
SCRIPT = """
import sys
import tile_ir
from tile_ir.verifier import problems
func = tile_ir.parse(open(sys.argv[1]).read())
for name in ("Ascend910B2", "AscendSmall"):
    print(name, [d.message for d in problems(func, tile_ir.TARGETS[name])])
"""


def test_a_chip_is_one_file(tmp_path: Path) -> None:
    copy = tmp_path / "tile_ir"
    shutil.copytree(Path(tile_ir.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "chips" / "small.py").write_text(CHIP)
    kernel = tmp_path / "k.tir"
    kernel.write_text(KERNEL)
    path = [str(tmp_path), *(p for p in sys.path if p)]
    found = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}\n{SCRIPT}", str(kernel)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines() == [
        "Ascend910B2 []",
        "AscendSmall ['`u` takes bytes 0 to 1024 of ub, which has 512']",
    ]
