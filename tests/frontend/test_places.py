"""Every node knows its line and column."""

import os
import subprocess
import sys
import textwrap

import tile_frontend as T
from tile_ir import Loc
from tile_ir.traversal import walk

FIRST_LINE = 15


@T.prim_func
def kernel(
    A: T.Tensor((64, 64), "float32"),
    größe: T.int32,
):
    with T.Kernel(4, is_npu=True) as (cid, vid):
        buffer = T.alloc_ub((64,), "float32")
        with T.Scope("V"):
            x = größe; y = T.alloc_var("int32", init=2)  # fmt: skip
            for i in T.serial(4):
                if x == i:
                    T.copy(
                        A[i, :],
                        buffer,
                    )
                else:
                    y += 1
            while y < 3:
                A[0, 0] = 1


def test_statements_stand_where_they_are_written():
    file = kernel.loc.file
    found = [
        (type(s).__name__, s.loc.line - FIRST_LINE, s.loc.column) for s in walk(kernel.launch.body)
    ]
    assert found == [
        ("Section", 7, 9),
        ("Let", 8, 13),
        ("Store", 8, 28),
        ("For", 9, 13),
        ("If", 10, 17),
        ("Op", 11, 21),
        ("Store", 16, 21),
        ("While", 17, 13),
        ("Store", 18, 17),
    ]
    assert {s.loc.file for s in walk(kernel.launch.body)} == {file}
    assert kernel.loc == Loc(file, FIRST_LINE + 1, 1)
    assert [p.loc for p in kernel.tensors] == [Loc(file, FIRST_LINE + 2, 5)]
    assert kernel.launch.loc == Loc(file, FIRST_LINE + 5, 5)
    assert [(a.loc.line - FIRST_LINE, a.loc.column) for a in kernel.launch.allocs] == [
        (6, 18),
        (8, 28),
    ]


SCRIPT = """
import tile_frontend as T

def make():
    @T.prim_func
    def k(A: T.Tensor((4,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = cis
    return k

make()
"""


def run(folder, *args):
    return subprocess.run(
        [sys.executable, *args], cwd=folder, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=False,
    )  # fmt: skip


def test_files_are_named_as_a_user_types_them(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "script.py").write_text(SCRIPT)
    expected = textwrap.dedent("""\
        :8:20: error[unknown-name]: `cis` is not defined
            A[0] = cis
                   ^
        hint: did you mean `cid`?
        """)
    for folder, shown in ((tmp_path, "inner/script.py"), (inner, "script.py")):
        result = run(folder, str(inner / "script.py"))
        # The lines of the script that led there, then the diagnostic: no frames of ours.
        assert result.stderr.endswith(f"\n{shown}{expected}")
        assert "    make()\n" in result.stderr and "packages/frontend" not in result.stderr
    other = tmp_path / "other"
    other.mkdir()
    assert f"{inner}/script.py:8:20: error" in run(other, "../inner/script.py").stderr


def test_the_python_traceback_ends_at_the_decorator(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    trace = run(tmp_path, "script.py").stderr
    assert "expressions.py" not in trace and "statements.py" not in trace
