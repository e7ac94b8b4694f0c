"""A chip is added by one file of data: shown in a copy of the package that gains one."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import tile_ir

# No flags from V to MTE3, no conversion of int8, rows of ub at multiples of 64, no `exp`.
CHIP = """
from dataclasses import replace

from tile_ir.chips.dav_c220 import ALIGNMENT, CAPACITY, CONVERSIONS, FLAG_PAIRS, chip
from tile_ir.machine import Core, Memory, Pipe

VECTOR = FLAG_PAIRS[Core.VECTOR] - {(Pipe.V, Pipe.MTE3)}
CHIPS = (replace(
    chip("AscendSmall", "A9", 2, 1000, 8, 1 << 20),
    ai_core="dav-small",
    capacity={**CAPACITY, Memory.UB: 8192},
    alignment={**ALIGNMENT, Memory.UB: 64},
    flag_pairs={**FLAG_PAIRS, Core.VECTOR: VECTOR},
    conversions={k: v for k, v in CONVERSIONS.items() if k[0] != "int8"},
    unavailable={"exp": "take a polynomial"},
),)
"""
KERNEL = """file 0 "k.py"
func "f" phase built @0:1:1 {
  tensor $A: float32 [16, 64] @0:1:1
  launch blocks(1) %cid %vid threads any @0:1:1 {
    alloc $u: ub float32 [8, 64] @0:2:1
    section vector @0:3:1 {
      copy($A[%vid * 8:+8, 0:+64], $u) {enable_relu=false, transpose=false, pad_value=none} @0:4:1
      abs($u, $u) @0:5:1
      copy($u, $A[%vid * 8:+8, 0:+64]) {enable_relu=false, transpose=false, pad_value=none} @0:6:1
    }
  }
}
"""
WRONG = """file 0 "k.py"
func "f" phase built @0:1:1 {
  launch blocks(1) %cid %vid threads any @0:1:1 {
    alloc $u: ub float32 [8, 64] @0:2:1
    alloc $r: ub float32 [8, 8] @0:2:1
    alloc $t: ub float32 [8] @0:2:1
    alloc $b: ub int8 [64] @0:2:1
    alloc $h: ub float16 [64] @0:2:1
    exp($u, $u) @0:3:1
    cast($h, $b, none) {mode="cast_none"} @0:4:1
    reduce_max($r, $t, none) {dim=-1, clear=true} @0:5:1
    set_flag(0) {src_pipe="v", dst_pipe="mte3"} @0:6:1
  }
}
"""
SCRIPT = """
import json, sys
import tile_ir
from tile_ir import Automatic
from tile_checkers import check_sync
from tile_ir.verification.verifier import problems
from tile_ir import walk_ops
from tile_passes import PassOptions, run_pipeline

kernel, wrong = (tile_ir.parse(text) for text in json.load(sys.stdin))
told = {}
for name in ("Ascend910B2", "AscendSmall"):
    target = tile_ir.TARGETS[name]
    options = PassOptions(automatic=frozenset({Automatic.SYNC, Automatic.MEMORY}))
    lowered = run_pipeline(kernel, target, options).func
    told[name] = {
        "wrong": [d.slug for d in problems(wrong, target)],
        "order": [op.opdef.name for op in walk_ops(lowered.launch.body) if op.opdef.family == "sync"],
        "found": [d.slug for d in check_sync(lowered, target)],
    }
print(json.dumps(told))
"""


def test_a_chip_is_one_file(tmp_path: Path) -> None:
    copy = tmp_path / "tile_ir"
    shutil.copytree(
        Path(tile_ir.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__")
    )
    (copy / "chips" / "small.py").write_text(CHIP)
    path = [str(tmp_path), *(p for p in sys.path if p)]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}\n{SCRIPT}"],
        input=json.dumps([KERNEL, WRONG]), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    old, new = told["Ascend910B2"], told["AscendSmall"]
    assert old["found"] == new["found"] == []
    assert old["wrong"] == []
    assert new["wrong"] == ["op-unavailable", "cast-pair", "row-alignment", "flag-pair"]
    assert old["order"] == ["set_flag", "wait_flag"] * 2
    assert new["order"] == ["set_flag", "wait_flag"] * 3, "V to MTE3 by way of another pipe"
