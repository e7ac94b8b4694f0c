"""S-44: constants of links come from the rows that calibrate alone, and the rows that check agree."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from statistics import median

import pytest

from link_times.compare import BEGIN, END, PAGE, by_number, median_error, tables
from link_times.constants import ASSUMED, CONSTANTS, Constant
from link_times.measured import Group, measured, rows_of, sources
from link_times.misses import LIMIT, reasons, reasons_for_silence, unused
from link_times.predicted import PredictedRow, predictions
from tile_ir.costs.hccl import published_all_reduce_us
from tile_ir.costs.links import TOPOLOGIES, LinkTable


@pytest.fixture(scope="module")
def predicted() -> list[PredictedRow]:
    return list(predictions())


def test_no_row_is_in_two_groups() -> None:
    assert {count for count in Counter(row.row for row in measured()).values()} == {1}
    groups: dict[str, set[Group]] = {}
    for row in measured():
        groups.setdefault(row.number, set()).add(row.group)
    assert all(len(found) == 1 for found in groups.values())
    letters = {Group.CALIBRATE: "C", Group.CHECK: "K", Group.OTHER: "X"}
    assert all(row.row.startswith(letters[row.group]) for row in measured())


def test_all_numbers_of_the_specification_are_there() -> None:
    found = {row.number for row in measured()}
    for letter, last in (("C", 8), ("K", 29), ("X", 8)):
        assert {f"{letter}{number}" for number in range(1, last + 1)} <= found


def test_every_row_has_a_source_and_no_two_have_one_value() -> None:
    assert {row.source for row in measured()} == set(sources())
    values = {g: {(r.metric, r.system, r.size, r.source) for r in rows_of(g)} for g in Group}
    assert not values[Group.CALIBRATE] & values[Group.CHECK]


@pytest.mark.parametrize("constant", CONSTANTS, ids=lambda constant: constant.name)
def test_constants_are_what_the_rows_say_that_calibrate(constant: Constant) -> None:
    calibrating = rows_of(Group.CALIBRATE)
    assert round(constant.compute(calibrating), constant.digits) == constant.used
    # The rows that are named, and no other.
    named = [row for row in calibrating if row.row in constant.rows]
    assert constant.compute(named) == constant.compute(calibrating)
    moved = [replace(row, value=row.value * 1.5) for row in named]
    assert constant.compute(moved) != pytest.approx(constant.used, rel=0.02)


def test_every_constant_has_rows_or_is_called_assumed() -> None:
    fixed = {constant.name for constant in CONSTANTS}
    assert not fixed & set(ASSUMED)
    assert {field.name for field in fields(LinkTable)} == {"topology"} | set(ASSUMED) | {
        name for name in fixed if " " not in name
    }
    # What another topology has of its own is fixed too, or a number of links.
    a2 = TOPOLOGIES["a2"]
    for name, table in TOPOLOGIES.items():
        for field in fields(LinkTable):
            if getattr(table, field.name) != getattr(a2, field.name):
                assert field.name in ("topology", "link_ports") or f"{name} {field.name}" in fixed


def test_the_rows_that_check_agree(predicted: list[PredictedRow]) -> None:
    assert len(predicted) >= 60
    assert median_error(predicted) <= LIMIT
    assert median(median_error(rows) for rows in by_number(predicted).values()) <= LIMIT


def test_every_miss_has_one_reason(predicted: list[PredictedRow]) -> None:
    missed = [each.row for each in predicted if abs(each.error) > LIMIT]
    assert {row.row: len(reasons(row)) for row in missed} == dict.fromkeys(
        (row.row for row in missed), 1
    )
    assert not unused(missed)
    said = {each.row.row for each in predicted}
    for row in rows_of(Group.CHECK):
        assert (row.row in said) != bool(reasons_for_silence(row)), row


def test_the_page_has_these_tables(predicted: list[PredictedRow]) -> None:
    page = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert page.strip() == tables(predicted).strip(), "python -m link_times.compare --write"


def test_the_formula_of_the_vendor_is_the_one_that_rows_are_of() -> None:
    for row in measured():
        if row.source == "mc2" and row.metric == "all-reduce by HCCL":
            assert published_all_reduce_us(row.bytes) == pytest.approx(row.value, rel=3e-3)
