"""`report` and `timeline` of a kernel object: which run they tell of, and how they are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import tile_frontend as T
from page_parser import parse
from tile_ir import KernelError
from tile_ir.switches import override
from tile_runtime import jit
from tile_runtime.tools.report.saved_timeline import load_run

pytestmark = pytest.mark.usefixtures("quick_kernels")


@jit(out_idx=[-1])
def doubled(n: Any, block: int = 64, times: int = 1) -> Any:
    length = T.symbolic("length") if n is None else n

    @T.prim_func
    def kernel(A: T.Tensor((length,), "float32"), B: T.Tensor((length,), "float32")):
        with T.Kernel(2, threads=1) as b:
            a = T.alloc_shared((block,), "float32")
            T.copy(A[b * block], a)
            for _ in T.serial(times):
                T.tile.add(a, a, a)
            T.copy(a, B[b * block])

    return kernel


def test_it_makes_inputs_where_nothing_ran_with_a_clock() -> None:
    kernel = doubled(128)
    kernel(torch.zeros(128))
    assert kernel.timeline() is None
    first, second = kernel.report(), kernel.report()
    assert kernel.timeline() is not None
    for report in (first, second):  # the second is of the run that the first made
        assert repr(report).startswith("doubled[n=128] on ") and "Bound by " in repr(report)
        assert "report's own making" in repr(report)
    assert "lines by work" in str(first) and "lines by work" not in repr(first)


def test_it_tells_of_the_latest_run_with_a_clock() -> None:
    kernel, other = doubled(128), doubled(128, times=3)
    with override(time=True):
        kernel(torch.zeros(128))
        report = kernel.report()
        assert "own making" not in str(report) and report.run.facts.tensor_bytes == 2 * 4 * 128
        other(torch.zeros(128))
    # The run of another kernel is not one of this kernel.
    assert kernel.timeline() is None and other.timeline() is not None
    assert "own making" in str(kernel.report()) and "own making" not in str(
        kernel.report(torch.zeros(128))
    )
    assert (
        kernel.report(A=torch.zeros(128)).run.timeline.microseconds
        == report.run.timeline.microseconds
    )


def test_sizes_that_only_a_call_knows() -> None:
    kernel = doubled(None)
    with pytest.raises(KernelError, match="has no size or value before the call") as error:
        kernel.report()
    assert "report(...)" in str(error.value.hint)
    assert "doubled[n=None] on" in str(kernel.report(torch.zeros(128)))


def test_files(tmp_path: Path) -> None:
    report = doubled(128).report()
    for name in ("page.html", "trace.json", "run.npz"):
        assert report.save(tmp_path / "deep" / name).stat().st_size > 1000
    assert load_run(tmp_path / "deep" / "run.npz").kernel == "doubled[n=128]"
    with pytest.raises(KernelError, match=r"can not be written as 'page\.pdf'"):
        report.save(tmp_path / "page.pdf")


def test_what_a_notebook_shows() -> None:
    kernel = doubled(128)
    document = parse(kernel.report()._repr_html_())
    page = parse(document.one("iframe").attributes["srcdoc"])
    assert page.one("title").words().startswith("doubled[n=128] on ")
    timeline = kernel.timeline()
    assert timeline is not None and repr(timeline).startswith("<timeline: ")
    picture = parse(timeline._repr_html_()).one("svg")
    rows = [path.one("title").text for path in picture.all("path")]
    assert any(row.startswith("vector, V: vector unit, ") for row in rows)
