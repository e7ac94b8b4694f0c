"""All cases, and each with its published rows."""

from __future__ import annotations

from case import Case, Row, published
from matmul_cases import (
    flash_cases,
    guide_matmul_cases,
    mmad_cases,
    other_matmul_cases,
    vendor_matmul_cases,
)
from measures import Measure
from vector_cases import add_cases, copy_cases, vector_cases


def cases() -> list[Case]:
    return [
        *add_cases(),
        *copy_cases(),
        *vector_cases(),
        *mmad_cases(),
        *vendor_matmul_cases(),
        *guide_matmul_cases(),
        *other_matmul_cases(),
        *flash_cases(),
    ]


def rows_of_case(case: Case) -> list[tuple[Row, Measure]]:
    """The published rows of a case with their measures; LookupError if one is missing or ambiguous."""
    found = []
    for (kernel, shape, metric), measure in case.rows.items():
        rows = [
            row
            for row in published()
            if (row.source, row.kernel, row.shape, row.metric)
            == (case.source, kernel, shape, metric)
            and case.device in ("", row.device)
        ]
        if len(rows) != 1:
            raise LookupError(
                f"{case.name}: {len(rows)} published rows {kernel!r}, {shape!r}, {metric!r}"
            )
        found.append((rows[0], measure))
    return found
