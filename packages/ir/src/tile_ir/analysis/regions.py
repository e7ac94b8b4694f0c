"""Decide whether two regions of one buffer are disjoint, in a given relation of two executions.

The test goes dimension by dimension, with linear forms and intervals; undecided regions may meet.
It does not consider buffers that share bytes, and bytes around a region that an operation touches
too: `accesses.widened` gives a region with those.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from tile_ir.analysis.intervals import INF, Interval, Ranges, interval, loop_range
from tile_ir.dtypes import INT32, INT64
from tile_ir.expr import Binary, Const, Expr, Load, Var, binary, reads_memory, rebuild, walk_expr
from tile_ir.nodes import For, Let, Region, Slice, Stmt, While
from tile_ir.scalars.affine import Values, linear_form, resolved, simplify
from tile_ir.traversal import map_region

Path = Sequence[Stmt]
# Intervals of variables, and what those stand for that are defined.
Sight = tuple[Ranges, dict[Var, Expr]]
_Change = Callable[[Expr], Expr]
# Behind the name of a variable: its value in the other execution. No user's name has it.
_OTHER = "'"
# Of other types, sums may wrap.
_EXACT = (INT32, INT64)
# A sum: the factor of each atom, and a constant.
_Form = tuple[dict[Expr, int], int]


def apart(
    a: Region,
    b: Region,
    same: Collection[Var],
    known: Ranges,
    later: Var | None = None,
    values: Mapping[Var, Expr] | None = None,
    by: tuple[int, int] = (1, 0),
) -> bool:
    """Whether `a` of one execution and `b` of another surely have no element in common.

    Variables in `same` have one value in both. `later` is a loop variable that is larger by at
    least one where `b` is executed, and by a number that leaves the second of `by` when divided by
    the first. All other variables, and all elements that are loaded, are
    independent of each other. `known` gives intervals, `values` definitions to put in first.
    """
    if a.buffer is not b.buffer:
        return False
    if apart_by_numbers(a, b):
        return True

    def first(expr: Expr) -> Expr:
        return simplify(resolved(expr, values) if values else expr)

    pairs = zip(a.dims, b.dims, strict=True)
    dims = [(x, y) for x, y in pairs if not (_is_constant(x) and _is_constant(y))]
    starts = [(first(x.offset), first(y.offset)) for x, y in dims]
    # Only what the starts name is compared: most questions at different places are the same.
    names = {later}.union(*(_variables(e) for pair in starts for e in pair))
    # A set may be of a kind of its own, as one that has everything.
    fixed = same if isinstance(same, frozenset) else frozenset(v for v in names if v in same)
    two = _two_executions(fixed, frozenset((v, known[v]) for v in names if v in known), later, by)
    equal: set[Expr] = set()
    for (x, y), (start_a, start_b) in zip(dims, starts, strict=True):
        if start_a.dtype not in _EXACT or start_b.dtype not in _EXACT:
            continue
        in_a, in_b, beside = _form(start_a), _form(start_b), two.other_form(start_b)
        span_a, span_b = _span(x, first, known), _span(y, first, known)
        if _far_enough(_minus(beside, in_a), span_a, span_b, two):
            return True
        if _other_remainders(in_a, beside, max(span_a, span_b), two):
            return True
        equal |= _forced(in_a, in_b, span_a, span_b, two)
    return _contradict(equal, two)


class _TwoExecutions:
    """Two executions in the relation of `apart`. The first keeps its variables; those of the other
    have names of their own. Many regions are compared in one relation, so results for expressions
    are kept."""

    def __init__(
        self, same: frozenset[Var], known: Ranges, later: Var | None, by: tuple[int, int]
    ) -> None:
        self.same, self.known, self.later = same, known, later
        self.ranges = dict(known)
        ahead = Var("ahead" + _OTHER) if later is None else Var(later.name + _OTHER, later.dtype)
        self.distance: Expr = ahead
        if later is not None:
            span = known.get(later, Interval(-INF, INF))
            modulus, rest = by
            first_one = rest or modulus
            most = span.high - span.low
            iterations = (most - first_one) // modulus if most < INF else INF
            self.ranges[ahead] = Interval(0, max(0, iterations))
            self.distance = ahead * modulus + first_one
        self._others: dict[Expr, Expr] = {}
        self._forms: dict[Expr, _Form] = {}
        self._intervals: dict[Expr, Interval] = {}

    def other(self, expr: Expr) -> Expr:
        """The expression as the other execution has it."""
        if isinstance(expr, Const) or expr in self.same:
            return expr
        found = self._others.get(expr)
        if found is None:
            found = self._others[expr] = self._renamed(expr)
        return found

    def _renamed(self, expr: Expr) -> Expr:
        if expr == self.later:
            return expr + self.distance
        if isinstance(expr, (Var, Load)):
            name = expr.name if isinstance(expr, Var) else f"load{len(self._others)}"
            found = Var(name + _OTHER, expr.dtype)
            self.ranges[found] = interval(expr, self.known)
            return found
        return rebuild(expr, self.other)

    def other_form(self, expr: Expr) -> _Form:
        """That, as a sum."""
        found = self._forms.get(expr)
        if found is None:
            found = self._forms[expr] = linear_form(self.other(expr))
        return found

    def interval(self, form: _Form) -> Interval:
        """The values of a sum."""
        terms, constant = form
        low: float = constant
        high: float = constant
        for atom, factor in terms.items():
            ends = self._interval(atom)
            one, two = (0 if end == 0 else end * factor for end in (ends.low, ends.high))
            low += min(one, two)
            high += max(one, two)
        return Interval(low, high)

    def _interval(self, atom: Expr) -> Interval:
        found = self._intervals.get(atom)
        if found is None:
            found = self._intervals[atom] = interval(atom, self.ranges)
        return found


@lru_cache(maxsize=64)
def _two_executions(
    same: frozenset[Var],
    known: frozenset[tuple[Var, Interval]],
    later: Var | None,
    by: tuple[int, int],
) -> _TwoExecutions:
    return _TwoExecutions(same, dict(known), later, by)


@lru_cache(maxsize=4096)
def _variables(expr: Expr) -> frozenset[Var]:
    return frozenset(part for part in walk_expr(expr) if isinstance(part, Var))


@lru_cache(maxsize=4096)
def _form(expr: Expr) -> _Form:
    return linear_form(expr)


def _minus(a: _Form, b: _Form) -> _Form:
    terms = a[0].copy()
    for atom, f in b[0].items():
        left = terms.get(atom, 0) - f
        if left:
            terms[atom] = left
        else:
            del terms[atom]
    return terms, a[1] - b[1]


def _sum(parts: Iterable[tuple[_Form, int]]) -> _Form:
    """The sum of multiples of sums."""
    total: dict[Expr, int] = {}
    whole = 0
    for (terms, constant), factor in parts:
        whole += constant * factor
        for atom, f in terms.items():
            total[atom] = total.get(atom, 0) + f * factor
    return {atom: f for atom, f in total.items() if f}, whole


def apart_by_numbers(a: Region, b: Region) -> bool:
    """Whether two regions of one buffer have nothing in common, in whatever executions, in some
    dimension in which both start at a number."""
    for x, y in zip(a.dims, b.dims, strict=True):
        one, other = x.offset, y.offset
        if isinstance(one, Const) and isinstance(other, Const):
            gap = other.value - one.value
            first = x if gap > 0 else y
            extent = first.extent
            if isinstance(extent, Const) and (extent.value - 1) * first.stride < abs(gap):
                return True
    return False


def _is_constant(s: Slice) -> bool:
    return isinstance(s.offset, Const) and isinstance(s.extent, Const)


def _span(s: Slice, first: _Change, known: Ranges) -> float:
    """Elements from the first to the last of a slice, at most."""
    extent = interval(first(s.extent), known).high
    return max(0, (extent - 1) * s.stride + 1)


def _far_enough(distance: _Form, span_a: float, span_b: float, two: _TwoExecutions) -> bool:
    """Whether a distance of starts is never so small that elements are shared: by its interval, or
    because it is multiples of a step and a rest (the GCD test of dependence analysis)."""
    span = two.interval(distance)
    if span.low >= span_a or -span.high >= span_b:
        return True
    terms, constant = distance
    step = math.gcd(*terms.values())
    return step > 0 and span_a <= constant % step <= step - span_b


def _other_remainders(start_a: _Form, start_b: _Form, span: float, two: _TwoExecutions) -> bool:
    """Whether two starts `f * (x % m) + c`, with f at least the span, differ because the remainders
    of the two x surely do. A constant start may be one of them."""
    (in_a, base_a), (in_b, base_b) = start_a, start_b
    if not in_b:
        (in_a, base_a), (in_b, base_b) = (in_b, base_b), (in_a, base_a)
    if len(in_b) != 1:
        return False
    ((y, factor),) = in_b.items()
    if not (isinstance(y, Binary) and y.op == "%" and isinstance(y.right, Const)):
        return False
    modulus = int(y.right.value)
    if abs(factor) < span:
        return False
    if not in_a:
        turn, rest = divmod(base_a - base_b, factor)
        if rest or not 0 <= turn < modulus:
            return False
        left: Expr = Const(turn)
    else:
        x = next(iter(in_a))
        same_form = len(in_a) == 1 and isinstance(x, Binary) and x.op == "%" and x.right == y.right
        if not same_form or in_a[x] != factor or base_a != base_b:
            return False
        assert isinstance(x, Binary)
        left = x.left
    difference = _minus(_form(y.left), _form(left))
    terms, constant = difference
    step = math.gcd(modulus, *terms.values())
    between = two.interval(difference)
    if constant % step != 0:
        return True
    if between.low == -INF or between.high == INF:
        return False
    # No multiple of the modulus lies between.
    below = between.low // modulus * modulus
    return between.low > below and between.high < below + modulus


def _forced(
    start_a: _Form, start_b: _Form, span_a: float, span_b: float, two: _TwoExecutions
) -> set[Expr]:
    """Atoms that have one value in both executions if these meet in this dimension: the factor of
    such an atom is as large as everything else in the dimension. Both starts are as the first
    execution has them."""
    forced = set()
    (in_a, base_a), (in_b, base_b) = start_a, start_b
    for atom, factor in in_a.items():
        if in_b.get(atom) != factor:
            continue
        rest: list[tuple[_Form, int]] = [(({}, base_b - base_a), 1)]
        rest += [(two.other_form(one), f) for one, f in in_b.items() if one != atom]
        rest += [(_form(one), -f) for one, f in in_a.items() if one != atom]
        between = two.interval(_sum(rest))
        # They meet where -span_b < factor * (difference of the atom) + rest < span_a.
        if span_a - between.low <= abs(factor) and span_b + between.high <= abs(factor):
            forced.add(atom)
    return forced


def _contradict(equal: set[Expr], two: _TwoExecutions) -> bool:
    """Whether an atom cannot have one value in both executions, given those that must: values of t
    // c and t % c make t."""
    waiting = set(equal)
    while waiting:
        for expr in waiting:
            distance = two.interval(_minus(two.other_form(expr), _form(expr)))
            if distance.low > 0 or distance.high < 0:
                return True
        found = {
            e.left
            for e in equal
            if isinstance(e, Binary)
            and e.op == "//"
            and isinstance(e.right, Const)
            and simplify(binary("%", e.left, e.right)) in equal
        }
        waiting = found - equal
        equal = equal | found
    return False


def ever_meet(
    a: Region, path_a: Path, b: Region, path_b: Path, known: Ranges, once: bool = False
) -> bool:
    """Whether some execution of one statement and some of the other may share an element.

    A path has the statements around and before a statement, outermost first: enclosing statements,
    and the lets it sees, in textual order. `once` is for two regions of one statement: then only
    different executions count. `known` gives the intervals of variables that are visible
    everywhere. True where nothing is known.
    """
    return ever_meet_in(a, path_a, b, path_b, known, visible(path_a, path_b, known), once)


def ever_meet_in(
    a: Region, path_a: Path, b: Region, path_b: Path, known: Ranges, sight: Sight, once: bool
) -> bool:
    """`ever_meet` with `sight`, the facts that both paths make visible."""
    if a.buffer is not b.buffer:
        return True
    common = common_path(path_a, path_b)
    ranges, values = sight
    everywhere = set(known)
    if not once and not apart(a, b, everywhere | defined(common), ranges, None, values):
        return True
    for stmt in common:
        if isinstance(stmt, (For, While)):
            later = stmt.var if isinstance(stmt, For) else None
            if not apart(a, b, everywhere, ranges, later, values):
                return True
            if not apart(b, a, everywhere, ranges, later, values):
                return True
        if isinstance(stmt, (For, Let)):
            everywhere.add(stmt.var)
    return False


def meet_in_run(
    a: Region, path_a: Path, b: Region, path_b: Path, known: Ranges, loop: For, same_iteration: bool
) -> bool:
    """Whether some execution of one statement and a later one of the other may share an element,
    both in the same run of a loop around both.

    `same_iteration` says that both may be in one iteration, and not only `b` in a later one. Paths
    and `known` as for `ever_meet`.
    """
    common = common_path(path_a, path_b)
    if a.buffer is not b.buffer or loop not in common:
        return True
    ranges, values = visible(path_a, path_b, known)
    same = set(known) | defined(common)
    if same_iteration and not apart(a, b, same, ranges, None, values):
        return True
    same = set(known) | defined(common[: common.index(loop)])
    return not apart(a, b, same, ranges, loop.var, values)


def common_path(path_a: Path, path_b: Path) -> Path:
    """The statements around and before both."""
    shared = 0
    for x, y in zip(path_a, path_b, strict=False):
        if x is not y:
            break
        shared += 1
    return path_a[:shared]


def visible(path_a: Path, path_b: Path, known: Ranges) -> Sight:
    """The intervals and the values that two paths make visible."""
    ranges, values = dict(known), {}
    for stmt in (*path_a, *path_b):
        if isinstance(stmt, For):
            ranges[stmt.var] = loop_range(stmt, ranges)
        if isinstance(stmt, Let) and stmt.var.dtype.is_integer:
            ranges[stmt.var] = interval(stmt.value, ranges)
            if not reads_memory(stmt.value):
                values[stmt.var] = stmt.value
    return ranges, values


def defined_region(region: Region, values: Values) -> Region:
    """The region with definitions put in."""
    return map_region(region, lambda expr: resolved(expr, values))


def defined(path: Path) -> set[Var]:
    """The variables a path brings into sight."""
    return {s.var for s in path if isinstance(s, (For, Let))}
