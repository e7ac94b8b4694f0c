"""All cases, and each with its published rows."""

from __future__ import annotations

from attention_cases import attention_cases
from case import Case, Row, published
from chunk_cases import chunk_cases
from conv_cases import conv_cases
from matmul_cases import (
    guide_matmul_cases,
    mmad_cases,
    other_matmul_cases,
    vendor_matmul_cases,
)
from measures import Measure
from quant_cases import quant_cases
from stream_cases import stream_cases
from vector_cases import add_cases, block_cases, copy_cases, sort_cases, vector_cases

# What the cases are about, in the order of the table.
GROUPS = {
    "add": add_cases,
    "reads of GM": copy_cases,
    "vector": vector_cases,
    "blocks and elements": block_cases,
    "sorting": sort_cases,
    "products alone": mmad_cases,
    "vendor's matmul samples": vendor_matmul_cases,
    "vendor's tuning guide": guide_matmul_cases,
    "matmul of PTO, PyPTO, CATLASS": other_matmul_cases,
    "int8 products": quant_cases,
    "convolution": conv_cases,
    "residual streams": stream_cases,
    "linear attention": chunk_cases,
    "attention": attention_cases,
}


def cases() -> list[Case]:
    return [case for make in GROUPS.values() for case in make()]


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
