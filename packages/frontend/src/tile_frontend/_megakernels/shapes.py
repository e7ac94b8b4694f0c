"""Find equal sizes of tensors in several kernels, each of which has symbols of its own.

Map tensors of the megakernel to those of a task, which may see a part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tile_frontend._megakernels.calls import TaskCall, named_scalars
from tile_frontend._tracing.faults import Fault
from tile_ir import (
    INT32,
    Buffer,
    Const,
    DType,
    Expr,
    Var,
    constant_value,
    print_expr,
    simplify,
    walk_expr,
)
from tile_ir.expr import substitute
from tile_ir.ranks import RANK, RANKS, STEP, instance, is_symmetric

# A size: a number, or a symbol of a task, which -1 stands for where it is one of the megakernel.
Size = int | float | tuple[int, str]


@dataclass(frozen=True, slots=True)
class Turns:
    """The repetition of the tasks in one call: the number of turns, the tensors with a part for
    each turn, and the scalar of tasks that counts turns over all calls."""

    count: Expr
    stacked: frozenset[str] = frozenset()
    step: str | None = None

    @property
    def several(self) -> bool:
        return constant_value(self.count) != 1 or bool(self.stacked)


@dataclass
class Shapes:
    """The values of each task's symbols in the megakernel, and the shapes of its tensors."""

    calls: Sequence[TaskCall]
    turns: Turns
    _same: dict[tuple[int, str], Size] = field(default_factory=dict)
    _first: dict[str, tuple[int, Buffer]] = field(default_factory=dict)
    _named: dict[tuple[int, str], Var] = field(default_factory=dict)

    def __post_init__(self) -> None:
        scalars = named_scalars(self.calls)
        self.symmetric = frozenset(
            tensor for call in self.calls for p, tensor in call.tied() if is_symmetric(p)
        )
        self._named.update(((-1, name), var) for name, var in scalars.items())
        for n, call in enumerate(self.calls):
            for scalar, given in call.scalars():
                self._equate((n, scalar.name), (-1, given) if isinstance(given, str) else given)
        for n, call in enumerate(self.calls):
            for param, tensor in call.tied():
                own = _own(param)
                if tensor in self._first:
                    self._tie(tensor, n, own)
                else:
                    self._first[tensor] = n, own
        taken = {*self._first, *scalars, *(v.name for v in _variables(self.turns.count))}
        self._name_symbols(taken)
        self.turn = Var(_free("turn", taken))
        self.step = simplify(STEP + self.turn) if self.turns.several else STEP
        self.scalars = {n: v for n, v in scalars.items() if n != self.turns.step}
        self._check_step(scalars)

    def values(self, number: int) -> dict[Var, Expr]:
        """The values of a task's symbols and scalars in the megakernel."""
        func = self.calls[number].func
        variables = [*func.symbols, *(p for p in func.params if isinstance(p, Var))]
        return {var: self._value(number, var) for var in variables}

    def shape(self, tensor: str) -> tuple[Expr, ...]:
        """The shape of a tensor of the megakernel: as the first task has it, and before it how many
        parts there are of which a task sees one."""
        inner = self.seen_by(*self._first[tensor])
        if tensor in self.symmetric:
            return (RANKS, *inner)
        return (self.turns.count, *inner) if tensor in self.turns.stacked else inner

    def part(self, tensor: str) -> Expr | None:
        """Which part of a tensor a task sees that has no more of it."""
        if tensor in self.symmetric:
            return RANK
        return self.turn if tensor in self.turns.stacked else None

    def dtype(self, tensor: str) -> DType:
        """The type of its elements."""
        return self._first[tensor][1].dtype

    def seen_by(self, number: int, param: Buffer) -> tuple[Expr, ...]:
        """The shape that a task sees, in sizes of the megakernel."""
        values = self.values(number)
        return tuple(simplify(substitute(dim, values)) for dim in _own(param).shape)

    def same_room(self, a: str, b: str) -> bool:
        """Whether two tensors can lie in one place."""
        return self.shape(a) == self.shape(b) and self.dtype(a) == self.dtype(b)

    def _value(self, number: int, var: Var) -> Expr:
        found = self._root((number, var.name))
        if not isinstance(found, tuple):
            return Const(found, var.dtype)
        if found == (-1, self.turns.step):
            return self.step
        return self._named[found]

    def _check_step(self, scalars: Mapping[str, Var]) -> None:
        step = self.turns.step
        if step is None:
            return
        if step not in scalars:
            message = f"T.megakernel: no task has a scalar `{step}` that could count its calls"
            raise Fault("task-region", message, "give its name to a task, or leave `step` out")
        if scalars[step].dtype is not INT32:
            message = f"T.megakernel: `{step}` counts calls, and is {scalars[step].dtype}"
            raise Fault("dtype-mismatch", message, "declare it as T.int32")

    def _tie(self, tensor: str, number: int, param: Buffer) -> None:
        """A task has a tensor that another one has: types and sizes are the same."""
        first, known = self._first[tensor]
        if known.dtype != param.dtype:
            raise self._unlike("dtype-mismatch", tensor, number, known.dtype, param.dtype)
        if known.rank == param.rank:
            pairs = zip(known.shape, param.shape, strict=True)
        else:
            pairs = zip(*self._left_over((first, known), (number, param)), strict=False)
        for a, b in pairs:
            ours, theirs = _size(first, a), _size(number, b)
            if ours is not None and theirs is not None and not self._equate(ours, theirs):
                shapes = (_shown(known.shape), _shown(param.shape))
                raise self._unlike("shape-mismatch", tensor, number, *shapes)

    def _left_over(
        self, a: tuple[int, Buffer], b: tuple[int, Buffer]
    ) -> tuple[list[Expr], list[Expr]]:
        """The symbol on either side, where the numbers on both make the same product."""
        sides = [[d for d in buffer.shape if constant_value(d) is None] for _, buffer in (a, b)]
        products = [
            math.prod(c for d in buffer.shape if (c := constant_value(d)) is not None)
            for _, buffer in (a, b)
        ]
        alike = products[0] == products[1] and len(sides[0]) == len(sides[1]) == 1
        return (sides[0], sides[1]) if alike else ([], [])

    def _unlike(self, slug: str, tensor: str, number: int, a: object, b: object) -> Exception:
        first, _ = self._first[tensor]
        message = f"T.megakernel: `{tensor}` is {a} in task `{self.calls[first].name}`, but {b} in "
        hint = "give the second a name of its own"
        return Fault(slug, f"{message}`{self.calls[number].name}`", hint)

    def _root(self, size: Size) -> Size:
        while isinstance(size, tuple) and size in self._same:
            size = self._same[size]
        return size

    def _equate(self, a: Size, b: Size) -> bool:
        """Whether the two can be the same; they are from now on."""
        a, b = self._root(a), self._root(b)
        if a == b:
            return True
        if not isinstance(a, tuple) or (a[0] == -1 and isinstance(b, tuple)):
            a, b = b, a
        if not isinstance(a, tuple) or (a[0] == -1 and isinstance(b, tuple) and b[0] == -1):
            return False
        self._same[a] = b
        return True

    def _name_symbols(self, taken: set[str]) -> None:
        for n, call in enumerate(self.calls):
            for var in call.func.symbols:
                root = self._root((n, var.name))
                if isinstance(root, tuple) and root not in self._named:
                    self._named[root] = Var(_free(root[1], taken), var.dtype)


def _free(name: str, taken: set[str]) -> str:
    """The name, or with a number one that nothing has; it is taken from now on."""
    count, found = 0, name
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    taken.add(found)
    return found


def _own(param: Buffer) -> Buffer:
    """A tensor as its rank has it."""
    return instance(param) if is_symmetric(param) else param


def _variables(expr: Expr) -> list[Var]:
    return [e for e in walk_expr(expr) if isinstance(e, Var)]


def _size(number: int, dim: Expr) -> Size | None:
    """A size that is a number or a symbol; None for expressions of these."""
    if isinstance(dim, Var):
        return number, dim.name
    return constant_value(dim)


def _shown(shape: tuple[Expr, ...]) -> str:
    return f"({', '.join(map(print_expr, shape))})"
