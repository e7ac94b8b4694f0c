"""One idea per file: `<pass>/<idea>.tir` is read, the pass runs alone, the text must match.

A file whose pass must reject it expects `error[slug]: message` at the user's line instead. Remarks
of the pass follow the text as comments.
"""

from __future__ import annotations

from pathlib import Path

import golden
import pytest
from structural_equality import structurally_equal

import tile_ir
from tile_ir import DEFAULT_TARGET, TileError
from tile_passes import PASSES, apply_passes

FILES = sorted(Path(__file__).parent.glob("*/*.tir"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}-{p.stem}")
@pytest.mark.whole
def test_golden(path: Path) -> None:
    case = golden.read(path)
    func = tile_ir.parse(case.source, path.name)
    tile_ir.verify(func)
    try:
        result = apply_passes(func, [path.parent.name], DEFAULT_TARGET)
    except TileError as error:
        golden.compare(case, f"{error.diagnostic.render()}\n")
        return
    text = tile_ir.print_func(result)
    assert structurally_equal(result, tile_ir.parse(text))
    remarks = "".join(
        f"# {line}\n" for remark in result.remarks for line in remark.render().splitlines()
    )
    golden.compare(case, text + remarks)


@pytest.mark.parametrize("name", PASSES)
def test_every_pass_has_goldens(name: str) -> None:
    assert [p for p in FILES if p.parent.name == name], f"pass {name} has no golden"
    doc = PASSES[name].run.__doc__ or ""
    assert "Limits:" in doc and "Gives:" in doc.replace("Needs, gives:", "Gives:"), name
