"""Tells a plan to a kernel engineer: what every instruction is there for. Changes nothing.

What an instruction covers is found by leaving it out and looking at what is no longer ordered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tile_ir import Op
from tile_ir.machine import Core, Pipe
from tile_ir.nodes import For
from tile_passes.sync.facts import Facts, State
from tile_passes.sync.fences import Barrier, Fence, Flag, Piece, Plan
from tile_passes.sync.hazards import (
    Hazard,
    Kind,
    bytes_touched,
    hazards,
    hazards_between,
    loop_name,
    statement,
)
from tile_passes.sync.in_text import orders, positions
from tile_passes.sync.tree import (
    Block,
    Branch,
    Item,
    Phases,
    Repeat,
    Site,
    Tree,
    Work,
)

# More hazards than this of one instruction are counted, not told.
MOST_TOLD = 4
_CORES = {Core.CUBE: "cube core", Core.VECTOR: "vector cores"}


def explain(tree: Tree, conflicts: list[int], plan: Plan, file: str) -> list[str]:
    """One paragraph for every piece of the plan, in program order. Lines of `file` are told without
    its name. The plan is the same afterwards, but for the order of its pieces."""
    words = _Words(file)
    order = positions(tree.root)
    lines = [f"{_CORES[tree.core]}: {_summary(tree, conflicts, plan)}"]
    pieces = sorted(plan.pieces, key=lambda piece: order[_first(piece)])
    for number, piece in enumerate(pieces, 1):
        lines += ["", f"{number}. {words.head(piece)}"]
        lines += [f"     {line}" for line in words.body(piece)]
        without = leave_out(tree, conflicts, plan, piece)
        lines += [f"     {line}" for line in words.covered(piece, without)]
    return lines


def _summary(tree: Tree, conflicts: list[int], plan: Plan) -> str:
    pairs = {(h.earlier, h.later, h.kind) for h in hazards(tree, conflicts)}
    met = _counted(len(pairs), "hazard")
    there = sum(1 for _ in orders(tree.root))
    besides = f", besides {there} there before" if there else ""
    if not plan.pieces:
        return f"{met}, nothing to insert{besides}"
    kinds: dict[str, int] = {}
    for piece in plan.pieces:
        match piece:
            case Barrier(pipe=Pipe.ALL):
                name = "full barrier"
            case Barrier():
                name = "barrier"
            case Fence():
                name = "fence"
            case _:
                name = "flag"
        kinds[name] = kinds.get(name, 0) + 1
    return f"{met}, ordered by {', '.join(_counted(n, k) for k, n in kinds.items())}{besides}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


@dataclass(slots=True)
class Without:
    """What is wrong when a piece is left out: hazards, and flags that may be set twice."""

    lacking: list[Hazard]
    twice: list[Flag | Fence]


def leave_out(tree: Tree, conflicts: list[int], plan: Plan, piece: Piece) -> Without:
    """What only this piece of the plan orders."""
    plan.remove(piece)
    walk = _Lacking(tree, conflicts, plan)
    walk.run()
    plan.add(piece)
    found: dict[Hazard, None] = {}
    for site, need in walk.lacking.items():
        for _, earlier, run in reversed([*tree.facts_of(need)]):
            found.update(dict.fromkeys(hazards_between(tree, earlier, site, run)))
    return Without(_nearest(found), list(walk.early))


def kinds_covered(tree: Tree, conflicts: list[int], plan: Plan) -> dict[Piece, set[Kind]]:
    """For every piece the kinds of hazard that only it orders."""
    found: dict[Piece, set[Kind]] = {}
    for piece in plan.pieces.copy():
        lacking = leave_out(tree, conflicts, plan, piece).lacking
        found[piece] = {hazard.kind for hazard in lacking}
    return found


def _nearest(found: dict[Hazard, None]) -> list[Hazard]:
    """One hazard for each pair of statements and kind; those within a round say enough."""
    told: dict[tuple[Work, Work, Kind], Hazard] = {}
    for hazard in found:
        key = (hazard.earlier, hazard.later, hazard.kind)
        if key not in told or (told[key].carried is not None and hazard.carried is None):
            told[key] = hazard
    return list(told.values())


def _by_statements(found: list[Hazard]) -> list[list[Hazard]]:
    """Hazards of the same two statements together, what is read first."""
    groups: dict[tuple[Work, Work, Repeat | None], list[Hazard]] = {}
    for hazard in found:
        groups.setdefault((hazard.earlier, hazard.later, hazard.carried), []).append(hazard)
    kinds = list(Kind)
    return [sorted(group, key=lambda h: kinds.index(h.kind)) for group in groups.values()]


@dataclass(eq=False)
class _Lacking(Facts):
    """Notes what is not ordered, and goes on as if it were: later work of the pipe that needs the
    same order is not told again."""

    lacking: dict[Site, int] = field(default_factory=dict)
    early: dict[Flag | Fence, None] = field(default_factory=dict)

    def uncovered(self, site: Site, need: int, state: State, phases: Phases) -> None:
        self.lacking[site] = self.lacking.get(site, 0) | need
        self.learn(self.index[site.item.pipe], need, state)

    def set_too_early(self, piece: Flag | Fence) -> None:
        self.early[piece] = None


def _first(piece: Piece) -> tuple[Block, int]:
    if isinstance(piece, Flag):
        return piece.block, min(piece.set_after, piece.wait_before)
    return piece.block, piece.position


@dataclass(frozen=True, slots=True)
class _Words:
    file: str

    def head(self, piece: Piece) -> str:
        match piece:
            case Barrier(pipe=Pipe.ALL):
                return "barrier of all pipes"
            case Barrier(pipe=pipe):
                return f"barrier of {pipe.value}"
            case Fence():
                return f"set and wait {_pipes(piece)}, {_events(piece)}"
            case Flag():
                return f"flag {_pipes(piece)}, {_events(piece)}"

    def body(self, piece: Piece) -> Iterator[str]:
        if isinstance(piece, Flag):
            yield f"set   {self.behind(piece.block, piece.set_after)}"
            yield f"wait  {self.ahead(piece.block, piece.wait_before)}{_rounds_later(piece)}"
            if piece.carried:
                yield _goes_round(piece)
        elif isinstance(piece, Fence) and piece.behind:
            yield self.behind(piece.block, piece.position)
        else:
            yield self.ahead(piece.block, piece.position)
        if piece.reason.why:
            yield f"because {piece.reason.why}"

    def behind(self, block: Block, position: int) -> str:
        return f"after  {self.item(block.items[position])}"

    def ahead(self, block: Block, position: int) -> str:
        if position < len(block.items):
            return f"before {self.item(block.items[position])}"
        return f"at the end of {self.owner(block)}"

    def owner(self, block: Block) -> str:
        match block.owner:
            case Repeat() as loop:
                return f"the {loop_name(loop)}"
            case Branch() as branch:
                side = "else" if branch.orelse is block else "if"
                return f"the {side} of {self.line(branch)}"
        return "the section"

    def item(self, item: Item) -> str:
        match item:
            case Work():
                return f"{self.line(item)} [{item.pipe.value}] {statement(item)}"
            case Repeat():
                return f"the {loop_name(item)}"
            case Branch():
                return f"the if of {self.line(item)}"
        return self.line(item)

    def short(self, work: Work) -> str:
        stmt = work.stmt
        return f"{stmt.opdef.name if isinstance(stmt, Op) else 'scalar'} ({self.line(work)})"

    def line(self, item: Item) -> str:
        loc = item.loc
        return f"line {loc.line}" if loc.file == self.file else f"{loc.file}:{loc.line}"

    def covered(self, piece: Piece, without: Without) -> Iterator[str]:
        groups = _by_statements(without.lacking)
        for group in groups[:MOST_TOLD]:
            yield self.hazards(group)
        if len(groups) > MOST_TOLD:
            yield f"and {len(groups) - MOST_TOLD} more"
        if groups:
            return
        for other in without.twice:
            yield f"keeps the {self.head(other)} from being set while it is still set"
        if not without.twice:
            first, then = self.item(piece.reason.earlier), self.item(piece.reason.later)
            yield f"put in for {first}, then {then}, which others order by now"

    def hazards(self, group: list[Hazard]) -> str:
        hazard = group[0]
        a, b = self.short(hazard.earlier), self.short(hazard.later)
        if hazard.before is None or hazard.after is None:
            return f"signal: what {a} did in gm must be complete before {b}"
        shared = bytes_touched(hazard.before, hazard.after)
        match hazard.kind:
            case Kind.RAW:
                text = f"{b} reads what {a} wrote"
            case Kind.WAW:
                text = f"{b} writes over what {a} wrote"
            case _:
                text = f"{b} writes over what {a} read"
        text = f"{', '.join(h.kind.value for h in group)} of {shared}: {text}"
        if hazard.carried is None:
            return text
        return f"{text} in an earlier round of the {loop_name(hazard.carried)}"


def _pipes(piece: Flag | Fence) -> str:
    return f"{piece.source.value} -> {piece.target.value}"


def _events(piece: Flag | Fence) -> str:
    if piece.slots == 1:
        return f"event {piece.event}"
    ids = ", ".join(str(piece.event + slot) for slot in range(piece.slots))
    loop = piece.block.loop
    assert loop is not None and isinstance(loop.stmt, For), "only counted loops have slots"
    return f"events {ids} by {loop.stmt.var.name} % {piece.slots}"


def _rounds_later(piece: Flag) -> str:
    if not piece.carried:
        return ""
    return f", {piece.distance} round{'s' * (piece.distance != 1)} later"


def _goes_round(piece: Flag) -> str:
    loop, home = piece.block.loop, piece.home()
    assert loop is not None, "only loops carry"
    if home is loop:
        return f"round the {loop_name(loop)}: primed before it, drained after it"
    return (
        f"round the {loop_name(loop)}: primed before the {loop_name(home)} around it, drained after"
    )
