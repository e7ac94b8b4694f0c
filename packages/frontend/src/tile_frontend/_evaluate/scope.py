"""Look up the names that a kernel or macro sees (docs/language/index.md#names).

Blocks of local names stand over the names captured by value when the decorator ran.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from enum import Enum
from types import CellType, FrameType
from typing import Any

from tile_ir import Loc
from tile_ir.quick_dataclasses import dataclass

MISSING = object()


@dataclass(frozen=True, slots=True)
class Captured:
    """Names from around a function. `local` is a copy of its enclosing scopes and `globals` of its
    module's. The live ones serve only names that did not exist at the copy."""

    local: Mapping[str, Any]
    globals: Mapping[str, Any]
    cells: Mapping[str, CellType]
    live_globals: Mapping[str, Any]

    def find(self, name: str) -> Any:
        if name in self.local:
            return self.local[name]
        cell = self.cells.get(name)
        if cell is not None and (value := _contents(cell)) is not MISSING:
            return value
        for names in (self.globals, self.live_globals):
            if name in names:
                return names[name]
        return getattr(builtins, name, MISSING)

    def names(self) -> set[str]:
        functions = (name for name in dir(builtins) if callable(getattr(builtins, name)))
        return {*self.local, *self.live_globals, *functions}


def capture(fn: Callable[..., Any], frame: FrameType | None) -> Captured:
    """The names around `fn`. The frame of the enclosing function adds names that only annotations
    use, which Python does not keep in the closure."""
    # Only the function around it, not one that happens to apply the decorator for it.
    around_it = fn.__qualname__.split(".<locals>.")[:-1]
    if frame is not None and (
        not around_it
        or around_it[-1].rpartition(".")[2] != frame.f_code.co_name
        or frame.f_code.co_filename != fn.__code__.co_filename
    ):
        frame = None
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
    around: dict[str, Any] = {}
    if frame is not None:
        around.update(frame.f_locals)
    for name, cell in cells.items():
        value = _contents(cell)
        if value is not MISSING:
            around[name] = value
    return Captured(around, dict(fn.__globals__), cells, fn.__globals__)


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the enclosing function has not assigned it yet
        return MISSING


class BlockKind(Enum):
    """The effect of a block's end on names that were bound before it and again inside it."""

    PLAIN = "plain"
    LOOP = "loop"
    # A branch that was chosen while the kernel is traced.
    CHOSEN = "chosen"
    # What surely never runs, so that no value is lost there.
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Lost:
    """A value that ended with its block although the name was bound before it. Scripts rely on
    that where the block was a branch chosen while tracing, and where the name is not the text's
    own: an index of the launch or of a loop, a parameter."""

    loc: Loc
    relied_on: bool


@dataclass(eq=False, slots=True)
class _Block:
    kind: BlockKind
    names: dict[str, Any] = field(default_factory=dict)
    # Those of them that an assignment has bound.
    assigned: set[str] = field(default_factory=set)
    # Names of this block that an inner block, now gone, had bound again.
    lost: dict[str, Lost] = field(default_factory=dict)
    # Assignments in this block to names of outer ones.
    hiding: dict[str, Lost] = field(default_factory=dict)
    # Names of outer blocks that were read in this one or inside it.
    read: set[str] = field(default_factory=set)


class Scope:
    """Local names, innermost block last. Leaving a block forgets the names bound in it; where they
    stood is kept for error messages."""

    def __init__(self, captured: Captured, caller: Scope | None = None) -> None:
        self._blocks = [_Block(BlockKind.PLAIN)]
        self._captured = captured
        # A macro that is not hygienic sees the names of the place it is called from.
        self._caller = caller
        self._bound_at: dict[str, Loc] = {}
        # Blocks of which at most one runs: what one of them binds is lost after all of them.
        self._alternatives: list[tuple[str, Lost]] | None = None

    def bind(self, name: str, value: Any, loc: Loc) -> None:
        block = self._blocks[-1]
        block.names[name] = value
        block.lost.pop(name, None)
        block.assigned.discard(name)
        self._bound_at[name] = loc

    def assign(self, name: str, value: Any, loc: Loc) -> None:
        """Bind by assignment, which a reader may expect to last longer than the block."""
        block, owner = self._blocks[-1], self._owner(name)
        if owner is not None and owner is not block:
            chosen = block.kind is BlockKind.CHOSEN
            block.hiding[name] = Lost(loc, chosen or name not in owner.assigned)
        self.bind(name, value, loc)
        block.assigned.add(name)

    def lost_to_next_iteration(self, name: str, loc: Loc) -> Lost | None:
        """The value that an assignment here would lose: an open loop has read the name from before
        the loop, so that its next iteration seems to read the new value."""
        in_loop = False
        if self._never_runs():
            return None
        for block in reversed(self._blocks):
            if name in block.names:
                return Lost(loc, name not in block.assigned) if in_loop else None
            in_loop |= block.kind is BlockKind.LOOP and name in block.read
        return None

    def read(self, name: str) -> Lost | None:
        """Note that a name is read. The value it may be mistaken for, if there is one."""
        for block in reversed(self._blocks):
            if name in block.names:
                return None if self._never_runs() else block.lost.get(name)
            block.read.add(name)
        return None

    def _never_runs(self) -> bool:
        return any(block.kind is BlockKind.NEVER for block in self._blocks)

    def find_local(self, name: str) -> Any:
        """A name bound by the function itself, or MISSING."""
        owner = self._owner(name)
        return MISSING if owner is None else owner.names[name]

    def name_of(self, means: Callable[[Any], bool]) -> str | None:
        """A local name that stands for such a value now."""
        names = (name for block in self._blocks for name in block.names)
        return next((name for name in names if means(self.find_local(name))), None)

    def is_whole_function(self) -> bool:
        """Whether this point is reached whenever the function is."""
        return all(block.kind is BlockKind.CHOSEN for block in self._blocks[1:])

    def is_body_of_loop(self) -> bool:
        """Whether the innermost block is all that a loop does."""
        return len(self._blocks) > 1 and self._blocks[-2].kind in (
            BlockKind.LOOP,
            BlockKind.NEVER,
        )

    def _owner(self, name: str) -> _Block | None:
        return next((b for b in reversed(self._blocks) if name in b.names), None)

    def is_captured(self, name: str) -> bool:
        """Whether a name means something from outside the kernel."""
        if self._owner(name) is not None:
            return False
        return self._caller is None or self._caller.is_captured(name)

    def find(self, name: str) -> Any:
        value = self.find_local(name)
        if value is MISSING and self._caller is not None:
            value = self._caller.find(name)
        return self._captured.find(name) if value is MISSING else value

    def bound_at(self, name: str) -> Loc | None:
        """Where a name was bound last, also when it is gone."""
        return self._bound_at.get(name)

    def names(self) -> set[str]:
        known = {name for block in self._blocks for name in block.names} | self._captured.names()
        return known | self._caller.names() if self._caller else known

    @contextmanager
    def block(self, kind: BlockKind = BlockKind.PLAIN) -> Iterator[None]:
        block, outer = _Block(kind), self._alternatives
        self._blocks.append(block)
        self._alternatives = None
        try:
            yield
        finally:
            self._blocks.pop()
            self._alternatives = outer
        if kind is BlockKind.NEVER or self._never_runs():
            return
        if outer is not None:
            outer.extend(block.hiding.items())
        else:
            self._lose(block.hiding.items())

    @contextmanager
    def alternatives(self) -> Iterator[None]:
        """Around the branches of a condition: none of them follows another."""
        outer, gone = self._alternatives, list[tuple[str, Lost]]()
        self._alternatives = gone
        try:
            yield
        finally:
            self._alternatives = outer
        self._lose(gone)

    def _lose(self, gone: Iterable[tuple[str, Lost]]) -> None:
        for name, lost in gone:
            owner = self._owner(name)
            if owner is None:
                continue
            owner.lost.setdefault(name, lost)
            if owner is not self._blocks[-1]:
                # For the blocks around, too, it is an assignment to a name of an outer one.
                self._blocks[-1].hiding.setdefault(name, lost)
