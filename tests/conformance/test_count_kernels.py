"""Which kernels of a folder are counted, and how cases of our own judge them."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from conformance.count_kernels import Count, Verdict, as_csv, families, judge, total
from conformance.drivers.case import Compared, Draw, Driver, driver, table
from conformance.drivers.child import drivers_of
from conformance.kernels import FoundKernel, kernels, kernels_of
from conformance.launches import launches_in
from conformance.outcome import Kind, Outcome
from conformance.run_driver import CaseResult
from conformance.run_task import Limits, Result, run_task
from conformance.scripts import Task

# A factory of two kernels, one of which has two launches, and a kernel that calls itself.
EXAMPLE = """
import tilelang
import tilelang.language as T
import torch
import fla.ops


@tilelang.jit(out_idx=[1])
def scaled(n, twice, wrong=False):
    @T.prim_func
    def once(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 64), threads=64) as bx:
            for i in T.Parallel(64):
                if bx * 64 + i < n:
                    B[bx * 64 + i] = A[bx * 64 + i] * (3.0 if wrong else 2.0)

    @T.prim_func
    def again(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 64), threads=64) as bx:
            for i in T.Parallel(64):
                if bx * 64 + i < n:
                    B[bx * 64 + i] = A[bx * 64 + i] * 2.0
        with T.Kernel(T.ceildiv(n, 64), threads=64) as bx:
            for i in T.Parallel(64):
                if bx * 64 + i < n:
                    B[bx * 64 + i] += B[bx * 64 + i]

    return again if twice else once


@tilelang.jit
def moved(A, by):
    n = T.const("n")
    A: T.Tensor((n,), "float32")
    B = T.empty((n,), "float32")
    with T.Kernel(1, threads=64) as bx:
        for i in T.Parallel(n):
            B[i] = A[i] + by
    return B


if __name__ == "__main__":
    torch.testing.assert_close(moved(torch.zeros(64), 1), torch.ones(64))
"""
FAMILY = '''
from conformance.drivers.case import Compared, driver


@driver("part/example.py:scaled", """
    n   twice wrong
    100 False False
    64  True  False
""")
def right(factory, draw, n, twice, wrong):
    a = draw(n)
    yield Compared("b", factory(n, twice, wrong)(a), a * (4 if twice else 2), 1e-6)


@driver("part/example.py:moved", """
    n  by
    64 1.5
    64 0
    64 2.5
""")
def ended(factory, draw, n, by):
    a = draw(n)
    if not by:
        raise SystemExit(3)
    yield Compared("b", factory(a, by), a + by + (by > 2), 1e-6)
'''
LIMITS = Limits(200, 2**34)


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    folder = tmp_path / "examples"
    (folder / "part").mkdir(parents=True)
    (folder / "part" / "example.py").write_text(EXAMPLE)
    (folder / "of_a_gpu.py").write_text(
        "import tilelang.language as T\ndef f():\n  with T.Kernel(1):\n    T.match_any_sync(0, 1)\n"
    )
    (folder / "none.py").write_text("print('T.Kernel')\n")
    return folder


def test_kernels_are_functions_around_launches(examples: Path) -> None:
    found = list(kernels(examples))
    assert [k.title.removeprefix("part/example.py:") for k in found] == [
        "scaled.once", "scaled.again", "moved",
    ]  # fmt: skip
    once, again, moved = found
    assert (once.factory, moved.factory) == ("scaled", "moved")
    assert len(again.lines) == 2 and len(once.lines) == 1
    places = {(again.file, line) for line in again.lines}
    assert again.launched_in(places) and not once.launched_in(places)
    assert not again.launched_in({next(iter(places))})
    assert kernels_of("a.py", ast.parse("with T.Kernel(1): pass")) == []


@pytest.mark.usefixtures("quick_scripts")
def test_a_script_counts_for_the_kernels_that_it_launches(examples: Path, tmp_path: Path) -> None:
    path = examples / "part" / "example.py"
    path.write_text(EXAMPLE.replace("import fla.ops", ""))
    task = Task("part/example.py", path, sizes=())
    ran = run_task(task, "strict", LIMITS, tmp_path)
    found = list(kernels(examples))
    assert ran.outcome == Outcome(Kind.PASS)
    verdicts = list(judge(found, [], lambda file: ran))
    assert [v.right for v in verdicts] == [False, False, True]
    assert verdicts[0].why == "the script passes without launching it"
    assert launches_in(tmp_path / "nothing", examples) == frozenset()


@pytest.mark.usefixtures("quick_scripts")
def test_cases_run_in_children_that_may_end(examples: Path, tmp_path: Path) -> None:
    """A package that is not there is imported; a row that ends its process is one that failed; a
    wrong result is named first."""
    family = tmp_path / "family.py"
    family.write_text(FAMILY)
    count = Count(examples, "*", "strict", LIMITS, tmp_path)
    once, again, moved = verdicts = list(count.verdicts([str(family)]))
    assert (once.right, once.by) == (True, "1 case") and (again.right, again.by) == (True, "1 case")
    assert not moved.right and moved.why.startswith("2 of them: wrong result b is off by ")
    assert moved.why.endswith("[n=64 by=2.5]")
    assert total(verdicts, "strict") == "2 of 3 kernels in 1 files are right at --check strict"
    assert (
        as_csv(verdicts).splitlines()[2]
        == f"part/example.py,scaled.again,{again.kernel.lines[0]} {again.kernel.lines[1]},True,1 case,"
    )


KERNEL = FoundKernel("a.py", "f.g", (3,))
OTHER = FoundKernel("a.py", "f.h", (9,))
CASES = Driver("a.py:f", ({"n": 1}, {"n": 2}), lambda *given: iter(()))


def test_what_speaks_against_a_kernel() -> None:
    here, there = frozenset({("a.py", 3)}), frozenset({("a.py", 9)})
    passed = CaseResult(CASES, 0, Outcome(Kind.PASS), launched=here)
    elsewhere = replace(passed, launched=there)
    refused = CaseResult(CASES, 1, Outcome(Kind.UNSUPPORTED, "slug", "a.py:4:1", "no"))

    def of(*cases: CaseResult) -> list[Verdict]:
        return list(
            judge(
                [KERNEL, OTHER],
                cases,
                lambda file: Result(Task("a.py", Path()), Outcome(Kind.PASS)),
            )
        )

    assert [v.right for v in of(passed, elsewhere)] == [True, True]
    assert [str(v) for v in of(passed)] == [
        "a.py:f.g: right, by 1 case", "a.py:f.h: NOT RIGHT, by 0 cases: no case launches it",
    ]  # fmt: skip
    assert "1 of them: unsupported slug a.py:4:1 no [n=2]" in str(of(passed, refused)[0])
    whole = [passed, replace(elsewhere, outcome=Outcome(Kind.WRONG, detail="x"))]
    assert [v.right for v in of(*whole)] == [True, False]


def test_tables_and_draws() -> None:
    rows = table("  n   sizes dtype by\n  3 1,2 bf16 yes\n\n")
    assert rows == ({"n": 3, "sizes": (1, 2), "dtype": "bfloat16", "by": "yes"},)
    assert torch.equal(Draw(1)(4), Draw(1)(4)) and not torch.equal(Draw(1)(4), Draw(2)(4))
    assert driver("a.py:f", "n\n1")(CASES.check).title(0) == "n=1"


@pytest.mark.parametrize(
    ("got", "want", "complaint"),
    [
        ([1.0, 2.0], [1.0, 2.0], ""),
        ([1.0, 2.0], [[1.0, 2.0]], "x has shape (2,) instead of (1, 2)"),
        ([1.0, torch.nan], [1.0, 2.0], "x: 1 of 2 elements are infinite or NaN by mistake"),
        ([1.0, torch.inf], [1.0, torch.inf], ""),
        ([1.0, 2.5], [1.0, 2.0], "x is off by 2.2e-01 (allowed 1.0e-03), far elements: 1"),
        ([0.0] * 999 + [0.03], [1.0] * 999 + [1.0], "x is off by 1.0e+00 (allowed 1.0e-03), far elements: 1000"),
    ],
)  # fmt: skip
def test_complaints(got: list[float], want: list[float], complaint: str) -> None:
    assert Compared("x", torch.tensor(got), torch.tensor(want), 1e-3).complaint() == complaint


def test_every_family_has_drivers_of_kernels_with_names() -> None:
    found = [d for family in families() for d in drivers_of(family)]
    assert len({d.kernel for d in found}) == len(found) > 100
    assert all(d.rows and d.file.endswith(".py") and d.factory for d in found)
