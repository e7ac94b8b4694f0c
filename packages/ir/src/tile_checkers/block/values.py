"""What the variables of one core stand for, in the run at hand: numbers of iterations, definitions,
what scalar variables hold. Everything else is a name that means the same on all cores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tile_ir import Buffer, Const, Expr, Load, Memory, Var, rebuild, simplify, walk_expr

# In the name of a value that nobody can tell, and of one that the kernel has written to gm; no
# user's name has them.
UNKNOWN, WRITTEN = "?", "@"


@dataclass(frozen=True, slots=True)
class _Parts:
    """What an expression depends on. `fleeting` ones read memory that changes."""

    variables: tuple[Var, ...]
    scalars: tuple[Buffer, ...]
    fleeting: bool


Key = tuple[int, ...]


class Values:
    """Bindings of one core. Values are numbered, so that what follows from them is found again.
    `read` gives the value of an element of gm that the kernel changes, if it is known."""

    def __init__(self, name: str, written: frozenset[Buffer]) -> None:
        self.name = name
        self.written = written
        self.bound: dict[Var, Expr] = {}
        self.scalars: dict[Buffer, Expr] = {}
        self.unknowns = 0
        self.read: Callable[[Load], Expr | None] = lambda load: None
        self._numbers: dict[Expr, int] = {}
        self._bound: dict[Var, int] = {}
        self._scalars: dict[Buffer, int] = {}
        self._parts: dict[int, tuple[Expr, _Parts]] = {}
        self._found: dict[tuple[int, Key], Expr] = {}

    def begin(self, given: Mapping[Var, Expr]) -> None:
        """Another run, in which these variables have one value."""
        self.bound, self.scalars, self.unknowns = {}, {}, 0
        self._bound, self._scalars = {}, {}
        for var, value in given.items():
            self.bind(var, value)

    def bind(self, var: Var, value: Expr) -> None:
        self.bound[var] = value
        self._bound[var] = self._number(value)

    def store(self, buffer: Buffer, value: Expr) -> None:
        self.scalars[buffer] = value
        self._scalars[buffer] = self._number(value)

    def forget(self, buffer: Buffer) -> None:
        self.store(buffer, self.unknown(buffer))

    def save(self) -> dict[Buffer, Expr]:
        """What scalar variables hold, for the other way through a branch."""
        return dict(self.scalars)

    def restore(self, saved: Mapping[Buffer, Expr]) -> None:
        self.scalars, self._scalars = {}, {}
        for buffer, value in saved.items():
            self.store(buffer, value)

    def meet(self, other: Mapping[Buffer, Expr]) -> None:
        """What scalar variables hold on both ways."""
        for buffer in {**self.scalars, **other}:
            if self.scalars.get(buffer) != other.get(buffer):
                self.forget(buffer)

    def unknown(self, buffer: Buffer) -> Var:
        self.unknowns += 1
        return Var(f"{buffer.name}{UNKNOWN}{self.name}{self.unknowns}", buffer.dtype)

    def key(self, expr: Expr) -> Key | None:
        """What the value of an expression depends on; None if it is another one each time."""
        parts = self._parts_of(expr)
        if parts.fleeting:
            return None
        return (
            *(self._bound.get(v, -1) for v in parts.variables),
            *(self._scalars.get(b, -1) for b in parts.scalars),
        )

    def value(self, expr: Expr) -> Expr:
        """The expression in terms of what is one and the same on all cores."""
        if isinstance(expr, Const):
            return expr
        key = self.key(expr)
        if key is None:
            return simplify(self._put_in(expr))
        at = (id(expr), key)
        found = self._found.get(at)
        if found is None:
            found = self._found[at] = simplify(self._put_in(expr))
        return found

    def _put_in(self, expr: Expr) -> Expr:
        match expr:
            case Const():
                return expr
            case Var():
                return self.bound.get(expr, expr)
            case Load(buffer=buffer):
                if buffer.memory is Memory.VAR:
                    if buffer not in self.scalars:
                        self.forget(buffer)
                    return self.scalars[buffer]
                if self._changes(buffer):
                    found = self._element(expr)
                    return self.unknown(buffer) if found is None else found
        return rebuild(expr, self._put_in)

    def _element(self, load: Load) -> Expr | None:
        if load.buffer.memory is not Memory.GM:
            return None
        at = rebuild(load, lambda e: simplify(self._put_in(e)))
        assert isinstance(at, Load), "an element stays one"
        return None if any(is_unknown(e) for e in at.indices) else self.read(at)

    def _changes(self, buffer: Buffer) -> bool:
        return buffer.memory is not Memory.GM or buffer in self.written

    def _number(self, value: Expr) -> int:
        return self._numbers.setdefault(value, len(self._numbers))

    def _parts_of(self, expr: Expr) -> _Parts:
        known = self._parts.get(id(expr))
        if known is not None:
            return known[1]
        inside = list(walk_expr(expr))
        loaded = [e.buffer for e in inside if isinstance(e, Load)]
        parts = _Parts(
            tuple(dict.fromkeys(e for e in inside if isinstance(e, Var))),
            tuple(dict.fromkeys(b for b in loaded if b.memory is Memory.VAR)),
            any(b.memory is not Memory.VAR and self._changes(b) for b in loaded),
        )
        # The expression stays alive as long as its identity stands for it.
        self._parts[id(expr)] = expr, parts
        return parts


def is_unknown(expr: Expr) -> bool:
    """Whether an expression contains what another core cannot know to be the same."""
    return any(isinstance(e, Var) and UNKNOWN in e.name for e in walk_expr(expr))


def is_made(var: Var) -> bool:
    """Whether a name is none of the kernel's, but that of a value it computes."""
    return UNKNOWN in var.name or WRITTEN in var.name


__all__ = ["WRITTEN", "Key", "Values", "is_made", "is_unknown"]
