"""The self-test: on the simulator as it is, on the NPU by its double, and what it says of a device
that is wrong or missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from selftest.agreement import difference
from selftest.op_kernels import OpKernel, op_kernel

import tile_ir
from npu_double import NpuDouble
from tile_runtime.tools.command_line import main

ROOT = Path(__file__).parents[2]
GOLDENS = sorted((ROOT / "tests/codegen/ops").glob("*.tir"))


@pytest.mark.parametrize("path", GOLDENS, ids=lambda p: p.stem)
def test_goldens_become_kernels(path: Path) -> None:
    """Those of lowered kernels aside: and each has a result, if it has something to store from."""
    golden = tile_ir.parse(path.read_text().partition("# ---- expected")[0], str(path))
    made = op_kernel(golden)
    if golden.phase is not tile_ir.Phase.BUILT:
        assert isinstance(made, str)
        return
    assert isinstance(made, OpKernel)
    tile_ir.verify(made.func)
    arrays = [a.copy() for a in made.arrays]
    with np.errstate(all="ignore"):
        tile_ir.interpret(made.func, arrays)
    results = [
        not np.array_equal(before, after) for before, after in zip(made.arrays, arrays, strict=True)
    ]
    assert any(results) or not any("_out" in p.name for p in made.func.tensors)


def rows(text: str) -> dict[str, list[str]]:
    """The words after the name, of each line of the table."""
    return {words[0]: words[1:] for line in text.splitlines()[2:-1] if (words := line.split())}


def test_on_the_simulator(capsys: pytest.CaptureFixture[str]) -> None:
    for pattern, how in (("ops/add", "NumPy"), ("examples/01*", "script"), ("ops/zero_l0", "it")):
        assert main(["selftest", "--only", pattern]) == 0
        text = capsys.readouterr().out
        assert text.startswith("1 cases on the simulator of Ascend910B2\n")
        ((name, words),) = rows(text).items()
        assert name.startswith(pattern.rstrip("*")) and words[-1] == how
        assert words[0] == ("not" if pattern == "ops/zero_l0" else "ok")
    assert text.endswith("0 ok, 0 wrong, 1 not run\n")


def test_what_is_wrong_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "examples").mkdir()
    for name, body in (("mismatch", "print('MISMATCH: big'); raise SystemExit(1)"),
                       ("broken", "raise ValueError('no')"), ("idle", "")):  # fmt: skip
        (tmp_path / "examples" / f"{name}.py").write_text(body)
    assert main(["selftest", "--sources", str(tmp_path)]) == 1
    text = capsys.readouterr().out
    assert "exit code 1: MISMATCH: big" in text and "ValueError: no" in text
    assert "it calls no kernel" in text and text.endswith("0 ok, 3 wrong, 0 not run\n")
    for arguments, message in (
        (["--only", "ops/nothing"], "no case fits 'ops/nothing'"),
        (["--sources", str(tmp_path / "examples")], "has no examples and no goldens"),
        (["--device", "npu"], "--device npu needs an NPU, but torch_npu is not installed"),
    ):
        assert main(["selftest", *arguments]) == 1
        assert message in capsys.readouterr().err


def test_on_the_double(machine: NpuDouble, capsys: pytest.CaptureFixture[str]) -> None:
    """Results of both sides, and times of the model and of events, for each kernel."""
    before = len(machine.command_lines())
    for pattern in ("examples/01*", "ops/exp"):
        assert main(["selftest", "--device", "npu", "--only", pattern]) == 0
        text = capsys.readouterr().out
        assert "1 cases on the NPU and the simulator of Ascend910B3" in text
        for words in rows(text).values():
            assert "ok" in words and words[-1] == "simulator"
            modelled, _, measured, _ = words[words.index("ok") + 2 : words.index("ok") + 6]
            assert float(modelled) > 0 and float(measured) == 1000.0  # the double's millisecond
    assert len(machine.command_lines()) >= before + 2


def test_a_wrong_device(
    machine: NpuDouble, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.runtime.fail_next("launch", 507015)
    assert main(["selftest", "--device", "npu", "--only", "ops/mul"]) == 1
    text = capsys.readouterr().out
    assert "fails" in text and "error 507015, a core met an exception" in text
    monkeypatch.setenv("NPU_DOUBLE_EDIT", r"s/AscendC::Add\(/AscendC::Sub(/")
    assert main(["selftest", "--device", "npu", "--only", "ops/add"]) == 1
    text = capsys.readouterr().out
    assert rows(text)["ops/add"][0] == "differs" and text.endswith("0 ok, 1 wrong, 0 not run\n")


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("found", "wanted", "right"),
    [
        ([1.0, 100.0], [1.0, 100.001], True),
        ([1.0, 100.0], [1.0, 100.1], False),
        ([NAN, INF, 1.0], [NAN, INF, 1.0], True),
        ([NAN, INF, 1.0], [INF, NAN, 1.0], False),
        ([-INF], [INF], False),
        ([1.0], [NAN], False),
        ([0.0], [0.0], True),
        ([], [], True),
        ([1, 2], [1, 2], True),
        ([1, 2], [1, 3], False),
        ([1.0], [1.0, 1.0], False),
        ([1.0], [1], False),
    ],
)
def test_agreement(found: list[Any], wanted: list[Any], right: bool) -> None:
    error = difference([torch.tensor(found)], [torch.tensor(wanted)])
    assert (error <= 1) == right
    assert difference([], [torch.tensor(wanted)]) == INF
