"""Keep the names of a kernel apart."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field

from tile_frontend._tracing.faults import Fault
from tile_ir import Loc
from tile_ir.quick_dataclasses import dataclass
from tile_ir.ranks import NUMBERS_OF_LAUNCH


@dataclass(eq=False, slots=True)
class Names:
    """Every name of the function, with the place of those that are buffers."""

    _taken: set[str] = field(default_factory=lambda: {v.name for v in NUMBERS_OF_LAUNCH})
    _counters: dict[str, int] = field(default_factory=dict)
    _buffers: dict[tuple[int, str], Loc] = field(default_factory=dict)

    def fresh(self, base: str) -> str:
        """The name itself, or with the first free number."""
        if base not in self._taken:
            self._taken.add(base)
            return base
        count = self._counters.get(base, 0) + 1
        while f"{base}_{count}" in self._taken:
            count += 1
        self._counters[base] = count
        self._taken.add(f"{base}_{count}")
        return f"{base}_{count}"

    def taken(self) -> frozenset[str]:
        """All names so far."""
        return frozenset(self._taken)

    def keep(self, names: Collection[str]) -> None:
        """Forget all names but these, at the end of a launch."""
        self._taken &= set(names)
        self._counters.clear()
        self._buffers = {k: loc for k, loc in self._buffers.items() if k[1] in names}

    def forget(self, name: str, expansion: int) -> None:
        """A buffer is out of sight: another may have its name in the text, and gets a number."""
        self._buffers.pop((expansion, name), None)

    def buffer(self, name: str, loc: Loc, expansion: int) -> str:
        """A buffer's name; `expansion` numbers the text it stands in (negative: in none)."""
        earlier = self._buffers.get((expansion, name))
        if earlier is not None and expansion >= 0:
            places = f"one at line {earlier.line}, another at line {loc.line}"
            hint = "give each buffer of a kernel its own name"
            raise Fault("duplicate-buffer", f"`{name}` names two buffers: {places}", hint)
        self._buffers[expansion, name] = loc
        return self.fresh(name)
