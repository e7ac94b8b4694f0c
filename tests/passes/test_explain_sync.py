"""What insert_sync tells of itself: every sync op with its dependences, and the picture."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import golden
import pytest

import tile_ir
from tile_ir import DEFAULT_TARGET, Func, Op
from tile_ir.opdef import Effect
from tile_ir.traversal import walk
from tile_passes import apply_passes, draw_sync, explain_sync

GOLDENS = {p.stem: p for p in sorted((Path(__file__).parent / "insert_sync").glob("*.tir"))}
RIGHT = [name for name in GOLDENS if not name.startswith("error_")]
ORDERING = (Effect.SET_FLAG, Effect.WAIT_FLAG, Effect.BARRIER)


def func_of(name: str) -> Func:
    return tile_ir.parse(golden.read(GOLDENS[name]).source, f"{name}.tir")


def ordering(func: Func) -> int:
    """The flags and barriers in the text."""
    return sum(isinstance(s, Op) and s.opdef.effect in ORDERING for s in walk(func.launch.body))


@pytest.mark.parametrize("name", RIGHT)
def test_every_op_says_what_it_is_for(name: str) -> None:
    func = func_of(name)
    text = explain_sync(func, DEFAULT_TARGET)
    ops = re.split(r"\n\d+\. ", text)[1:]
    # What is told is of a function that all passes before have seen.
    passes = ["use_unit_flags", "insert_sync"]
    more = ordering(apply_passes(func, passes, DEFAULT_TARGET)) - ordering(func)
    assert (more > 0) == bool(ops), text
    for op in ops:
        assert re.search(r"RAW|WAW|WAR|signal:|keeps flags", op), op
        assert re.search(r"before|after |at the end of", op), op


def test_a_flag_is_told_with_its_places_bytes_and_event() -> None:
    text = explain_sync(func_of("raw_across_pipes"), DEFAULT_TARGET)
    assert "1. flag mte2 -> v, event 0\n" in text
    assert "set   after  line 6 [mte2] copy_gm_ub(X, a)\n" in text
    assert "wait  before line 8 [v] add(b, b, a)\n" in text
    assert (
        "RAW of a (ub bytes 0 to 255): add (line 8) reads what copy_gm_ub (line 6) wrote\n"
    ) in text


def test_slots_are_told_with_the_loop_they_go_round() -> None:
    text = explain_sync(func_of("double_buffering"), DEFAULT_TARGET)
    assert "flag mte3 -> mte2, events 0, 1 by i % 2\n" in text
    assert "2 iterations later\n" in text
    assert "carried by the loop over i (line 5): primed before it, drained after it\n" in text
    assert "in an earlier iteration of the loop over i (line 5)\n" in text


def test_a_token_of_an_inner_loop_is_primed_before_all() -> None:
    text = explain_sync(func_of("nested_loops"), DEFAULT_TARGET)
    assert "primed before the loop over i (line 6) around it, drained after\n" in text


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no_such_flag", "because the core has no flags from s to fix"),
        ("no_id_left", "because no event id was left for a flag mte2 -> v"),
        ("ids_run_out", "because event ids ran out: one flag stands for several"),
    ],
)
def test_what_is_coarser_says_why(name: str, why: str) -> None:
    assert why in explain_sync(func_of(name), DEFAULT_TARGET)


def test_what_is_there_before_is_counted() -> None:
    text = explain_sync(func_of("barrier_of_the_user"), DEFAULT_TARGET)
    assert "ordered by 1 flag, besides 1 there before\n" in text


def test_a_function_of_an_early_phase_is_planned_first() -> None:
    source = golden.read(GOLDENS["transitive"]).source
    early = source.replace("phase planned", "phase split").replace(" address 0", "")
    assert "ordered by 2 flags\n" in explain_sync(tile_ir.parse(early), DEFAULT_TARGET)


@pytest.mark.parametrize("name", RIGHT)
def test_the_picture_has_every_statement(name: str) -> None:
    func = func_of(name)
    svg = draw_sync(func, DEFAULT_TARGET)
    root = ElementTree.fromstring(svg)
    words = [
        (e.text or "").replace("\N{NO-BREAK SPACE}", " ")
        for e in root.iter("{http://www.w3.org/2000/svg}text")
    ]
    assert any(w == "all dependences" for w in words)
    assert any(w == "what is inserted" for w in words)
    box = [float(x) for x in root.attrib["viewBox"].split()]
    for circle in root.iter("{http://www.w3.org/2000/svg}circle"):
        assert 0 < float(circle.attrib["cx"]) < box[2]
        assert 0 < float(circle.attrib["cy"]) < box[3]


def test_a_remainder_keeps_its_sign_in_the_picture() -> None:
    assert "if i % 3 == 0" in draw_sync(func_of("conditional_reload"), DEFAULT_TARGET).replace(
        "\N{NO-BREAK SPACE}", " "
    )


def test_transitive_reduction_shows_in_the_picture() -> None:
    """Three statements conflict pairwise; two arrows are left."""
    svg = draw_sync(func_of("transitive"), DEFAULT_TARGET)
    legend = 5
    assert svg.count("marker-end") == 3 + 2 + legend
