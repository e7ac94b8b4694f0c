"""Kernels as HIVM text, and what the vendor's open compiler makes of them where it is installed."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import example_kernels
import golden
import pytest

import tile_ir
from tile_checkers.second_opinion import PLANNER, SOLVERS, hivm_texts, second_opinions
from tile_checkers.second_opinion.open_compiler import (
    CompilerFailed,
    plan_peaks,
    solve_order,
)
from tile_checkers.second_opinion.outline import Unsayable
from tile_ir import DEFAULT_TARGET, BuildError, Func, Memory, Pipe, Section
from tile_passes import run_pipeline

FILES = sorted((Path(__file__).parent / "second_opinion").glob("*.tir"))
installed = pytest.mark.skipif(
    find_spec("ascendnpuir") is None, reason="ascendnpu-ir is not installed: pip install it"
)


def parsed(path: Path) -> tuple[Func, Section]:
    func = tile_ir.parse(golden.read(path).source, path.name)
    tile_ir.verify(func)
    [section] = func.launch.body
    assert isinstance(section, Section)
    return func, section


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_text(path: Path) -> None:
    golden.compare(golden.read(path), "// memory\n".join(hivm_texts(*parsed(path))))


def test_what_hivm_cannot_say_is_told() -> None:
    path = FILES[-1]
    text = golden.read(path).source
    called = "fill($y[0:+8], 0.0) @0:9:11"
    assert called in text
    for statement, reason in (("break @0:9:11", "break"), ('printf() {fmt="x"} @0:9:11', "printf")):
        func = tile_ir.parse(text.replace(called, statement), path.name)
        [section] = func.launch.body
        assert isinstance(section, Section)
        with pytest.raises(Unsayable, match=reason):
            hivm_texts(func, section)


def test_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tile_checkers.second_opinion.open_compiler.find_spec", lambda name: None)
    with pytest.raises(BuildError, match="ascendnpu-ir") as told:
        second_opinions(parsed(FILES[0])[0])
    assert told.value.diagnostic.slug == "missing-extra"


def answering(folder: Path, text: str, code: int = 0) -> Path:
    """A program that answers every question alike."""
    (folder / "answer").write_text(text)
    program = folder / "program"
    stream = ">&2" if code else ""
    program.write_text(f"#!/bin/sh\ncat > /dev/null\ncat {folder}/answer {stream}\nexit {code}\n")
    program.chmod(0o755)
    return program


def test_answers_are_read(tmp_path: Path) -> None:
    order = """
    hivm.hir.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
    hivm.hir.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
    hivm.hir.set_flag[<PIPE_MTE2>, <PIPE_V>, %3]
    hivm.hir.pipe_barrier[<PIPE_V>]
    hivm.hir.pipe_barrier[<PIPE_ALL>]
    """
    found = solve_order(answering(tmp_path, order), SOLVERS[0], "")
    assert found.flags == {(Pipe.MTE2, Pipe.V): 2} and found.barriers == {Pipe.V: 1}
    memory = """
    %c0_i64 = arith.constant 0 : i64
    %c96_i64 = arith.constant 96 : i64
    %0 = hivm.hir.pointer_cast(%c0_i64) : memref<16xf16, #hivm.address_space<cbuf>>
    %1 = hivm.hir.pointer_cast(%c0_i64, %c96_i64) : memref<32xi8, #hivm.address_space<ub>>
    """
    peaks = plan_peaks(answering(tmp_path, memory), "")
    assert peaks == {Memory.L1: 32, Memory.UB: 128}
    with pytest.raises(CompilerFailed, match="no room"):
        plan_peaks(answering(tmp_path, "k.mlir:3:4: error: no room\n", 1), "")


@installed
def test_opinion_on_a_small_kernel() -> None:
    [product] = second_opinions(parsed(FILES[0])[0])
    chain = {(Pipe.MTE2, Pipe.MTE1): 1, (Pipe.MTE1, Pipe.M): 1, (Pipe.M, Pipe.FIX): 1}
    assert product.own.flags == chain and not product.missing
    # Its solvers let the left operand go ahead, with a flag of its own.
    ahead = {**chain, (Pipe.MTE2, Pipe.MTE1): 2}
    assert {n: o.flags for n, o in product.solved.items()} == dict.fromkeys(SOLVERS, ahead)
    assert product.peaks == {Memory.L1: 16384, Memory.L0C: 16384}
    assert {m: product.own_peaks[m] for m in product.peaks} == product.peaks


EXAMPLES = example_kernels.traced() | example_kernels.automatic()


@installed
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_have_an_opinion(name: str) -> None:
    automatic = frozenset(example_kernels.AUTOMATIC_SYNC)
    bare = replace(example_kernels.unsynchronised(EXAMPLES[name]), automatic=automatic)
    func = run_pipeline(bare, DEFAULT_TARGET).func
    for opinion in second_opinions(func):
        assert not opinion.missing, opinion.missing
        assert set(opinion.solved) == set(SOLVERS) and PLANNER not in opinion.missing
        assert all(order.flags for order in opinion.solved.values())
