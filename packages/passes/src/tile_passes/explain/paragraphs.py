"""Explain a plan to a kernel engineer: the purpose of every sync op, by the edges it was placed
for. Changes nothing, solves nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tile_ir import Core, For, Op, Pipe
from tile_ir.quick_dataclasses import dataclass
from tile_passes.explain.wording import bytes_touched, loop_name, statement
from tile_passes.order.channels import Barrier, Flag, SyncOp
from tile_passes.order.dependence_graph import Kind, PipeDependence, dependences_of
from tile_passes.order.event_ids import Allocation
from tile_passes.order.tree import Block, Branch, Item, Order, Repeat, Tree, Work

# More dependences than this of one op are counted, not told.
MOST_TOLD = 4
_CORES = {Core.CUBE: "cube core", Core.VECTOR: "vector cores"}


def explain(tree: Tree, conflicts: Sequence[int], found: Allocation, file: str) -> list[str]:
    """One paragraph for every sync op, in program order. Lines of `file` appear without its
    name."""
    words = _Words(tree, found, file)
    lines = [f"{_CORES[tree.core]}: {_summary(tree, conflicts, found)}"]
    for number, op in enumerate(_in_text_order(tree, found), 1):
        lines += ["", f"{number}. {words.head(op)}"]
        lines += [f"     {line}" for line in (*words.body(op), *words.covered(op))]
    return lines


def _summary(tree: Tree, conflicts: Sequence[int], found: Allocation) -> str:
    pairs = {
        (d.earlier, d.later, d.kind)
        for later in tree.instances
        for d in dependences_of(tree, later, conflicts[later.bit])
    }
    met = _counted(len(pairs), "dependence")
    there = sum(isinstance(item, Order) for item in tree.root.walk())
    besides = f", besides {there} there before" if there else ""
    if not found.plan.ops:
        return f"{met}, nothing to insert{besides}"
    kinds = Counter(_kind(op) for op in found.plan.ops)
    return f"{met}, ordered by {', '.join(_counted(n, k) for k, n in kinds.items())}{besides}"


def _kind(op: SyncOp) -> str:
    match op:
        case Barrier(pipe=Pipe.ALL):
            return "full barrier"
        case Barrier():
            return "barrier"
        case Flag():
            return "point-to-point sync" if op.at_once else "flag"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _in_text_order(tree: Tree, found: Allocation) -> list[SyncOp]:
    """The ops by the first place where they stand."""
    place: dict[tuple[Block, int], int] = {}

    def look(block: Block) -> None:
        for item in block.items:
            place[block, item.position] = len(place)
            match item:
                case Branch(then=then, orelse=orelse):
                    look(then)
                    look(orelse)
                case Repeat(body=body):
                    look(body)
        place[block, len(block.items)] = len(place)

    def first(op: SyncOp) -> int:
        return place[op.block, _first_place(op)]

    look(tree.root)
    return sorted(found.plan.ops, key=first)


@dataclass(frozen=True, slots=True)
class _Words:
    tree: Tree
    found: Allocation
    file: str

    def head(self, op: SyncOp) -> str:
        match op:
            case Barrier(pipe=Pipe.ALL):
                return "barrier of all pipes"
            case Barrier(pipe=pipe):
                return f"barrier of {pipe.value}"
            case Flag():
                kind = "set and wait" if op.at_once else "flag"
                return f"{kind} {_pipes(op)}, {self.events(op)}"

    def events(self, op: Flag) -> str:
        first = self.found.events[op]
        if op.slots == 1:
            return f"event {first}"
        ids = ", ".join(str(first + slot) for slot in range(op.slots))
        loop = op.block.loop
        assert loop is not None and isinstance(loop.stmt, For), "only counted loops have slots"
        return f"events {ids} by {loop.stmt.var.name} % {op.slots}"

    def body(self, op: SyncOp) -> Iterator[str]:
        if isinstance(op, Flag) and not op.at_once:
            yield f"set   {self.behind(op.block, op.set_after)}"
            yield f"wait  {self.ahead(op.block, op.wait_before)}{_iterations_later(op)}"
            if op.carried:
                yield _carried_by(op)
        elif isinstance(op, Flag) and op.behind:
            yield self.behind(op.block, op.set_after)
        else:
            yield self.ahead(op.block, _first_place(op))
        if op.reason.why:
            yield f"because {op.reason.why}"

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

    def covered(self, op: SyncOp) -> Iterator[str]:
        if not op.reason.edges and not isinstance(op, Barrier):
            yield f"keeps flags {op.target.value} -> {op.source.value} from being set while set"
        groups = self.dependences(op)
        yield from map(self.group, groups[:MOST_TOLD])
        if len(groups) > MOST_TOLD:
            yield f"and {len(groups) - MOST_TOLD} more"

    def dependences(self, op: SyncOp) -> list[list[PipeDependence]]:
        """Those of the op's edges, one for each pair of statements and kind: within an iteration
        says enough. Those of the same two statements together, what is read first."""
        nearest: dict[tuple[Work, Work, Kind], PipeDependence] = {}
        for edge in op.reason.edges:
            for d in dependences_of(self.tree, edge.later, edge.needs):
                old = nearest.setdefault((d.earlier, d.later, d.kind), d)
                if old.carried is not None and d.carried is None:
                    nearest[d.earlier, d.later, d.kind] = d
        groups: dict[tuple[Work, Work, Repeat | None], list[PipeDependence]] = {}
        for d in nearest.values():
            groups.setdefault((d.earlier, d.later, d.carried), []).append(d)
        kinds = list(Kind)
        return [sorted(group, key=lambda d: kinds.index(d.kind)) for group in groups.values()]

    def group(self, group: list[PipeDependence]) -> str:
        first = group[0]
        a, b = self.short(first.earlier), self.short(first.later)
        if first.before is None or first.after is None:
            return f"signal: what {a} did in gm must be complete before {b}"
        match first.kind:
            case Kind.RAW:
                text = f"{b} reads what {a} wrote"
            case Kind.WAW:
                text = f"{b} writes over what {a} wrote"
            case _:
                text = f"{b} writes over what {a} read"
        shared = bytes_touched(first.before, first.after)
        text = f"{', '.join(d.kind.value for d in group)} of {shared}: {text}"
        if first.carried is None:
            return text
        return f"{text} in an earlier iteration of the {loop_name(first.carried)}"


def _first_place(op: SyncOp) -> int:
    match op:
        case Barrier(position=position) | Flag(at_once=(_, position, _)):
            return position
        case Flag():
            return min(op.set_after, op.wait_before)


def _pipes(op: Flag) -> str:
    return f"{op.source.value} -> {op.target.value}"


def _iterations_later(op: Flag) -> str:
    if not op.carried:
        return ""
    return f", {op.distance} iteration{'s' * (op.distance != 1)} later"


def _carried_by(op: Flag) -> str:
    loop, home = op.block.loop, op.home()
    assert loop is not None, "only loops carry"
    assert isinstance(home, Repeat), "loops carry flags of pipes"
    around = "it" if home is loop else f"the {loop_name(home)} around it"
    drained = " it" if home is loop else ""
    return f"carried by the {loop_name(loop)}: primed before {around}, drained after{drained}"
