"""Enumerate the paths of a run: trip counts and branches.

Launch indices, parameters and data decide them. One expression has the same answer on every core.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field
from functools import lru_cache
from itertools import islice

from tile_checkers.block.values import WRITTEN, is_made, is_unknown
from tile_checkers.conditions import divided
from tile_ir import (
    Binary,
    Const,
    Expr,
    Load,
    Unary,
    Var,
    constant_value,
    equal,
    linear_form,
    print_expr,
    reads_memory,
    replace_in,
    simplify,
    walk_expr,
)
from tile_ir.analysis import Interval, Ranges, decided
from tile_ir.analysis.branch_feasibility import at_least, implied, three_valued
from tile_ir.analysis.residues import MOST_RESIDUES_OF_EVENTS
from tile_ir.quick_dataclasses import dataclass

# A condition of a loop is tried both ways so many times.
MOST_TIMES = 2
# Nothing is tried to be proven of expressions with more parts.
MOST_PARTS = 40
MOST_FACTS = 6


class Again(Exception):
    """A choice gave a variable its value: the run begins anew with it."""


class Impossible(Exception):
    """Choices contradict each other: no run takes this path."""


@dataclass(slots=True)
class PathChoice:
    """One question and its answers. `text` is its wording for people. `facts` are expressions that
    are not negative with each answer, and `solved` is the variable it fixes. `most` is the upper
    bound of the answer."""

    key: Expr
    options: tuple[int, ...]
    text: str
    counts: bool
    solved: tuple[Var, tuple[Expr, ...]] | None = None
    asked: Expr | None = None
    most: float = 0
    at: int = 0

    @property
    def answer(self) -> int:
        return self.options[self.at]

    def facts(self) -> tuple[Expr, ...]:
        if self.counts:
            if self.answer == 0 and self.solved is None:
                return (simplify(-self.key),)
            return simplify(self.key - self.answer), simplify(self.answer - self.key)
        return tuple(map(simplify, implied(self.key, bool(self.answer))))

    def fits(self, value: object) -> bool:
        """Whether a value of the expression gives this answer."""
        if value is None:
            return True
        if not self.counts:
            return bool(value) is bool(self.answer)
        return isinstance(value, int) and max(0, value) == max(0, self.answer)

    def says(self) -> str:
        if self.solved is not None:
            var, values = self.solved
            return f"`{print_expr(var)}` is {print_expr(values[self.at])}"
        if self.counts:
            return f"`{self.text}` is {self.answer}"
        return f"`{self.text}` {'holds' if self.answer else 'does not hold'}"


@dataclass(slots=True)
class Path:
    """The answers given so far, in the order of the questions; the last one changes first. `fixed`
    are the parts of expressions, other than variables, that have one number with them, and
    `by_counts` what these decide. `proofs` counts expensive proofs."""

    known: Ranges
    choices: list[PathChoice] = field(default_factory=list)
    by_key: dict[Expr, PathChoice] = field(default_factory=dict)
    facts: tuple[Expr, ...] = ()
    decided: dict[tuple[Expr, tuple[Expr, ...]], bool | None] = field(default_factory=dict)
    fixed: dict[Expr, Expr] = field(default_factory=dict)
    by_counts: dict[Expr, bool | None] = field(default_factory=dict)
    proofs: int = 0

    def advance(self) -> bool:
        """Advance to the next path; return whether there is one."""
        while self.choices:
            last = self.choices[-1]
            if last.at + 1 < len(last.options):
                last.at += 1
                self._settle()
                return True
            self.choices.pop()
        return False

    def copy(self) -> Path:
        """A copy of the path that can make further choices without a change to this one."""
        copied = Path(self.known, self.choices.copy())
        copied._settle()
        return copied

    def _settle(self) -> None:
        self.by_key = {c.key: c for c in self.choices}
        self.facts = tuple(f for c in self.choices for f in c.facts())
        self.fixed = self._fixed()
        self.by_counts = {}

    def given(self) -> dict[Var, Expr]:
        """Variables that have one value on this path."""
        return {c.solved[0]: c.solved[1][c.at] for c in self.choices if c.solved is not None}

    def _fixed(self) -> dict[Expr, Expr]:
        """The parts of expressions that trip counts give one number on this path."""
        found: dict[Expr, Expr] = {}
        for choice in self.choices:
            if choice.counts and choice.solved is None and choice.answer > 0:
                terms, constant = linear_form(choice.key)
                if len(terms) == 1:
                    ((part, factor),) = terms.items()
                    found[part] = Const((choice.answer - constant) // factor)
        return found

    def is_certain(self) -> bool:
        """Whether all cores surely take this path together."""
        return not any(is_unknown(c.key) for c in self.choices)

    def says(self) -> str:
        """The path in words; empty if there is only one."""
        found = dict.fromkeys(_in_words(c.says()) for c in self.choices if not is_unknown(c.key))
        if not self.is_certain():
            found["cores may decide differently"] = None
        return ", ".join(found)

    def most_iterations(self) -> float:
        """The largest trip count chosen for a loop without one in the text."""
        return max((c.most for c in self.choices if c.counts), default=0)

    def bounds(self, expr: Expr) -> Interval:
        facts = self._facts_about(expr)
        self.proofs += 1 + len(facts)
        low = at_least(expr, self.known, facts)
        high = -at_least(simplify(-expr), self.known, facts)
        return Interval(low, high)

    def count(self, trips: Expr, text: Expr, tried: Iterable[int]) -> int:
        """The trip count of a loop; one of `tried` where nothing determines it."""
        number = constant_value(trips)
        if number is not None:
            return max(0, number)
        made = self.by_key.get(trips)
        if made is not None:
            return max(0, made.answer)
        left = self._by_remainders(trips)
        if left is not None:
            return max(0, left)
        span = self.bounds(trips)
        if span.low > span.high:
            raise Impossible
        if span.high <= 0:
            return 0
        if span.low == span.high:
            return int(span.low)
        low = max(0, span.low)
        options = [n for n in tried if low <= n <= span.high]
        if not options:
            options = [int(low + i) for i in range(3) if low + i <= span.high]
        elif span.low < 0 and _variable(trips) is not None:
            options.append(-1)  # no iteration either, but another value
        solved = _solved(trips, options)
        said = print_expr(text)
        self._add(PathChoice(trips, tuple(options), said, True, solved, most=span.high))
        return max(0, options[0])

    def truth(self, condition: Expr) -> bool | None:
        """Whether a condition holds, as far as the choices so far decide it."""
        return three_valued(condition, self._truth_of_part)

    def _truth_of_part(self, condition: Expr) -> bool | None:
        key, direct = normal_form(condition)
        made = self.by_key.get(key)
        if made is not None:
            return bool(made.answer) is direct
        if reads_memory(condition):
            return self._by_counts(condition)
        return self._decided(condition)

    def _by_counts(self, condition: Expr) -> bool | None:
        """The truth of a condition for the values that the chosen trip counts fix; None if they do
        not decide it."""
        if self.fixed.keys().isdisjoint(_parts(condition)):
            return None
        if condition not in self.by_counts:
            number = constant_value(simplify(replace_in(condition, self.fixed.get)))
            self.by_counts[condition] = None if number is None else bool(number)
        return self.by_counts[condition]

    def _facts_about(self, expr: Expr) -> tuple[Expr, ...]:
        """The last simple facts that share a name with the expression; none if it is too large."""
        inside = _names(expr)
        found = (f for f in reversed(self.facts) if not inside.isdisjoint(_names(f)))
        simple = (f for f in found if _size(f) <= MOST_PARTS)
        return tuple(islice(simple, MOST_FACTS)) if _size(expr) <= MOST_PARTS else ()

    def _decided(self, condition: Expr) -> bool | None:
        if _size(condition) > MOST_PARTS or reads_memory(condition):
            return None
        facts = self._facts_about(condition)
        at = (condition, facts)
        if at not in self.decided:
            self.proofs += 1 + len(facts)
            self.decided[at] = decided(condition, self.known, facts)
        return self.decided[at]

    def choose(self, condition: Expr, asked: Expr) -> bool:
        """Whether a condition holds on this path; both answers, one after the other, if nothing
        decides. A condition that later iterations of a loop test again (`asked`) holds after a few
        times."""
        found = self.truth(condition)
        if found is not None:
            return found
        match condition:
            case Unary(op="not", operand=x):
                return not self.choose(x, asked)
            case Binary(op="and", left=a, right=b):
                return self.choose(a, asked) and self.choose(b, asked)
            case Binary(op="or", left=a, right=b):
                return self.choose(a, asked) or self.choose(b, asked)
        left = self._by_remainders(condition)
        if left is not None:
            return bool(left)
        key, direct = normal_form(condition)
        before = sum(1 for c in self.choices if c.asked == asked)
        both = (1, 0) if direct else (0, 1)
        options = both if before < MOST_TIMES else both[:1]
        self._add(PathChoice(key, options, _readable(key), False, asked=asked))
        return bool(options[0]) is direct

    def event(self, expr: Expr) -> int | None:
        """The number that an expression names; None if it is unknown. For a remainder of a
        division, each value is tried."""
        if isinstance(expr, Const):  # nearly always
            return constant_value(expr)
        left = expr
        while (chosen := simplify(replace_in(left, self._remainder))) != left:
            left = chosen  # the choice for an outer remainder is of what the inner ones left of it
        number = constant_value(left)
        if number is not None:
            return number
        parts = [found[0] for e in walk_expr(left) if (found := divided(e, loads=True)) is not None]
        if not parts:
            return None
        self._try_remainders(*parts[0])
        return self.event(left)

    def _by_remainders(self, expr: Expr) -> int | None:
        """The value of an expression of small remainders only: once these are chosen, everything
        that depends on them is known."""
        rest = replace_in(expr, lambda e: Const(0, e.dtype) if divided(e) else None)
        named = any(isinstance(e, (Var, Load)) for e in walk_expr(rest))
        return None if named else self.event(expr)

    def _try_remainders(self, base: Expr, modulus: int) -> None:
        key = base % modulus
        options = range(modulus)
        for m in range(2, modulus):
            made = self.by_key.get(base % m)
            if made is not None and modulus % m == 0:
                options = range(made.answer, modulus, m)
        span = self.bounds(key)
        possible = tuple(r for r in options if span.low <= r <= span.high)
        if not possible:
            raise Impossible
        self._add(PathChoice(key, possible, print_expr(key), True))

    def _remainder(self, expr: Expr) -> Expr | None:
        """The chosen value of a remainder of a division; None without a choice."""
        found = divided(expr, loads=True)
        if found is None:
            return None
        (base, modulus), shift = found
        for m in range(modulus, MOST_RESIDUES_OF_EVENTS + 1, modulus):
            made = self.by_key.get(base % m)
            if made is not None:
                return Const((made.answer + shift) % modulus, expr.dtype)
        return None

    def _add(self, choice: PathChoice) -> None:
        if choice.solved is None:
            self.choices.append(choice)
            self.by_key[choice.key] = choice
            self.facts += choice.facts()
            self.fixed = self._fixed()
            self.by_counts = {}
            return
        # What was asked before is asked again in terms of the value: that comes first.
        self.choices = [*(c for c in self.choices if c.solved is not None), choice]
        self._settle()
        raise Again


@lru_cache(maxsize=8192)
def _names(expr: Expr) -> frozenset[Var]:
    return frozenset(e for e in walk_expr(expr) if isinstance(e, Var))


@lru_cache(maxsize=8192)
def _parts(expr: Expr) -> frozenset[Expr]:
    return frozenset(walk_expr(expr))


@lru_cache(maxsize=8192)
def _size(expr: Expr) -> int:
    return sum(1 for _ in walk_expr(expr))


# Every run of a block asks it of the same conditions.
@lru_cache(maxsize=32768)
def normal_form(condition: Expr) -> tuple[Expr, bool]:
    """A comparison as `x >= 0` or an equation, and whether it is that or its contrary."""
    match condition:
        case Binary(op="!=", left=a, right=b):
            return equal(a, b), False
        case Binary(op="<" | "<=" | ">" | ">=" as op, left=a, right=b) if (
            a.dtype.is_integer and b.dtype.is_integer
        ):
            if op in ("<", "<="):
                a, b = b, a
            above = simplify(a - b - int(op in ("<", ">")))
            below = simplify(-above - 1)
            direct = _rank(above) <= _rank(below)
            form = above if direct else below
            return Binary(">=", form, Const(0, form.dtype), condition.dtype), direct
    return condition, True


def _rank(expr: Expr) -> tuple[int, str]:
    text = print_expr(expr)
    return len(text), text


def _readable(key: Expr) -> str:
    match key:
        case Binary(op=">=", left=x) if key.right == Const(0, key.right.dtype):
            _, shift = linear_form(x)
            return print_expr(simplify(x - shift) >= -shift)
    return print_expr(key)


def _in_words(text: str) -> str:
    """Replace the number of a written value by words."""
    return re.sub(rf"%(\$[^`]*?){WRITTEN}\d+", r"\1 as written", text)


def _variable(trips: Expr) -> tuple[Var, int, int] | None:
    """`factor * var + shift` with a factor of one or minus one."""
    terms, shift = linear_form(trips)
    if len(terms) != 1:
        return None
    ((var, factor),) = terms.items()
    if not isinstance(var, Var) or factor not in (1, -1) or is_made(var):
        return None
    return var, factor, shift


def _solved(trips: Expr, options: list[int]) -> tuple[Var, tuple[Expr, ...]] | None:
    """The variable that the number of iterations fixes, and its value for each."""
    found = _variable(trips)
    if found is None:
        return None
    var, factor, shift = found
    return var, tuple(Const(factor * (n - shift), var.dtype) for n in options)


__all__ = ["Again", "Impossible", "Path", "PathChoice", "normal_form"]
