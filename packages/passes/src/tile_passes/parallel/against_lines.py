"""A matrix against a value for each of its rows or columns, in one operation: the value is read
again and again instead of being repeated over a tile."""

from __future__ import annotations

from tile_ir import DType, Expr, Region
from tile_passes.parallel.accesses import reads, variables_in
from tile_passes.parallel.nest import Domain, Unsuitable
from tile_passes.parallel.operators import BinaryForm
from tile_passes.parallel.vector_steps import VectorSteps


def line_of(e: Expr, domain: Domain) -> Domain | None:
    """The row or column of the domain that a value follows, if it follows one only."""
    used = variables_in(e, domain)
    return domain.only(used) if used and len(used) < len(domain.vars) else None


def is_column(line: Domain, domain: Domain) -> bool:
    """Whether there is one value for each row."""
    return line.vars[0] is domain.vars[0]


def against_line(
    s: VectorSteps,
    form: BinaryForm,
    left: Expr,
    right: Expr,
    dtype: DType,
    domain: Domain,
    into: Region | None,
) -> Region | None:
    """The operation where one side follows one variable only; None where neither does. Where the
    hardware lacks this form, the values are repeated over a tile."""
    line = line_of(right, domain)
    if line is None and form.commutes:
        left, right = right, left
        line = line_of(right, domain)
    if line is None or s.is_scalar(left, domain):
        return None
    name = form.by_row if is_column(line, domain) else form.by_column
    a = s.typed(left, dtype, domain, None if reads(right, into) else into)
    with s.shared.holding(a):
        b = s.typed(right, dtype, line, None)
    assert isinstance(a, Region) and isinstance(b, Region), "both follow a variable"
    if name is not None:
        try:
            return s.emit_into(name, dtype, domain, into, a, b)
        except Unsuitable:
            pass
    return s.emit_into(form.operation, dtype, domain, into, a, s.spread(b, line, domain))
