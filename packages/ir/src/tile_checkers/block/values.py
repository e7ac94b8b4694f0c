"""Compute the values of one core's variables in the current run.

These are iterations, definitions and contents of scalar variables. Every other name means the same
on all cores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from tile_ir import Buffer, Const, Expr, Load, Memory, Var, rebuild, simplify, walk_expr

# In the name of an unknown value, and of one that the kernel has written to gm; no user's name has
# them.
UNKNOWN, WRITTEN = "?", "@"
# What the value of an expression follows from.
Key = tuple[Expr | None, ...]


class Values:
    """Bindings of one core. `read` gives the value of an element of gm that the kernel changes, if
    it is known."""

    def __init__(self, name: str, written: frozenset[Buffer]) -> None:
        self.name = name
        self.written = written
        self.bound: dict[Var, Expr] = {}
        self.scalars: dict[Buffer, Expr] = {}
        self.unknowns = 0
        self.read: Callable[[Load], Expr | None] = lambda load: None
        self._parts: dict[Expr, tuple[tuple[Var | Buffer, ...], bool]] = {}
        self._found: dict[tuple[Expr, Key], Expr] = {}

    def begin(self, given: Mapping[Var, Expr]) -> None:
        """Begin another run, in which these variables have one value."""
        self.bound, self.scalars, self.unknowns = dict(given), {}, 0

    def forget(self, buffer: Buffer) -> None:
        self.scalars[buffer] = self.unknown(buffer)

    def meet(self, other: Mapping[Buffer, Expr]) -> None:
        """Keep the contents of scalar variables that both paths share."""
        for buffer in {**self.scalars, **other}:
            if self.scalars.get(buffer) != other.get(buffer):
                self.forget(buffer)

    def unknown(self, buffer: Buffer) -> Var:
        self.unknowns += 1
        return Var(f"{buffer.name}{UNKNOWN}{self.name}{self.unknowns}", buffer.dtype)

    def key(self, expr: Expr) -> Key | None:
        """Return the inputs that determine the value of an expression; None if it reads memory that
        changes."""
        found = self._parts.get(expr)
        if found is None:
            inside = list(walk_expr(expr))
            loaded = {e.buffer for e in inside if isinstance(e, Load)}
            names: list[Var | Buffer] = [e for e in inside if isinstance(e, Var)]
            names += [b for b in loaded if b.memory is Memory.VAR]
            fleeting = any(b.memory is not Memory.VAR and self._changes(b) for b in loaded)
            found = self._parts[expr] = tuple(dict.fromkeys(names)), fleeting
        if found[1]:
            return None
        return tuple(
            self.bound.get(n) if isinstance(n, Var) else self.scalars.get(n) for n in found[0]
        )

    def value(self, expr: Expr) -> Expr:
        """Return the expression in terms of values that are equal on all cores."""
        if isinstance(expr, Const):
            return expr
        key = self.key(expr)
        if key is None:
            return simplify(self._put_in(expr))
        found = self._found.get((expr, key))
        if found is None:
            found = self._found[expr, key] = simplify(self._put_in(expr))
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


@lru_cache(maxsize=32768)
def is_unknown(expr: Expr) -> bool:
    """Whether an expression contains a value that may differ on another core."""
    return any(isinstance(e, Var) and UNKNOWN in e.name for e in walk_expr(expr))


def is_made(var: Var) -> bool:
    """Whether a name is none of the kernel's, but that of a value it computes."""
    return UNKNOWN in var.name or WRITTEN in var.name


__all__ = ["WRITTEN", "Key", "Values", "is_made", "is_unknown"]
