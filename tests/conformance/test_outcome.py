"""Reading what became of a script, without any script."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from conformance.outcome import Kind, Outcome, outcome_of
from conformance.reduced import limits_of, reduced
from conformance.run_task import Limits, Result, run_task
from conformance.scripts import Task, gpu_tasks, tasks
from conformance.table import as_csv, markdown, obstacles, summary

TRACE = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n'


@pytest.mark.parametrize(
    ("output", "code", "expected"),
    [
        ("KERNEL output match!\n", 0, Outcome(Kind.PASS)),
        ("x\nAll test passed!", 0, Outcome(Kind.PASS)),
        ("done\n", 0, Outcome(Kind.NO_TEXT)),
        ("tile::with_column<tile::instruction::Sub>(y, x);\n", 0, Outcome(Kind.NO_TEXT)),
        ("[FAILED] case 2\n", 0, Outcome(Kind.WRONG, detail="[FAILED] case 2")),
        (
            "Test passed!\n/x/a.py:3:5: error[unknown-name]: `T.tile.f` is not defined\n    f\n",
            1,
            Outcome(Kind.UNSUPPORTED, "unknown-name", "/x/a.py:3:5", "T.tile.f"),
        ),
        (
            TRACE + "a.py:3:5: error[not-lowered-yet]: `a` is shared\n",
            1,
            Outcome(Kind.DEVELOPER, "not-lowered-yet", "a.py:3:5", "`a` is shared"),
        ),
        ("a.py:3:5: error[race]: two", 1, Outcome(Kind.RACE, "race", "a.py:3:5", "two")),
        ("a.py:3: error[deadlock]: all", 1, Outcome(Kind.FAULT, "deadlock", "a.py:3", "all")),
        (
            "error[compiler-failed]: g++\nk.cpp:2:1: error: no\n", 1,
            Outcome(Kind.BUILD, "compiler-failed", "", "g++"),
        ),
        (
            "case 1: Runtime error - a.py:3:5: error[operand-kind]: a buffer\n1 test failed\n", 0,
            Outcome(Kind.UNSUPPORTED, "operand-kind", "a.py:3:5", "a buffer"),
        ),
        ("error[timeout]: a.py ...", 124, Outcome(Kind.TIMEOUT, "timeout", "", "a.py ...")),
        (
            TRACE + "AssertionError: Tensor-likes are not close!\n\nGreatest absolute difference: 3\n",
            1,
            Outcome(Kind.WRONG, "AssertionError", "", "Greatest absolute difference: 3"),
        ),
        (
            TRACE + "ModuleNotFoundError: No module named 'x'\n", 1,
            Outcome(Kind.NEEDS_PACKAGE, detail="No module named 'x'"),
        ),
        (
            TRACE + "ModuleNotFoundError: No module named 'tilelang.x'\n", 1,
            Outcome(Kind.FAILED, "ModuleNotFoundError", "", "No module named 'tilelang.x'"),
        ),
        (TRACE + "AssertionError: M must divide\n", 1,
         Outcome(Kind.FAILED, "AssertionError", "", "M must divide")),
        (TRACE + "RuntimeError: DefaultCPUAllocator: can't allocate memory", 1,
         Outcome(Kind.MEMORY, detail="RuntimeError: DefaultCPUAllocator: can't allocate memory")),
        ("", 3, Outcome(Kind.FAILED, detail="exit code 3")),
    ],
)  # fmt: skip
def test_outcomes(output: str, code: int, expected: Outcome) -> None:
    assert outcome_of(output, code) == expected


def test_some_scripts_say_it_by_their_exit_code() -> None:
    assert outcome_of("[PASSED]", 0, exit_code_counts=True) == Outcome(Kind.PASS)
    for told in ("chunk o failed \u2717", "\x1b[31mWARNING: dk Error: 0.4\x1b[0m"):
        found = outcome_of(f"{told}\nAll test passed!", 0, exit_code_counts=True)
        assert found == Outcome(Kind.WRONG, detail=told)


def test_scripts_of_a_checkout(tmp_path: Path) -> None:
    for name in ("a/b.py", "a/__init__.py", "a/x_golden.py", "shmem/s.py", "c.py",
                 "sparse_flash_attention/bench_sfa/bench_sfa.py"):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    found = list(tasks(tmp_path))
    assert [t.name for t in found if "bench" not in t.name] == ["a/b.py", "c.py", "shmem/s.py"]
    assert len([t for t in found if "bench" in t.name]) == 4
    assert [t.name for t in found if t.needs] == ["shmem/s.py"]
    assert [t.name for t in tasks(tmp_path, "a/*")] == ["a/b.py"]
    assert [t.name for t in tasks(tmp_path, "c.py")] == ["c.py"]


def test_tables() -> None:
    missing = Outcome(Kind.UNSUPPORTED, "unknown-name", "/x/a.py:3:5", "T.tile.f | g")
    results = [
        Result(Task("a.py", Path("a.py")), Outcome(Kind.PASS), 1.0, (3.0, 8.0), True, 2),
        Result(Task("b.py", Path("b.py"), ("--x",)), missing, 2.0),
        Result(Task("c.py", Path("c.py")), missing, 2.0, by_text=True),
        Result(Task("d.py", Path("d.py")), Outcome(Kind.NEEDS_NPU, detail="an NPU")),
    ]
    text = summary(results)
    assert "4 runs: 1 pass, 1 needs NPU, 2 unsupported; 2 say" in text
    assert "median 5.5 ms, slowest 8.0 ms" in text
    assert text.endswith("barriers of all pipes inserted in loops: 2")
    assert obstacles(results) == [("unsupported T.tile.f \\| g", 2, "b.py --x")]
    page = markdown(results, "off")
    assert (
        "| b.py --x | unsupported | unknown-name: T.tile.f \\| g | a.py:3:5 | 2.0 |  |  |  |"
        in page
    )
    assert len(as_csv(results).splitlines()) == 5


HOST = """
import tilelang
import tilelang.language as T


@tilelang.jit
def kernel(X, rows: int = 4096):
    with T.Kernel(1, threads=128):
        {line}


def main(batch=8, seq_len=4096, dim=128):
    heads, m = 64, 8192
    print(run(m=1024 * 8))
    print(batch, seq_len, dim, heads, m, run(8192))


def run(m):
    return m


main(batch=16)
"""


@pytest.mark.usefixtures("quick_scripts")
def test_scripts_for_gpus_are_run_smaller_and_told_what_they_must_change(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(HOST.format(line="T.sync_threads()"))
    (tmp_path / "b.py").write_text(HOST.format(line="T.match_any_sync(0, 1)"))
    (tmp_path / "c.py").write_text("print(1)")
    first, second = gpu_tasks(tmp_path)
    assert first.port == "" and second.port.startswith("line 9: T.match_any_sync: ")
    result = run_task(second, "off", Limits(10, 2**30), tmp_path)
    assert result.outcome.kind is Kind.NEEDS_PORTING
    (tmp_path / "d.py").write_text("print('dk is not close')")
    known = Task("d.py", tmp_path / "d.py", sizes=(), defect="it is wrong")
    result = run_task(known, "off", Limits(30, 2**33), tmp_path)
    assert result.outcome == Outcome(Kind.DEFECT, detail="it is wrong")


def test_numbers_of_the_host_are_made_smaller_and_kernels_left() -> None:
    tree = reduced(ast.parse(HOST.format(line="pass")), limits_of({"dim": 32}))
    text = ast.unparse(tree)
    assert "rows: int=4096" in text and "batch=1, seq_len=256, dim=32" in text
    assert "(16, 512)" in text and "run(512)" in text and "main(batch=1)" in text
    assert "run(m=512)" in text


def test_rows_of_arguments_are_smaller() -> None:
    script = """
def check(M=4096, N=1, parts=1):
    print(M, N, parts)

for row in [(4096, 8192, 16), (64, 65536)]:
    check(*row)
"""
    text = ast.unparse(reduced(ast.parse(script), limits_of({})))
    assert "[(512, 512, 16), (64, 512)]" in text


def test_hosts_try_fewer_values_and_warm_nothing_up() -> None:
    script = """
_BLOCKS = (1, 2, 4, 8, 16, 32, 64)
FEW = {3: "a", 5: "b"}
assert 16 in _BLOCKS
tried = [block for name in (_BLOCKS, FEW) for block in name]
for block in _BLOCKS:
    tried.append(-block)
for key in FEW:
    tried.append(-key)
sizes = benchmark(repeat=100, warmup=[torch.randn(8192, 8192, device="cuda")])
torch.randn(8192, 4096), torch.randn(1024, 1024)
"""
    text = ast.unparse(reduced(ast.parse(script), limits_of({})))
    start = text.partition("sizes")[0]
    scope: dict[str, list[int]] = {}
    exec(start, scope)
    assert [-v for v in scope["tried"] if v < 0] == [1, 8, 64, 3, 5]
    assert "repeat=3, warmup=[torch.randn(512, 512, device='cuda')]" in text
    assert "torch.randn(8192, 4096), torch.randn(1024, 1024)" in text
