"""A pass is added by its file, its line of the pipeline and its goldens: shown in a copy of the
package that gains one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import golden
import pytest

import tile_passes

TESTS = Path(__file__).parent
PASS = '''\
"""Leaves out what was done just before."""

from __future__ import annotations

from tile_ir import Func, Op, Phase, Target
from tile_ir.nodes import Body, Stmt
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.BUILT, optional=True)
def relu_once(func: Func, target: Target) -> Func:
    """Leave out the second of two `relu` in place.

    Needs, gives: any phase. Idea: it changes nothing. Limits: outside loops and sections.
    """
    body = func.launch.body
    kept = tuple(s for i, s in enumerate(body) if not (i and same(body[i - 1], s)))
    return func if len(kept) == len(body) else func.with_body(kept)


def same(one: Stmt, two: Stmt) -> bool:
    if not (isinstance(one, Op) and isinstance(two, Op)):
        return False
    names = {one.opdef.name, two.opdef.name}
    return names == {"relu"} and len({*one.operands, *two.operands}) == 1
'''
LINES = (
    ("from tile_passes.remove_dead import remove_dead\n", "from tile_passes.relu_once import relu_once\n"),
    ("    split_vector_lanes,\n", "    relu_once,\n"),
)  # fmt: skip
HEAD = """file 0 "k.py"
func "k" phase built @0:1:1 {
  launch blocks(2) %cid %vid threads any @0:1:1 {
    alloc $u: ub float32 [64] @0:2:1
    relu($u, $u) @0:3:1
"""
TWICE = HEAD + "    relu($u, $u) @0:4:1\n  }\n}\n"
ONCE = HEAD + "  }\n}\n"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with the package and what tests goldens, and the new pass in both."""
    root = Path(tile_passes.__file__).parent
    package = tmp_path / "tile_passes"
    shutil.copytree(root, package)
    for file in (TESTS / "test_goldens.py", Path(golden.__file__)):
        shutil.copy(file, tmp_path)
    (package / "relu_once.py").write_text(PASS)
    pipeline = package / "pipeline.py"
    for line, added in LINES:
        text = pipeline.read_text()
        assert text.count(line) == 1
        pipeline.write_text(text.replace(line, added + line))
    return tmp_path


def python(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(copy), *(p for p in sys.path if p)])
    return subprocess.run(
        [sys.executable, *arguments], cwd=copy, env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True,
    )  # fmt: skip


def goldens(copy: Path) -> subprocess.CompletedProcess[str]:
    options = ["-q", "-p", "no:cacheprovider", "--rootdir", str(copy), "-k", "relu_once"]
    return python(copy, "-m", "pytest", *options, "test_goldens.py")


def test_a_pass_is_a_file_a_line_and_goldens(copy: Path) -> None:
    done = goldens(copy)
    assert done.returncode == 1 and "pass relu_once has no golden" in done.stdout, done.stdout
    (copy / "relu_once").mkdir()
    (copy / "relu_once" / "twice.tir").write_text(f"{TWICE}{golden.SEPARATOR}{ONCE}")
    done = goldens(copy)
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout


def test_the_command_knows_it(copy: Path) -> None:
    (copy / "k.tir").write_text(TWICE)
    named = python(copy, "-m", "tile_passes", "k.tir", "-p", "relu_once")
    assert named.stdout == ONCE, named.stderr
    listed = python(copy, "-m", "tile_passes", "--list").stdout
    assert "relu_once                 Leave out the second of two `relu` in place." in listed
    lowered = python(copy, "-m", "tile_passes", "k.tir").stdout
    assert lowered.count("relu(") == 1
