"""`python -m tile_passes`: what people have who installed two packages only."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from forked_python import run_python

from tile_ir import DEFAULT_TARGET, parse, print_func
from tile_passes import PASSES, apply_passes, run_pipeline

ADD = """file 0 "k.py"
func "k" phase built automatic memory sync @0:1:1 {
  tensor $A: float32 [64] @0:1:1
  tensor $B: float32 [64] @0:1:1
  launch blocks(1) %cid %vid threads any @0:2:1 {
    alloc $u: ub float32 [64] @0:3:1
    section vector @0:4:1 {
      if %vid == 0 @0:5:1 {
        copy($A[0:+64], $u) {enable_relu=false, transpose=false, pad_value=none} @0:6:1
        add($u, $u, 1.0) @0:7:1
        copy($u, $B[0:+64]) {enable_relu=false, transpose=false, pad_value=none} @0:8:1
      }
    }
  }
}
"""


def command(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return run_python(["-m", "tile_passes", *arguments], given=given)


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    file = tmp_path / "add.tir"
    file.write_text(ADD)
    return str(file)


def test_all_passes(kernel: str) -> None:
    done = command(kernel)
    assert done.returncode == 0 and not done.stderr
    assert done.stdout == print_func(run_pipeline(parse(ADD), DEFAULT_TARGET).func)
    assert command("-", given=ADD).stdout == done.stdout


def test_some_passes(kernel: str) -> None:
    names = list(PASSES)[:3]
    done = command(kernel, "-p", ",".join(names))
    assert done.stdout == print_func(apply_passes(parse(ADD), names, DEFAULT_TARGET))
    assert command(kernel, "-p", "").stdout == print_func(parse(ADD))
    explained = command(kernel, "--explain").stdout
    assert "copy" in explained and "func" not in explained
    assert [line.split()[0] for line in command("--list").stdout.splitlines()] == list(PASSES)


def test_faults_are_told_and_not_raised(kernel: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.tir"
    broken.write_text(ADD.replace("float32 [64] @0:3:1", "int64 [64] @0:3:1"))
    for arguments, code, word in (
        ([str(broken)], 1, "error[operand-dtype]"),
        ([kernel, "-p", "insert_snc"], 1, "insert_snc"),
        ([str(tmp_path / "none.tir")], 2, "none.tir"),
        ([], 2, "name a .tir file"),
        ([kernel, "--target", "A9"], 2, "A9"),
    ):
        done = command(*arguments)
        assert done.returncode == code and word in done.stderr, done
        assert "Traceback" not in done.stderr and not done.stdout


def test_nothing_else_is_loaded(kernel: str) -> None:
    program = (
        f"import sys; from tile_passes.__main__ import main; assert main([{kernel!r}]) == 0; "
        "print(sorted({'torch', 'tile_runtime', 'tile_frontend', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.endswith("[]\n"), done.stderr
