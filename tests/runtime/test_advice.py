"""Advice: which changes a text offers, how they are applied, and how what helps is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import torch

from tile_ir import KernelError
from tile_ir.switches import override
from tile_runtime.tools.command_line.kernel_program import (
    changes_of,
    kernel_program,
    program_kernel,
)
from tile_runtime.tuning.advice.advise import Advice, advise
from tile_runtime.tuning.advice.kernel_text import KernelText
from tile_runtime.tuning.advice.option_edits import option_edits
from tile_runtime.tuning.advice.possible_changes import next_values, possible_changes
from tile_runtime.tuning.advice.program import (
    Argument,
    Edit,
    LineEdit,
    Program,
    apply_change,
    difference,
)
from tile_runtime.tuning.advice.program_trial import run_program, save_case
from tile_runtime.tuning.trial import REFUSED, RIGHT, WRONG, TrialOutcome

pytestmark = pytest.mark.usefixtures("quick_kernels")

SCRIPT = """\
import tile_frontend as T

DEPTH = 16
OTHER = 3


@T.jit(out_idx=[-1])
def scaled(M, N, rows=8, check=True):
    cores = 4

    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(cores, threads=1) as cid:
            x = T.alloc_shared((rows, DEPTH), "float32")
            y = T.alloc_shared((32, 64), "float32")
            for t in range(T.cdiv(M, rows)):
                T.copy(X[t * rows, 0], x)
            for t in T.Pipelined(4, num_stages=2):
                T.copy(X[t * 32, 0], y)
            for t in T.serial(4):
                y[t, 0] = 0.0

    return kernel
"""


def program(text: str = SCRIPT, kernel: str = "scaled", **arguments: object) -> Program:
    return Program("script.py", text, kernel, tuple(arguments.items()))


def test_the_text_offers_sizes_loops_lanes_and_options() -> None:
    found = possible_changes(program(M=64, N=32), {"tl.some": True})
    said = [change.says for change in found]
    assert said == [
        "rows=16", "rows=4", "M=128", "M=32", "N=64", "N=16",
        "DEPTH = 32 at line 3", "DEPTH = 8 at line 3",
        "cores = 8 at line 9", "cores = 2 at line 9", "cores = 5 at line 9", "cores = 3 at line 9",
        "64 in place of 32 at lines 15, 19", "16 in place of 32 at lines 15, 19",
        "`T.Pipelined(T.cdiv(M, rows), num_stages=2)` in place of `range(T.cdiv(M, rows))` at line 16",
        "num_stages=3 at line 18", "num_stages=1 at line 18",
        "threads=2 in T.Kernel at line 13",
        '"tl.some": True',
    ]  # fmt: skip
    for change in found:
        text = apply_change(program(M=64, N=32), change).text
        compile(text, "script.py", "exec")
        assert isinstance(change, Argument) or text != SCRIPT


def test_a_script_without_a_launch_offers_nothing() -> None:
    assert possible_changes(program(kernel="absent"), {}) == []
    assert possible_changes(program("kernel = 3\n", "kernel"), {"tl.some": True}) == []


@pytest.mark.parametrize(
    ("more", "none"),
    [
        ("scaled(64, 32)\n", True),
        ("made = [scaled(64, n) for n in (16, 32)]\n", True),
        ("if __name__ == '__main__':\n    scaled(64, 32)\n", False),
        ("print(3)\n", False),
        ("def main():\n    scaled(64, 32)\n", False),
    ],
)
def test_scripts_that_run_kernels_when_loaded_are_left_alone(more: str, none: bool) -> None:
    assert (possible_changes(program(SCRIPT + more), {}) == []) == none


@pytest.mark.parametrize(
    ("blocks", "rounds", "offered"),
    [
        ("T.cdiv(M, rows)", "T.serial(rows)", [16, 4, 1]),
        ("T.cdiv(M, rows)", "T.Parallel(rows)", [16, 4]),
        ("4", "T.serial(rows)", [16, 4]),
    ],
)
def test_rounds_that_could_be_blocks_are_tried_as_such(
    blocks: str, rounds: str, offered: list[int]
) -> None:
    text = SCRIPT.replace("T.Kernel(cores", f"T.Kernel({blocks}").replace("T.serial(4)", rounds)
    found = possible_changes(Program("script.py", text, "scaled"), {})
    assert [c.new for c in found if isinstance(c, Argument) and c.name == "rows"] == offered


@pytest.mark.parametrize(("value", "near"), [(1, [2]), (2, [4, 1, 3]), (3, [6, 4, 2]), (8, [16, 4]), (9, [18])])  # fmt: skip
def test_values_to_try(value: int, near: list[int]) -> None:
    assert next_values(value) == near


@pytest.mark.parametrize(
    ("decorator", "changed"),
    [
        ("@T.jit", '@T.jit(pass_configs={"a.b": True})'),
        ("@T.jit()", '@T.jit(pass_configs={"a.b": True})'),
        ("@T.jit(out_idx=[-1])", '@T.jit(out_idx=[-1], pass_configs={"a.b": True})'),
        ("@T.jit(out_idx=[-1],)", '@T.jit(out_idx=[-1],pass_configs={"a.b": True})'),
        ("@T.jit(pass_configs=OURS)", '@T.jit(pass_configs={**OURS, "a.b": True})'),
        ("@T.jit(pass_configs={})", '@T.jit(pass_configs={"a.b": True})'),
        ("@T.jit(pass_configs={K.X: True})", '@T.jit(pass_configs={"a.b": True, K.X: True})'),
        ('@T.jit(pass_configs={"a.b": False})', '@T.jit(pass_configs={"a.b": True})'),
        ("@T.jit(pass_configs={T.K.A_B: False})", "@T.jit(pass_configs={T.K.A_B: True})"),
        (
            "@T.jit(\n    out_idx=[-1],\n)",
            '@T.jit(\n    out_idx=[-1],\npass_configs={"a.b": True})',
        ),
        ("@outer\n@T.jit(out_idx=[1])", '@outer\n@T.jit(out_idx=[1], pass_configs={"a.b": True})'),
    ],
)
def test_an_option_goes_where_the_kernel_is_compiled(decorator: str, changed: str) -> None:
    body = "\ndef scaled():\n    with T.Kernel(1) as cid:\n        pass\n"
    before = program(decorator + body)
    (edit,) = option_edits(KernelText(before), "a.b", True)
    assert apply_change(before, edit).text == changed + body


def test_an_option_of_a_call_inside_the_factory() -> None:
    before = program("def scaled():\n    f = 1\n    return T.compile(f, out_idx=[1])\n")
    (edit,) = option_edits(KernelText(before), "a.b", False)
    assert apply_change(before, edit).text.splitlines()[2] == (
        '    return T.compile(f, out_idx=[1], pass_configs={"a.b": False})'
    )


def test_a_change_of_another_text_is_refused() -> None:
    with pytest.raises(KernelError, match="line 3 of script.py is not the line to change"):
        apply_change(
            program(), Edit("x", (LineEdit(3, "DEPTH = 4", "DEPTH = 8"),), "size", "DEPTH")
        )


def test_what_to_paste_is_a_diff_and_arguments() -> None:
    before = program(M=64)
    after = apply_change(before, Argument("M", 64, 128))
    after = apply_change(after, Edit("", (LineEdit(3, "DEPTH = 16", "DEPTH = 8"),), "size", "D"))
    assert [*difference(before, after)][-3:] == ["-DEPTH = 16", "+DEPTH = 8", "arguments: -a M=128"]


def searched(times: Mapping[tuple[int, int], float | str], most: int = 20) -> Advice:
    """Advice on a program whose arguments are a=4 and b=4, with these times; a text is a slug, and
    what is not told of takes long."""

    def changes(p: Program) -> list[Argument]:
        return [
            Argument(name, value, new)
            for name, value in p.arguments
            for new in (value * 2, value // 2)
            if new >= 1
        ]

    def measure(programs: Sequence[Program]) -> list[TrialOutcome]:
        outcomes = []
        for p in programs:
            time = times.get((p.given["a"], p.given["b"]), 1e6)
            if isinstance(time, str):
                outcomes.append(TrialOutcome(REFUSED, None, "no", time))
            else:
                outcomes.append(TrialOutcome(RIGHT, time / 1e3))
        return outcomes

    return advise(program(a=4, b=4), 100.0, changes, measure, most)


def best(advice: Advice) -> dict[str, int] | None:
    return None if advice.best is None else advice.best.program.given


def test_what_helps_is_taken_further_and_together() -> None:
    times = {(8, 4): 80.0, (16, 4): 70.0, (4, 8): 95.0, (16, 8): 50.0, (32, 4): 90.0}
    advice = searched(times)
    assert best(advice) == {"a": 16, "b": 8} and advice.best is not None
    assert (advice.before, advice.best.says) == (100.0, "a=16 and b=8")


def test_what_hardly_helps_is_not_advised() -> None:
    advice = searched({(8, 4): 97.5, (4, 2): 99.0})
    assert advice.best is None and len(advice.tried) == 4


def test_tiles_without_room_are_tried_beside_smaller_ones() -> None:
    advice = searched({(8, 4): "memory-overflow", (4, 8): "memory-overflow", (8, 2): 60.0})
    assert best(advice) == {"a": 8, "b": 2}


def test_no_more_is_run_than_asked_for() -> None:
    advice = searched({(8, 4): 80.0, (16, 4): 70.0}, most=3)
    assert len(advice.tried) == 3
    assert best(searched({(8, 4): 80.0}, most=0)) is None


KERNEL = """\
import tile_frontend as T


@T.jit(out_idx=[-1])
def doubled(M, N, rows=4, factor=2):
    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(M // rows, threads=2) as cid:
            x = T.alloc_shared((rows, N), "float32")
            T.copy(X[cid * rows, 0], x)
            for i, j in T.Parallel(rows, N):
                x[i, j] = x[i, j] * factor
            T.copy(x, Y[cid * rows, 0])

    return kernel
"""


def test_changes_leave_the_parameters_and_the_results_as_they_are(tmp_path: Path) -> None:
    """Other sizes of the tensors are no change to try; another factor, and tiles that do not divide
    the rows, are tried and found wrong."""
    script = tmp_path / "doubled.py"
    script.write_text(KERNEL)
    before = kernel_program(f"{script}:doubled", {"M": 12, "N": 64})
    assert {c.target for c in changes_of(before, ("size",))} >= {"rows", "factor"}
    assert not {c.target for c in changes_of(before, ())} & {"M", "N"}
    kernel = program_kernel(before)
    x = torch.randn(12, 64)
    with override(check="strict"):
        result = kernel(x)
    case = save_case(tmp_path / "case.pt", kernel, [x], result, [x])

    def outcome(**arguments: int) -> str:
        changed = kernel_program(f"{script}:doubled", {"M": 12, "N": 64, **arguments})
        return run_program(program_kernel, changed, case, {}).state

    assert outcome(rows=2) == RIGHT
    assert outcome(rows=8) == WRONG  # 12 // 8 is one block
    assert outcome(factor=3) == WRONG
    assert outcome() == REFUSED  # the same kernel
