"""Write the tables of docs/use/operators.md: the operators of examples/operators, from their
manifests and a run of each at its workload."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pages.markdown import ROOT, cell, table

if TYPE_CHECKING:
    from pages.operator_times import MeasuredOperator

MEASURED = re.compile(r"(<!-- measured: operators -->\n).*?(<!-- end -->)", re.S)
REMARKS = """\
## Below a quarter of the roofline

"""


def operator_files() -> dict[str, str]:
    """The page by its path below docs/."""
    from pages.operator_times import measured_operators  # registers the operators

    tables = operator_tables(list(measured_operators()))
    page = (ROOT / "docs/use/operators.md").read_text()
    return {"use/operators.md": MEASURED.sub(lambda m: m[1] + tables + m[2], page)}


def operator_tables(measured: Iterable[MeasuredOperator]) -> str:
    all_of_them = list(measured)
    forward = [m for m in all_of_them if not m.operator.gradient_of]
    backward = [m for m in all_of_them if m.operator.gradient_of]
    slow = [m for m in all_of_them if m.roofline.share < 0.25]
    remarks = [f"* `{m.operator.name}`: {m.operator.remark}\n" for m in slow]
    return "\n".join(
        [
            f"## {len(forward)} operators\n", _signatures(forward, True), "## Gradients\n",
            "What autograd calls; each is an operator too.\n", _signatures(backward, False),
            "## Times\n", _times(all_of_them),
            *([REMARKS + "".join(remarks)] if slow else []),
        ]
    )  # fmt: skip


def _signatures(measured: Iterable[MeasuredOperator], with_backward: bool) -> str:
    head = ("operator", "what it computes", "`T`", *(("backward",) if with_backward else ()))
    rows = (
        (
            f"`{cell(_text(m))}`", cell(o.summary).replace("*", r"\*"),
            ", ".join(o.types.get("T", ())),
            *((("yes" if o.backward else "no"),) if with_backward else ()),
        )
        for m in measured
        for o in [m.operator]
    )  # fmt: skip
    return table(head, rows)


def _text(m: MeasuredOperator) -> str:
    """The signature as the manifest has it."""
    return str(m.operator.signature)


def _times(measured: Iterable[MeasuredOperator]) -> str:
    head = ("operator", "workload", "tiles", "µs", "bound by", "of roofline", "of best")
    rows = (
        (
            f"`{m.operator.name}`", _workload(m), " x ".join(map(str, m.tiles)),
            f"{m.microseconds:.0f}", m.roofline.bound, f"{100 * m.roofline.share:.0f} %",
            "" if m.share_of_best is None else f"{100 * m.share_of_best:.0f} %",
        )
        for m in measured
    )  # fmt: skip
    return table(head, rows)


def _workload(m: MeasuredOperator) -> str:
    case = m.operator.workload
    sizes = {k: v for k, v in case.sizes.items() if k != "T"}
    rest = [f"... = {', '.join(map(str, case.rest))}"] if case.rest else []
    dtype = [str(case.sizes["T"])] if "T" in case.sizes else []
    return ", ".join([*rest, *(f"{k} = {v}" for k, v in sizes.items()), *dtype])
