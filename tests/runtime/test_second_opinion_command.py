"""`tile-ascend check --second-opinion`: the table, the JSON, and what is said without the vendor's
open compiler."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tile_checkers.second_opinion import PLANNER, CountedOrder, Opinion
from tile_ir import Core, Memory, Pipe
from tile_runtime.tools.command_line import main
from tile_runtime.tools.command_line.second_opinion import opinions_data, opinions_text

SCRIPT = """
import tile_frontend as T
@T.prim_func
def added(X: T.Tensor((64,), "float32")):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_ub((64,), "float32")
        with T.Scope("V"):
            T.copy(X, a)
            T.barrier_all()
            T.tile.add(a, a, 1.0)
"""
LOADED, FREED = (Pipe.MTE2, Pipe.V), (Pipe.V, Pipe.MTE2)
OPINION = Opinion(
    core=Core.VECTOR,
    own=CountedOrder({LOADED: 1}, {Pipe.V: 1}),
    own_peaks={Memory.UB: 512},
    solved={
        "inject-sync": CountedOrder({LOADED: 1, FREED: 2}, {Pipe.V: 1}),
        "graph-sync-solver": CountedOrder({LOADED: 1}, {Pipe.V: 1}),
    },
    peaks={Memory.UB: 256},
    left_out={"set_cross_flag": 2},
)
TABLE = """\
  vector core      kernel  inject-sync  graph-sync-solver  plan-memory
  flags mte2 -> v       1            1                  1
  flags v -> mte2       0            2                  0               *
  all flags             1            3                  1               *
  barriers of v         1            1                  1
  all barriers          1            1                  1
  bytes of ub         512                                          256  *
left out, since it orders cores: 2 set_cross_flag"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "added.py"
    path.write_text(SCRIPT)
    return f"{path}:added"


def test_differences_stand_side_by_side() -> None:
    assert opinions_text((OPINION,)) == TABLE


def test_a_reason_is_told_once() -> None:
    none = Opinion(Core.CUBE, OPINION.own, {}, missing={PLANNER: "no room"})
    assert opinions_text((none,)).splitlines()[-1] == "no second opinion of plan-memory: no room"
    everyone = {"inject-sync": "break", "graph-sync-solver": "break", PLANNER: "break"}
    none = Opinion(Core.CUBE, OPINION.own, {}, missing=everyone)
    assert opinions_text((none,)).splitlines()[-1] == "no second opinion: break"


def test_opinions_are_data_too() -> None:
    [data] = opinions_data((OPINION,))
    assert data["order"]["inject-sync"] == {
        "flags": {"mte2 -> v": 1, "v -> mte2": 2},
        "barriers": {"v": 1},
    }
    assert data["peak_bytes"] == {"kernel": {"ub": 512}, PLANNER: {"ub": 256}}


def test_check_prints_both(
    script: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    where = "tile_runtime.tools.command_line.check"
    monkeypatch.setattr(f"{where}.find_compiler", lambda: Path())
    monkeypatch.setattr(f"{where}.second_opinions", lambda func: (OPINION,))
    assert main(["check", script, "--second-opinion"]) == 0
    assert capsys.readouterr().out == f"added: in order\n\n{TABLE}\n"
    assert main(["check", script, "--second-opinion", "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert whole["kernel"] == "added" and whole["findings"] == []
    assert whole["second_opinions"] == opinions_data((OPINION,))
    assert main(["check", script, "--json"]) == 0
    assert "second_opinions" not in json.loads(capsys.readouterr().out)


def test_the_package_may_be_missing(
    script: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tile_checkers.second_opinion.open_compiler.find_spec", lambda name: None)
    assert main(["check", script, "--second-opinion"]) == 1
    told = capsys.readouterr().err
    assert "ascendnpu-ir" in told and "pip install 'tile-ir[second-opinion]'" in told
