"""`opt -p infer_memory --explain`: for every open buffer its memory and the use that decided."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import golden
import pytest

from tile_ir import DEFAULT_TARGET, Automatic, Func, KernelError, parse
from tile_passes import EXPLANATIONS, PASSES, explain_memory, explained

HERE = Path(__file__).parent / "infer_memory"


def source(name: str) -> Func:
    return parse(golden.read(HERE / f"{name}.tir").source, name)


def told(name: str) -> list[str]:
    """The explanation of a golden's input, without its head."""
    head, empty, *lines = explain_memory(source(name), DEFAULT_TARGET).splitlines()
    assert head.startswith("k (kernel.py:") and not empty
    return [" ".join(line.split()) for line in lines]


def test_the_deciding_use_is_told() -> None:
    assert told("products_and_their_operands") == [
        "s (line 8) l1 src of copy (line 13) with `f` in l0a, A of mma (line 15)",
        "f (line 9) l0a A of mma (line 15)",
        "g (line 10) l0b B of mma (line 15)",
        "c (line 11) l0c C of mma (line 15)",
    ]


def test_copies_are_followed_to_what_decided() -> None:
    assert told("through_two_copies")[:2] == [
        "t (line 8) l1 A of gemm_v0 (line 15)",
        "s (line 9) ub src of copy (line 13) with `t` in l1, A of gemm_v0 (line 15)",
    ]


def test_what_nothing_decides_is_told() -> None:
    assert told("unused") == [
        "s (line 2) ub by default: its uses leave it open",
        "f (line 3) l0c by default: its uses leave it open",
    ]
    assert told("nothing_open") == ["every buffer names its memory"]


def test_a_copy_to_gm_decides_in_a_scope() -> None:
    assert (
        told("sections_say_which_core")[0] == "s (line 8) l1 dst of copy (line 11) with `X` in gm"
    )


def test_uses_that_can_not_go_together_are_an_error() -> None:
    with pytest.raises(KernelError, match="memory-conflict"):
        told("error_both_cores")


def test_named_passes_are_explained_in_their_order() -> None:
    func = replace(source("vector_work_in_fragments"), automatic=frozenset({Automatic.SYNC}))
    names = ["infer_memory", "check_written", "insert_sync"]
    memory, order = explained(func, names, DEFAULT_TARGET)
    assert "c (line 8)     ub  src of reduce_max (line 12)" in memory
    assert "vector cores: " in order and [order] == list(explained(func, [], DEFAULT_TARGET))


def test_what_is_explained_is_a_pass() -> None:
    assert set(EXPLANATIONS) <= set(PASSES)
