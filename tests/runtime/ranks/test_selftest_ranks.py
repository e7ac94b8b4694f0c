"""`tile-ascend selftest --ranks`: what it prints of ranks that agree, and of those that do not."""

from __future__ import annotations

from typing import Any

import pytest
from selftest import rank_program

from tile_runtime.ranks.rank_group import RankGroup
from tile_runtime.tools.command_line import main


class _Told(RankGroup):
    """Rank 0 of some, of which the others say what is given."""

    def __init__(self, *others: Any) -> None:
        super().__init__(None, 0, 1 + len(others))
        self.others = others

    def gathered(self, value: Any) -> list[Any]:
        return [value, *self.others]


@pytest.mark.parametrize(
    ("own", "other", "row"),
    [
        (("ok", "ab"), ("ok", "cd"), ("ok", "bytes ab cd")),
        (("ok", "ab"), ("differs", "by 3"), ("differs", "rank 1: by 3")),
        (("fails", "error[rank-failed]: rank 1 failed"), ("fails", "error[race]: x"),
         ("fails", "rank 1: error[race]: x")),
        (("fails", "error[rank-failed]: gone"), ("ok", "ab"),
         ("fails", "rank 0: error[rank-failed]: gone")),
    ],
)  # fmt: skip
def test_a_row_says_what_came_first(own: Any, other: Any, row: Any) -> None:
    assert rank_program._row(_Told(other), own) == row


@pytest.mark.exhaustive
def test_the_command(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["selftest", "--ranks", "3", "--only", "ranks/ring"]) == 0
    first, *rows, last = capfd.readouterr().out.splitlines()
    assert first == "1 examples on 3 ranks (simulated, shared)"
    assert [row.split()[:4] for row in rows] == [
        ["ring", transport, "ok", "bytes"] for transport in ("shared", "messages")
    ]
    assert rows[0].split("bytes")[1] == rows[1].split("bytes")[1]
    assert last == "all ok"


def test_npus_are_asked_for_where_there_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selftest", "--ranks", "2", "--device", "npu"]) == 1
    assert "--device npu needs an NPU" in capsys.readouterr().err
