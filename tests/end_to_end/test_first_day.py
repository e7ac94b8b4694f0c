"""Compare the error of each wrong program of `first_hour` and `first_day` with the text, hint, line
and column that stand in the program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from expected_errors import Case, cases, module_of
from forked_python import run_python
from kept_cases import kept

import tile_frontend as T
from tile_ir import KernelError, KernelWarning, TileError

# Who comes from Triton or PyTorch, and who has read the first pages.
FILES = {"hour": "first_hour.py", "day": "first_day.py"}
ALL = [case for name in FILES.values() for case in cases(Path(__file__).with_name(name))]


@pytest.mark.whole
@pytest.mark.parametrize("case", kept(ALL, 24), ids=lambda c: f"{c.file.stem}-{c.name}")
def test_the_error_is_exactly_this(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    # Places are shown as from the folder of the file.
    monkeypatch.chdir(case.file.parent)
    with pytest.raises(TileError) as caught:
        getattr(module_of(case.file), case.name)()
    case.check(caught.value)


def copied(stores: bool) -> Any:
    @T.prim_func
    def k(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1, is_npu=True) as cid:
            x = T.alloc_ub((64,), "float32")
            T.copy(X, x)
            T.barrier_all()
            if stores:
                T.copy(x[0:32], Y[0])

    return k


def test_a_prim_func_is_compiled_before_it_is_called() -> None:
    """There is no place in a kernel to show: the script's own frame is above the message."""
    kernel: Any = copied(True)
    with pytest.raises(KernelError) as caught:
        kernel(torch.zeros(64))
    assert str(caught.value) == (
        "error[call-prim-func]: `k` is a prim_func: it is compiled before it is called\n"
        "hint: write T.compile(k)(...), with out_idx for what it returns"
    )


@pytest.mark.parametrize("stores", [False, True])
def test_a_result_that_is_not_stored(stores: bool) -> None:
    """Warnings say what to do as well as errors do."""
    with pytest.warns(KernelWarning) as told:
        T.compile(copied(stores), out_idx=[-1])(torch.zeros(64))
    rest = "or pass it in as an argument: leave it out of out_idx [output-not-written]"
    assert [str(w.message) for w in told] == [
        f"nothing writes [32] to [63] of output `Y`: 32 of 64 elements; write all of it, {rest}"
        if stores
        else f"nothing writes output `Y`; store the result with T.copy(tile, Y[...]), {rest}"
    ]


def test_only_frames_of_the_script_are_shown(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import tile_frontend as T\n\n@T.jit\ndef k(X: T.Tensor((8,), 'float32')):\n    pass\n"
    )
    done = run_python([str(script)])
    frames = [line for line in done.stderr.splitlines() if line.startswith("  File ")]
    assert frames == [f'  File "{script}", line 3, in <module>'], done.stderr


@pytest.mark.parametrize(("name", "least"), [("hour", 60), ("day", 50)])
def test_every_program_has_its_error_and_there_are_enough(name: str, least: int) -> None:
    file = Path(__file__).with_name(FILES[name])
    programs = [line for line in file.read_text().splitlines() if line.startswith("def ")]
    assert len([c for c in ALL if c.file == file]) == len(programs) >= least
