"""Curves over sizes: `T.perf_report` and `tile-ascend bench --vary`, their tables and pictures."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import tile_frontend as T
from page_parser import parse
from tile_ir import KernelError
from tile_runtime import jit
from tile_runtime.tools.command_line import main
from tile_runtime.tools.command_line.vary_argument import vary_argument
from tile_runtime.tools.report.perf_picture import Curve, Panel, perf_picture

pytestmark = pytest.mark.usefixtures("quick_kernels")
TEXT = """
import tile_frontend as T


@T.jit(out_idx=[-1])
def doubled(n, times=1, dtype="float32"):
    @T.prim_func
    def kernel(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype)):
        with T.Kernel(2, threads=1) as b:
            a = T.alloc_shared((n // 2,), dtype)
            T.copy(A[b * (n // 2)], a)
            for _ in T.serial(times):
                T.tile.add(a, a, a)
            T.copy(a, B[b * (n // 2)])

    return kernel
"""


@jit(out_idx=[-1])
def doubled(n: int, times: int = 1) -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(2, threads=1) as b:
            a = T.alloc_shared((n // 2,), "float32")
            T.copy(A[b * (n // 2)], a)
            for _ in T.serial(times):
                T.tile.add(a, a, a)
            T.copy(a, B[b * (n // 2)])

    return kernel


@jit(out_idx=[-1])
def any_length(block: int = 64) -> Any:
    n = T.symbolic("n")

    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block), threads=1) as b:
            a = T.alloc_shared((block,), "float32")
            T.copy(A[b * block], a)
            T.copy(a, B[b * block])

    return kernel


@jit
def eager(A, block: int = 64):
    n = T.const("n")
    A: T.Tensor((n,), "float32")
    B = T.empty((n,), "float32")
    with T.Kernel(T.ceildiv(n, block), threads=1) as b:
        a = T.alloc_shared((block,), "float32")
        T.copy(A[b * block], a)
        T.copy(a, B[b * block])
    return B


def test_kernels_of_all_kinds_in_one_table() -> None:
    table = T.perf_report([doubled, any_length, eager], "n", [128, 256], args={"block": 64})
    assert table.kernels == ("doubled", "any_length", "eager")
    assert [p.size["n"] for p in table.points] == [128] * 3 + [256] * 3
    assert all(p.microseconds > 0 and 0 < p.share < 1 and p.bound == "HBM" for p in table.points)
    assert all(p.task_microseconds > p.microseconds for p in table.points)
    assert doubled(128).report().run.timeline.microseconds == table.points[0].microseconds
    rows = list(csv.DictReader(io.StringIO(table.to_csv())))
    assert [(row["n"], row["kernel"]) for row in rows[:2]] == [
        ("128", "doubled"),
        ("128", "any_length"),
    ]
    assert float(rows[0]["us"]) == pytest.approx(table.points[0].microseconds, rel=1e-5)
    document = parse(table._repr_html_())
    assert len(document.one("table").all("tr")) == 7
    # A panel for time, rate and share: in each a line and two dots for a kernel.
    picture = document.one("svg")
    assert len(picture.all("polyline")) == 9 and len(picture.all("title")) == 18


def test_a_size_that_does_not_fit_says_why() -> None:
    table = T.perf_report({"mine": doubled}, ["n"], [128, 1 << 20], plot_name="Sizes")
    assert [bool(p.problem) for p in table.points] == [False, True]
    assert "memory-overflow: " in str(table) and "memory-overflow: " in table.to_csv()
    assert "memory-overflow: " in table._repr_html_() and "Sizes" in table.picture()
    with pytest.raises(KernelError, match="ub needs"):
        T.perf_report(doubled, "n", [1 << 20])


def test_inputs_of_the_caller() -> None:
    asked: list[dict[str, int]] = []

    def inputs(**sizes: int) -> list[torch.Tensor]:
        asked.append(sizes)
        return [torch.ones(sizes["n"])]

    T.perf_report(doubled, ["n", "times"], [(128, 2), 128], inputs=inputs)
    assert asked == [{"n": 128, "times": 2}, {"n": 128, "times": 128}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernels": doubled, "x_names": "n", "x_vals": []}, "nothing to measure"),
        (
            {"kernels": [doubled, doubled], "x_names": "n", "x_vals": [64]},
            "two kernels are called 'doubled'",
        ),
        (
            {"kernels": [doubled], "x_names": "n", "x_vals": [64], "line_names": ["a", "b"]},
            "2 line_names for 1 kernels",
        ),
        (
            {"kernels": doubled, "x_names": ["n", "times"], "x_vals": [(1, 2, 3)]},
            "has 3 values for n, times",
        ),
        (
            {"kernels": doubled, "x_names": "n", "x_vals": [64], "args": {"tims": 2}},
            "no kernel has an argument 'tims'",
        ),
        ({"kernels": 3, "x_names": "n", "x_vals": [64]}, "is of type int, whose sizes are fixed"),
    ],
)
@pytest.mark.whole
def test_what_can_not_be_varied(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(KernelError, match=re.escape(message)):
        T.perf_report(**arguments)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.py"
    script.write_text(TEXT + TEXT.replace("def doubled", "def other"))
    plot = tmp_path / "deep" / "out.svg"
    asked = ["bench", f"{script}:doubled", "--vary", "n=128:256:x2", "--vs", f"{script}:other", "-a", "times=3",
             "--plot", str(plot)]  # fmt: skip
    assert main(asked) == 0
    shown = capsys.readouterr()
    assert "doubled, n=128: " in shown.err and shown.out.splitlines()[0].split()[:2] == [
        "n",
        "kernel",
    ]
    assert "deep/out.svg and out.csv" in shown.out
    rows = list(csv.DictReader(plot.with_suffix(".csv").open()))
    assert [(r["n"], r["kernel"]) for r in rows] == [
        (n, k) for n in ("128", "256") for k in ("doubled", "other")
    ]
    assert plot.read_text().startswith("<svg ") and "#ffffff" in plot.read_text()
    for wrong, message in (
        (["bench", f"{script}:doubled", "--plot", "x.svg"], "--plot compares kernels over sizes"),
        (
            ["bench", f"{script}:doubled", "--vary", "n=128", "--plot", "x.png"],
            "curves are drawn as .svg",
        ),
        (["bench", f"{script}:doubld", "--vary", "n=128"], "did you mean `doubled`?"),
        (["bench", "gemm", "--vary", "n=128"], "expected script.py:name"),
        (["bench", f"{script}:doubled", "--vary", "n=8:2:x2"], "it gives no sizes"),
    ):
        assert main(wrong) == 1
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("n=256:2000:x2", [256, 512, 1024]),
        ("n=100:300:+100", [100, 200, 300]),
        ("n=1,2,x", [1, 2, "x"]),
        ("n=7", [7]),
    ],
)
@pytest.mark.whole
def test_sizes(text: str, values: list[Any]) -> None:
    assert vary_argument(text) == [{"n": value} for value in values]
    assert vary_argument(text.replace("n=", "n,m=")) == [{"n": v, "m": v} for v in values]


@pytest.mark.parametrize(
    "text", ["256:512:x2", "n=1:2", "n=0:5:x2", "n=1:9:x1", "n=1:900:+1", "n=a:b:x2", "n="]
)
@pytest.mark.whole
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(KernelError, match="--vary"):
        vary_argument(text)


@pytest.mark.parametrize(
    "numbers",
    [[1.0], [3.0, 3.0], [0.5, 40000.0], [2.0, 9.0], []],
)
@pytest.mark.parametrize("scale", ["log", "linear", "percent"])
@pytest.mark.whole
def test_points_stay_in_their_panel(scale: str, numbers: list[float]) -> None:
    """Points lie between the axes, the largest above the smallest, and a gap splits a line."""
    labels = [str(i) for i in range(len(numbers) + 1)]
    curve = Curve("k", dict(zip(labels, numbers, strict=False)))
    picture = perf_picture("n", labels, [Panel("us", scale, (curve,))])
    dots = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="3.5"', picture)
    places = [(float(x), float(y)) for x, y in dots]
    assert len(places) == len(numbers)
    assert all(48 <= x <= 298 and 58 <= y <= 278 for x, y in places)
    heights = dict(zip(numbers, (y for _, y in places), strict=True))
    assert sorted(heights, key=lambda n: -heights[n]) == sorted(heights)
