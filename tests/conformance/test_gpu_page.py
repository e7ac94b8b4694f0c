"""The table of scripts for GPUs, by folder."""

from __future__ import annotations

from pathlib import Path

from conformance.gpu_page import BEGIN, END, PAGE, write_page
from conformance.outcome import Kind, Outcome
from conformance.run_task import Result
from conformance.scripts import Task


def result(name: str, kind: Kind, slug: str = "", detail: str = "") -> Result:
    return Result(Task(name, Path(name)), Outcome(kind, slug, "", detail))


def test_scripts_are_counted_by_folder(tmp_path: Path) -> None:
    results = [
        result("norm/one.py", Kind.PASS),
        result("norm/two.py", Kind.PASS),
        result("gemm/tma.py", Kind.NEEDS_PORTING, detail="line 3"),
        result("gemm/slow.py", Kind.TIMEOUT, "timeout", "ended after 75 s"),
        result("gemm/odd.py", Kind.WRONG, "", "0 | 1 differ"),
    ]
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nearlier table\n{END}\nbehind\n")
    write_page(results, page)
    text = page.read_text()
    assert (
        text.startswith("before\n") and text.endswith("\nbehind\n") and "earlier table" not in text
    )
    assert "2 of 4 scripts without constructs of a GPU alone end well" in text
    assert "| `norm` | 2 | 2 |  |  |" in text
    others = "timeout: takes longer than the limit; wrong result: 0 \\| 1 differ"
    assert f"| `gemm` | 3 |  | 1 | {others} |" in text


def test_the_page_has_a_place_for_it() -> None:
    text = PAGE.read_text()
    assert text.count(BEGIN) == 1 and END in text.partition(BEGIN)[2]
