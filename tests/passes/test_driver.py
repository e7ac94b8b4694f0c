"""The driver: verification after each pass, skipping, stopping, dumps, wrong names and phases."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import tile_ir
from tile_ir import DEFAULT_TARGET, Automatic, Func, IRError, KernelError, Op, Phase, Target
from tile_ir.expr import Const
from tile_ir.switches import override
from tile_passes import (
    PASSES,
    PIPELINE,
    Pass,
    PassOptions,
    apply_passes,
    run_passes,
    run_pipeline,
)

TEXT = """file 0 "k.py"
func "f" phase built @0:1:1 {
  launch blocks(1) %cid %vid threads any @0:1:1 {
    alloc $u: ub float32 [64] @0:2:1
    section vector @0:3:1 {
      let %unread: int32 = %cid @0:4:1
      exp($u, $u) @0:5:1
    }
  }
}
"""


def func() -> Func:
    return tile_ir.parse(TEXT)


def test_the_pipeline_reaches_the_last_phase_and_is_timed() -> None:
    result = run_pipeline(func(), DEFAULT_TARGET)
    assert result.func.phase is Phase.SYNCED
    assert [r.name for r in result.records] == [p.name for p in PIPELINE]
    assert all(r.seconds > 0 for r in result.records)
    changed = {r.name: r.changed for r in result.records}
    assert changed["remove_dead"] and not changed["simplify"]


def test_unchanged_is_the_same_object() -> None:
    f = run_pipeline(func(), DEFAULT_TARGET).func
    for name in ("simplify", "remove_dead"):
        assert PASSES[name].run(f, DEFAULT_TARGET) is f


def test_optional_passes_can_be_skipped() -> None:
    options = PassOptions(skip=("simplify", "remove_dead"))
    result = run_pipeline(func(), DEFAULT_TARGET, options)
    assert "remove_dead" not in [r.name for r in result.records]
    assert "%unread" in tile_ir.print_func(result.func)


def test_what_is_left_to_the_compiler_is_in_the_text() -> None:
    assert "automatic" not in tile_ir.print_func(run_pipeline(func(), DEFAULT_TARGET).func)
    options = PassOptions(automatic=(Automatic.SYNC, Automatic.MEMORY))
    result = run_pipeline(func(), DEFAULT_TARGET, options).func
    text = tile_ir.print_func(result)
    assert text.splitlines()[1].startswith('func "f" phase synced automatic memory sync @')
    assert tile_ir.parse(text).automatic == result.automatic


@pytest.mark.parametrize(
    ("options", "slug", "hint"),
    [
        (PassOptions(skip=("simplfy",)), "unknown-pass", "did you mean `simplify`?"),
        (PassOptions(stop_after="plan"), "unknown-pass", None),
        (PassOptions(skip=("plan_memory",)), "pass-required", None),
    ],
)
def test_wrong_options(options: PassOptions, slug: str, hint: str | None) -> None:
    with pytest.raises(IRError) as caught:
        run_pipeline(func(), DEFAULT_TARGET, options)
    assert caught.value.slug == slug
    if hint:
        assert caught.value.hint == hint


def test_stopping_early() -> None:
    result = run_pipeline(func(), DEFAULT_TARGET, PassOptions(stop_after="split_cube_vector"))
    assert result.func.phase is Phase.SPLIT and result.records[-1].name == "split_cube_vector"


def test_dumps_can_be_read_back(tmp_path: Path) -> None:
    run_pipeline(func(), DEFAULT_TARGET, PassOptions(dump_dir=tmp_path / "deep"))
    files = sorted((tmp_path / "deep").iterdir())
    assert [f.name for f in files][:2] == ["f_00_input.tir", "f_01_simplify.tir"]
    assert len(files) == len(PIPELINE) + 1
    for file in files:
        text = file.read_text()
        assert tile_ir.print_func(tile_ir.parse(text)) == text


def test_passes_demand_their_phase() -> None:
    with pytest.raises(IRError) as caught:
        apply_passes(func(), ["plan_memory"], DEFAULT_TARGET)
    assert caught.value.slug == "pass-phase"
    with pytest.raises(IRError) as caught:
        apply_passes(run_pipeline(func(), DEFAULT_TARGET).func, ["infer_memory"], DEFAULT_TARGET)
    assert caught.value.slug == "pass-phase"
    with pytest.raises(IRError) as caught:
        apply_passes(func(), ["nonsense"], DEFAULT_TARGET)
    assert caught.value.slug == "unknown-pass"


@pytest.mark.parametrize("verify_each", [True, False])
@pytest.mark.parametrize("after", ["nothing", "another", "an error"])
def test_a_pass_that_breaks_the_ir_is_named(after: str, verify_each: bool) -> None:
    """The error says which pass did it, and that the compiler is to blame, whatever runs later."""

    def refuse(f: Func, target: Target) -> Func:
        raise KernelError("operand-kind", "a scalar here?", f.loc)

    def break_it(f: Func, target: Target) -> Func:
        """Turn an operand into a scalar."""
        (section,) = f.launch.body
        op = section.body[-1]  # type: ignore[union-attr]
        assert isinstance(op, Op)
        broken = replace(op, operands=(op.operands[0], Const(1)))
        return f.with_body((replace(section, body=(broken,)),))  # type: ignore[arg-type]

    bad = Pass("break_it", break_it, Phase.BUILT, None, False)
    later = {
        "nothing": [],
        "another": [PASSES["check_written"]],
        "an error": [Pass("refuse", refuse, Phase.BUILT, None, False)],
    }
    passes = [PASSES["infer_memory"], bad, *later[after]]
    with pytest.raises(IRError) as caught, override(verify_each=verify_each):
        run_passes(func(), passes, DEFAULT_TARGET)
    error = caught.value
    assert error.slug == "operand-kind" and error.message.startswith("after break_it: ")
    assert error.hint == "this is a bug of the compiler; passes run before: infer_memory"


def test_errors_show_the_source_that_was_traced() -> None:
    """The text is kept with the function: the file may have changed since."""
    text = TEXT.replace("ub float32 [64]", "ub float32 [64, 4096]").replace(
        "exp($u, $u)", "exp($u, $u)"
    )
    f = replace(tile_ir.parse(text), sources={"k.py": "one\n  big = T.alloc_ub(...)\n"})
    with pytest.raises(KernelError) as caught:
        run_pipeline(f, DEFAULT_TARGET)
    assert str(caught.value).splitlines()[2:4] == ["    big = T.alloc_ub(...)", "    ^"]


@pytest.mark.parametrize("verify_each", [True, False])
def test_what_users_wrote_is_verified_before_it_is_lowered(verify_each: bool) -> None:
    """Even where a pass makes something else of it."""

    def repair(f: Func, target: Target) -> Func:
        """Take all statements away."""
        return f.with_body(())

    outside = "if %vid < 2 @0:5:1 {\n exp($u[70:+64], $u) @0:5:1\n }"
    wrong = tile_ir.parse(TEXT.replace("exp($u, $u) @0:5:1", outside))
    passes = [PASSES["simplify"], Pass("repair", repair, Phase.BUILT, None, False)]
    with pytest.raises(KernelError) as caught, override(verify_each=verify_each):
        run_passes(wrong, passes, DEFAULT_TARGET)
    assert caught.value.slug == "slice-range"


def test_an_error_of_a_pass_is_its_own() -> None:
    """Where nothing is broken nothing runs again."""
    runs = []

    def refuse(f: Func, target: Target) -> Func:
        runs.append(f)
        raise KernelError("memory-overflow", "no room", f.loc)

    refusing = Pass("refuse", refuse, Phase.BUILT, None, False)
    with pytest.raises(KernelError, match="no room"), override(verify_each=False):
        run_passes(func(), [PASSES["simplify"], refusing], DEFAULT_TARGET)
    assert len(runs) == 1
