"""An operation is added by its record, its template and its golden: shown in a copy of the two
packages that gain one. The language, the passes and the interpreter know it then."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import golden
import pytest

import tile_codegen_ascendc
import tile_ir

TESTS = Path(__file__).parent
RECORD = '    _unary("abs", '
NEW_RECORD = '    _unary("opposite", _direct(lambda x: -x), "dst = -src", "Muls", by_rows=False),\n'
MACRO = "{% macro abs(op) %}"
NEW_MACRO = """\
{% macro opposite(op) -%}
AscendC::Muls({{ op.dst }}, {{ op.src }}, static_cast<{{ op.dst.type }}>(-1), {{ op.dst.count }});
{%- endmacro %}
"""
SCRIPT = """
import numpy as np

import tile_frontend as T
from tile_codegen_ascendc import emit
from tile_ir import DEFAULT_TARGET, interpret
from tile_passes import run_pipeline


@T.prim_func
def negated(A: T.Tensor((8, 16), "float32"), B: T.Tensor((8, 16), "float32")):
    with T.Kernel(1) as (cid, vid):
        a = T.alloc_ub((8, 16), "float32")
        T.copy(A, a)
        T.barrier_all()
        T.tile.opposite(a, a)
        T.barrier_all()
        T.copy(a, B)


arrays = [np.arange(128, dtype=np.float32).reshape(8, 16), np.zeros((8, 16), np.float32)]
interpret(negated, arrays)
assert (arrays[1] == -arrays[0]).all()
print(emit(run_pipeline(negated, DEFAULT_TARGET).func, DEFAULT_TARGET))
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with both packages and the test of goldens; record and template are there."""
    for package in (tile_ir, tile_codegen_ascendc):
        root = Path(package.__file__).parent
        shutil.copytree(root, tmp_path / root.name)
    for file in (TESTS / "test_ops.py", Path(golden.__file__)):
        shutil.copy(file, tmp_path)
    (tmp_path / "ops").mkdir()
    for file, line, added in (
        ("tile_ir/ops/elementwise.py", RECORD, NEW_RECORD),
        ("tile_codegen_ascendc/templates/elementwise.jinja", MACRO, NEW_MACRO),
    ):
        text = (tmp_path / file).read_text()
        assert text.count(line) == 1
        (tmp_path / file).write_text(text.replace(line, added + line))
    return tmp_path


def python(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(copy), *(p for p in sys.path if p)])
    return subprocess.run(
        [sys.executable, *arguments], cwd=copy, env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True,
    )  # fmt: skip


def test_an_operation_is_a_record_a_template_and_a_golden(copy: Path) -> None:
    options = ["-q", "-p", "no:cacheprovider", "--rootdir", str(copy), "-k", "opposite"]
    done = python(copy, "-m", "pytest", *options, "test_ops.py")
    assert done.returncode == 1 and "opposite lacks golden" in done.stdout, done.stdout
    like = (TESTS / "ops" / "abs.tir").read_text()
    # Its record does not say that the instruction steps from row to row.
    steps = "    tile::in_rows(tile::instruction::Abs{}, u0[64], u1[64], 4, 64, 128, 128);"
    loop = (
        "    for (int32_t row = 0; row < 4; ++row) {  // kernel.py:4\n"
        "      AscendC::Muls(u0[row * 128 + 64], u1[row * 128 + 64], static_cast<float>(-1), 64);"
        "  // kernel.py:4\n    }"
    )
    for old, new in (
        ("abs", "opposite"),
        ("Abs(u0, u1, ", "Muls(u0, u1, static_cast<float>(-1), "),
        (f"{steps}  // kernel.py:4", loop),
    ):
        assert old in like
        like = like.replace(old, new)
    (copy / "ops" / "opposite.tir").write_text(like)
    done = python(copy, "-m", "pytest", *options, "test_ops.py")
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout


def test_the_language_has_it(copy: Path) -> None:
    (copy / "script.py").write_text(SCRIPT)
    done = python(copy, "script.py")
    assert done.returncode == 0, done.stderr
    assert "AscendC::Muls(a, a, static_cast<float>(-1), 128);" in done.stdout
