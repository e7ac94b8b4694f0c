"""The emitted source of every example, as a golden: a refactoring must leave it untouched."""

from __future__ import annotations

import re
from pathlib import Path

import example_kernels
import golden
import pytest
from structural_equality import structurally_equal

import tile_ir
from tile_codegen_ascendc import emit
from tile_ir import DEFAULT_TARGET, Func
from tile_passes import Pass, PassOptions, run_pipeline

FOLDER = Path(__file__).with_name("examples")
KERNELS = example_kernels.traced()
# One source a script: the other sizes and types differ in numbers only.
REPLAYED = (
    "vector_add", "gemm", "gemm_intrinsic_24", "softmax_bfloat16_34x322", "flash_attention",
)  # fmt: skip


def emitted(func: Func) -> str:
    """The source, after the law of the textual form has been checked at every phase."""

    def law(_pass: Pass, f: Func, _changed: bool) -> None:
        assert structurally_equal(f, tile_ir.parse(tile_ir.print_func(f))), f.phase

    assert structurally_equal(func, tile_ir.parse(tile_ir.print_func(func)))
    return emit(
        run_pipeline(func, DEFAULT_TARGET, PassOptions(after_each=law)).func, DEFAULT_TARGET
    )


@pytest.mark.parametrize("name", REPLAYED)
def test_replay(name: str) -> None:
    text = emitted(KERNELS[name])
    # The path of a file depends on where the tests run from.
    text = re.sub(r"// \S*?(\w+\.py:\d+)$", r"// \1", text, flags=re.M)
    path = FOLDER / f"{name}.cpp"
    expected = path.read_text() if path.exists() else ""
    golden.compare(golden.Golden(path, "", "", expected), text)


@pytest.mark.parametrize("name", KERNELS)
def test_the_entry_word_stands_once(name: str) -> None:
    assert len(re.findall(r"\bcall\b", emitted(KERNELS[name]))) == 1
