"""Event ids that the hardware has and no document names: taken from the author, with a remark."""

from __future__ import annotations

import pytest

from tile_checkers import check_sync
from tile_ir import parse
from tile_ir.chips import DEFAULT_TARGET
from tile_passes.accept_manual_sync import accept_manual_sync

TEXT = """\
file 0 "kernel.py"
func "k" phase planned @0:1:1 {{
  launch blocks(2) %cid %vid threads any @0:1:1 {{
    alloc $u: ub float32 [64] address 0 @0:2:5
    section vector @0:3:1 {{
      for %i: int32 in serial(0, 4) @0:8:5 {{
        set_flag({id}) {{src_pipe="v", dst_pipe="mte3"}} @0:9:5
        wait_flag({id}) {{src_pipe="v", dst_pipe="mte3"}} @0:10:5
      }}
    }}
  }}
}}
"""


@pytest.mark.parametrize(
    ("event", "told"), [("8", "8"), ("15", "15"), ("%i + 8", "8 to 11"), ("%i + 5", "5 to 8")]
)
def test_a_remark_at_each_line(event: str, told: str) -> None:
    func = accept_manual_sync.run(parse(TEXT.format(id=event)), DEFAULT_TARGET)
    assert [(r.slug, r.loc.line, r.severity) for r in func.remarks if r.loc] == [
        ("event-id", 9, "warning"),
        ("event-id", 10, "warning"),
    ]
    assert func.remarks[0].message == (
        f"set_flag: event_id is {told}, but documents name 0 to 7 only"
    )


def test_documented_ids_say_nothing() -> None:
    assert not accept_manual_sync.run(parse(TEXT.format(id="%i + 4")), DEFAULT_TARGET).remarks


def test_the_proof_knows_them_as_flags_of_their_own() -> None:
    func = accept_manual_sync.run(parse(TEXT.format(id="9")), DEFAULT_TARGET)
    assert [(d.slug, d.message) for d in check_sync(func) if d.slug == "event-id"] == [
        ("event-id", "set_flag: event_id is 9, but documents name 0 to 7 only"),
        ("event-id", "wait_flag: event_id is 9, but documents name 0 to 7 only"),
    ]
    crossed = TEXT.format(id="9").replace("wait_flag(9)", "wait_flag(1)")
    found = check_sync(accept_manual_sync.run(parse(crossed), DEFAULT_TARGET))
    assert "flag-not-set" in {d.slug for d in found}
