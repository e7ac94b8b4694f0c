"""An element access over a domain, seen as a region of its buffer."""

from __future__ import annotations

from tile_ir import (
    INT32,
    INT64,
    Buffer,
    Const,
    Expr,
    Load,
    Region,
    Slice,
    Var,
    is_constant,
    linear_form,
    simplify,
    walk_expr,
)
from tile_ir.quick_dataclasses import dataclass
from tile_passes.parallel.nest import Domain, Unsuitable


@dataclass(frozen=True, slots=True)
class Access:
    """The elements touched over the domain; `used` are the variables that choose among them."""

    region: Region
    used: tuple[Var, ...]


def variables_in(expr: Expr, domain: Domain) -> tuple[Var, ...]:
    """The parallel variables an expression mentions, outermost first."""
    found = [part for part in walk_expr(expr) if isinstance(part, Var)]
    return tuple(v for v in domain.vars if v in found)


def access(buffer: Buffer, indices: tuple[Expr, ...], domain: Domain) -> Access:
    """The region an access covers. Raises Unsuitable for what is no box of the buffer."""
    used: list[Var] = []
    dims: list[Slice] = []
    for index in indices:
        here = variables_in(index, domain)
        if not here:
            dims.append(Slice(simplify(index), Const(1)))
            continue
        if len(here) > 1:
            raise Unsuitable(f"an index of `{buffer.name}` mixes two loop variables")
        (var,) = here
        dims.append(_slice(buffer, index, var, domain))
        used.append(var)
    if len(set(used)) != len(used):
        raise Unsuitable(f"two indices of `{buffer.name}` follow `{used[0].name}`")
    if used != [v for v in domain.vars if v in used]:
        raise Unsuitable(f"`{buffer.name}` is read or written transposed")
    return Access(Region(buffer, tuple(dims)), tuple(used))


def _slice(buffer: Buffer, index: Expr, var: Var, domain: Domain) -> Slice:
    position = domain.vars.index(var)
    if index == var and is_constant(domain.starts[position], 0):
        return Slice(Const(0), domain.extents[position])  # nearly always
    if index.dtype not in (INT32, INT64):
        raise Unsuitable(f"an index of `{buffer.name}` is of {index.dtype}, where sums may wrap")
    step = step_of(index, var)
    if step == 0:
        raise Unsuitable(f"an index of `{buffer.name}` is no multiple of `{var.name}`")
    if step < 0:
        raise Unsuitable(f"`{buffer.name}` is read or written backwards")
    start = index - var * step + domain.starts[position] * step
    return Slice(simplify(start), domain.extents[position], step)


def step_of(index: Expr, var: Expr) -> int:
    """By how much an index grows with a variable; 0 where it is no multiple of it and something."""
    terms, _ = linear_form(index)
    others = (atom for atom in terms if atom != var)
    return 0 if any(var in walk_expr(atom) for atom in others) else terms.get(var, 0)


def reads(e: Expr, region: Region | None) -> bool:
    """Whether the expression reads an element of the region's buffer."""
    return region is not None and any(
        isinstance(p, Load) and p.buffer is region.buffer for p in walk_expr(e)
    )
