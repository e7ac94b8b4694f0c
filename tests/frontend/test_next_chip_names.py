"""Names of TileLang for the next chip, A5: each means something here, or is an error that says which
chip it needs."""

from __future__ import annotations

import linecache
from types import ModuleType
from typing import Any

import pytest

import tile_frontend as T
from tile_frontend._dialects.imported_modules import installed
from tile_frontend._dialects.next_chip_names import ERRORS, LOWERED, NO_EFFECT
from tile_frontend._dialects.porting import porting_list
from tile_ir import Automatic, Func, KernelError, print_func


def traced(*lines: str, launch: str = "T.Kernel(1) as bx", language: Any = T) -> Func:
    """A kernel with these lines in it, in a text of which errors know the lines."""
    text = (
        "@T.prim_func\ndef k(A: T.Tensor((16, 16), 'float32'), B: T.Tensor((16, 16), 'float16')):\n"
        f"    with {launch}:\n"
        "        u = T.alloc_shared((8, 16), 'float32')\n        c = T.alloc_l0c((16, 16), 'float32')\n"
        + "".join(f"        {line}\n" for line in lines)
    )
    linecache.cache["<a5>"] = (len(text), None, text.splitlines(keepends=True), "<a5>")
    found: dict[str, Any] = {"T": language, "__name__": "script"}
    exec(compile(text, "<a5>", "exec"), found)
    kernel: Func = found["k"]
    return kernel


def refused(*lines: str, launch: str = "T.Kernel(1) as bx") -> KernelError:
    with pytest.raises(KernelError) as caught:
        traced(*lines, launch=launch)
    assert caught.value.loc is not None
    return caught.value


def test_what_only_the_next_chip_has_is_an_error_at_its_line() -> None:
    for group in ERRORS:
        for name in group.names:
            error = refused(f"T.{name}(0, x=1)")
            assert (error.slug, error.hint) == ("next-chip", group.write), name
            assert error.loc is not None and error.loc.line == 6
            assert error.message == f"T.{name}: {group.says}"
    assert refused("a = T.simd.vld(u[0, 0])").slug == "next-chip"
    assert refused("with T.SimdVF(latency=3): pass").slug == "next-chip"


def test_hints_do_nothing() -> None:
    for name in sorted(NO_EFFECT):
        found = traced(f"T.{name}({{u: 2}}, u, 'shared', level=0)")
        assert print_func(found) == print_func(traced("pass")), name
    frames = "with T.PerCoreTask(), T.Task(latency=4, ii=2), T.Stage(3), T.SimtVF(threads=64):"
    assert print_func(traced(frames, "    T.fill(u, 1)")) != print_func(traced("pass"))


@pytest.mark.parametrize(
    ("line", "slug", "says"),
    [
        ('T.ascend_cross_core_set_flag(4, "PIPE_FIX", 4)', "next-chip", "mode 4"),
        ('T.ascend_cross_core_wait_flag(2, "PIPE_FIX", 22)', "next-chip", "flag 22"),
        ("T.copy(A[0:8, :], u, data_select=True)", "next-chip", "data_select"),
        ("T.copy(A[0:8, :], u, sub_blockid=0)", "next-chip", "sub_blockid"),
        ("T.copy(A[0:8, :], u, scale=c)", "next-chip", "scale"),
        ('T.set_atomic("max", "float32")', "gpu-name", "only sums are atomic"),
        ("for i in T.serial(2): T.set_atomic()", "store-mode", "stands in a loop"),
        ('T.set_hf32_mode("nearest")', "operand-kind", "nearest_zero"),
        ("T.dual_copy(c, c)", "shape-mismatch", "twice as long"),
        ("T.dual_copy(u, A[0, 0])", "copy-extent", "an element of `A`"),
        ("T.dual_copy(u[0:4, 0:8], u)", "shape-mismatch", "twice as long"),
        ("with T.Vector(vector=3): pass", "operand-kind", "1 or 2"),
        ("with T.SimtVF(threads=0): pass", "operand-kind", "positive"),
        ("with T.Vector() as (a, b): pass", "with-target", "T.Vector yields"),
        ("with T.Stage(1) as s: pass", "with-target", "T.Stage yields nothing"),
        ('T.alloc_shared((16,), "float8_e4m3fn")', "gpu-name", "float8_e4m3fn"),
        ("T.get_thread_binding(0)", "gpu-name", "no threads"),
    ],
)
def test_what_has_no_meaning_here_is_told(line: str, slug: str, says: str) -> None:
    error = refused(line)
    assert (error.slug, says in error.message) == (slug, True), error


def test_a_scheduler_without_state_says_where_a_tile_is() -> None:
    sizes = "block_m=16, block_n=8, num_cores=2, shape_m=40, shape_n=30"
    found = traced(
        f"s = T.AscendTileScheduler({sizes}, stateful=False)",
        "i, j = s.coord(bx)",
        "A[i, j] = T.cast(s.get_actual_n(j), 'float32')",
    )
    assert "%bx" in print_func(found)
    error = refused(f"T.AscendTileScheduler({sizes}, stateful=False).init(0)")
    assert error.slug == "block-order"


def test_launches() -> None:
    found = traced("T.fill(u, sid)", launch="T.MixedKernel(3, sids=2) as (bx, sid)")
    assert found.launch.threads is None and found.launch.lane.name == "sid"
    alone = traced("A[0, sid] = 1.0", launch="T.MixedKernel(3, sids=1) as (bx, sid)")
    assert alone.launch.threads == 1
    # What is said of both vector cores makes it a launch of both, named or not.
    assert traced("T.fill(u, 0)").launch.threads == 2
    assert traced("T.dual_copy(A, u)").launch.threads is None
    error = refused("T.dual_copy(A, u)", launch="T.MixedKernel(3, sids=1) as (bx, sid)")
    assert error.slug == "launch-threads"
    assert refused("pass", launch="T.MixedKernel(3, 4) as (bx, sid)").slug == "launch-grid"
    error = refused('T.ascend_sync_inter_arrive("PIPE_FIX", 0)', launch="T.Kernel(64) as bx")
    assert error.slug == "sync-grid"


def test_what_the_text_orders_itself_is_not_left_to_the_compiler() -> None:
    assert Automatic.CORES in traced("pass").automatic
    scoped = traced("with T.Cube(): pass").automatic
    assert Automatic.CORES not in scoped and Automatic.CROSS in scoped
    flagged = traced('with T.Vector(): T.ascend_pipe_barrier("PIPE_ALL")').automatic
    assert Automatic.SYNC not in flagged and Automatic.CROSS not in flagged
    signalled = traced('T.ascend_cross_core_set_flag(2, "PIPE_MTE3", 1)').automatic
    assert Automatic.SYNC in signalled and Automatic.CROSS not in signalled


def test_a_script_is_known_by_its_import() -> None:
    text = ("x = T.alloc_shared((16,), 'float32')", "T.fill(x, 0)")
    plain = ModuleType("language")
    plain.__dict__.update(vars(T))
    with installed():
        from importlib import import_module

        language = import_module("tilelang.ascend.language")
        assert Automatic.CORES in traced(*text, language=language).automatic
        assert language.MixedKernel is T.MixedKernel


def test_a_list_of_what_becomes_of_a_script() -> None:
    import ast

    names = [*LOWERED, *sorted(NO_EFFECT), *(n for g in ERRORS for n in g.names)]
    script = "import tilelang.ascend.language as T\n" + "".join(f"T.{n}\n" for n in names)
    found = {f.name.removeprefix("T."): f.outcome for f in porting_list(ast.parse(script))}
    assert all(found[n] == "lowered" for n in LOWERED)
    assert all(found[n] == "no effect" for n in NO_EFFECT)
    assert all(found[n] == "error" for group in ERRORS for n in group.names)
