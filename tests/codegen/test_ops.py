"""Every operation of the op table is covered: meaning, template or lowering, doc line, golden.

The golden of an operation is `ops/<name>.tir`: a kernel with that operation, and the statements
that become of it.
"""

from __future__ import annotations

from pathlib import Path

import golden
import pytest
from structural_equality import structurally_equal

import tile_ir
from tile_codegen_ascendc import emit, has_template
from tile_ir import DEFAULT_TARGET, OPS, Composite, OpDef, Phase
from tile_ir.opdef import Effect
from tile_ir.traversal import walk_ops
from tile_passes import PIPELINE, PassOptions, run_passes
from tile_passes.lowering import LOWERINGS

FOLDER = Path(__file__).with_name("ops")

# An operation alone reads buffers that nothing has written.
FRAGMENT = PassOptions(skip=("check_written",))


def emitted_statements(text: str) -> str:
    """The body of the kernel's core sections."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("  if ASCEND_IS_"))
    stop = next(i for i in range(start, len(lines)) if lines[i] == "}")
    return "\n".join(lines[start:stop]) + "\n"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.tir")), ids=lambda p: p.stem)
@pytest.mark.whole
def test_golden(path: Path) -> None:
    case = golden.read(path)
    func = tile_ir.parse(case.source, str(path))
    tile_ir.verify(func)
    assert structurally_equal(func, tile_ir.parse(tile_ir.print_func(func)))
    assert any(op.opdef.name == path.stem for op in walk_ops(func.launch.body))
    remaining = [p for p in PIPELINE if p.gives is None or p.gives > func.phase]
    final = run_passes(func, remaining, DEFAULT_TARGET, FRAGMENT).func
    assert final.phase is Phase.SYNCED
    golden.compare(case, emitted_statements(emit(final, DEFAULT_TARGET)))


@pytest.mark.parametrize("opdef", OPS.values(), ids=lambda o: o.name)
def test_covered(opdef: OpDef) -> None:
    """The test that names the missing cell when an operation is added half."""
    missing = []
    if not opdef.doc or not opdef.ascend_c:
        missing.append("doc line")
    if not callable(opdef.meaning):
        missing.append("NumPy meaning")
    lowered = opdef.composite is Composite.YES
    if lowered and opdef.name not in LOWERINGS:
        missing.append("lowering")
    if not lowered and not has_template(opdef.family, opdef.name):
        missing.append("template")
    if not (FOLDER / f"{opdef.name}.tir").exists():
        missing.append("golden")
    assert not missing, f"{opdef.name} lacks {', '.join(missing)}"


def test_missing_cells_are_found() -> None:
    """The coverage test can fail: an operation nobody knows has no template."""
    assert not has_template("elementwise", "no_such_operation")
    assert not has_template("no_such_family", "add")
    assert all(o.effect in Effect for o in OPS.values())
