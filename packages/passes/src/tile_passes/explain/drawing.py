"""Draw the dependences of a section and its sync ops as SVG: a lane for each pipe, statements from
top to bottom, arrows coloured by their kind of dependence, carried ones dashed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from tile_ir import Pipe
from tile_ir.quick_dataclasses import dataclass
from tile_passes.explain.wording import existing, header, statement
from tile_passes.order.channels import Barrier, Flag, SyncOp
from tile_passes.order.dependence_graph import Kind, dependences_of
from tile_passes.order.event_ids import Allocation
from tile_passes.order.tree import Block, Branch, Order, Repeat, Tree, Work

if TYPE_CHECKING:
    from tile_passes.order.dependence_graph import DependenceGraph

# Pixels: height of a row, width of a lane, room above a section, between the two pictures.
ROW, LANE, TOP, GAP = 26, 92, 84, 40
# Letters of a statement.
LONGEST = 56
COLOUR = {
    Kind.RAW: "#c62828",
    Kind.WAW: "#6a1b9a",
    Kind.WAR: "#1565c0",
    Kind.SIGNAL: "#2e7d32",
    None: "#616161",
}
_STYLE = """
text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #212121; }
.head { font-weight: bold; } .soft { fill: #757575; } .tag { font-size: 10px; font-weight: bold; }
.lane { stroke: #e0e0e0; } .node { fill: #ffffff; stroke: #424242; }
.own { stroke: #bdbdbd; fill: none; } .band { fill: #f5f5f5; stroke: #e0e0e0; }
.arrow { fill: none; stroke-width: 1.4; } .carried { stroke-dasharray: 5 3; }
"""


def draw(
    title: str, file: str, pictures: Sequence[tuple[Tree, DependenceGraph, Allocation]]
) -> str:
    """Dependences and sync ops of every section side by side, sections one below another."""
    parts: list[str] = []
    top, width = 0, 560
    for tree, graph, found in pictures:
        section = _Section(tree, top + TOP, [p for p in tree.pipes if tree.masks[p]])
        parts += section.draw(_arrows_of(graph), _arrows_of_ops(tree, found))
        width = max(width, section.width)
        top = section.bottom
    height = top + 40
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">',
        f"<style>{_STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        _markers(),
        _text(12, 22, f"{title} ({file})", "head"),
        _legend(12, top + 24),
    ]
    return "\n".join([*head, *parts, "</svg>"]) + "\n"


@dataclass(slots=True)
class _Arrow:
    """From one statement to another; `labels` for sync ops only."""

    earlier: Work
    later: Work
    kinds: set[Kind] = field(default_factory=set)
    carried: bool = True
    labels: list[str] = field(default_factory=list)


def _arrows_of(graph: DependenceGraph) -> list[_Arrow]:
    found: dict[tuple[Work, Work], _Arrow] = {}
    for a, b, dependence in graph.edges(data="dependence"):
        arrow = found.setdefault((a, b), _Arrow(a, b))
        arrow.kinds.add(dependence.kind)
        arrow.carried &= dependence.carried is not None
    return list(found.values())


def _arrows_of_ops(tree: Tree, found: Allocation) -> list[_Arrow]:
    """An arrow for each sync op, from the statement it waits for to the one that waits: one that
    only keeps flags apart, the other way."""
    arrows: dict[tuple[Work, Work], _Arrow] = {}
    for op in found.plan.ops:
        a, b = op.reason.earlier, op.reason.later
        assert isinstance(a, Work) and isinstance(b, Work), "pipes work"
        if not op.reason.edges:
            a, b = b, a
        arrow = arrows.setdefault((a, b), _Arrow(a, b))
        for edge in op.reason.edges:
            arrow.kinds |= {d.kind for d in dependences_of(tree, edge.later, edge.needs)}
        arrow.carried &= isinstance(op, Flag) and op.carried
        arrow.labels.append(_label(op, found))
    return list(arrows.values())


def _label(op: SyncOp, found: Allocation) -> str:
    """A sync op in a few letters: its event ids, or which barrier it is."""
    match op:
        case Barrier(pipe=Pipe.ALL):
            return "all"
        case Barrier(pipe=pipe):
            return f"| {pipe.value}"
        case Flag(slots=slots) if slots > 1:
            return f"{found.events[op]}-{found.events[op] + slots - 1}"
        case Flag():
            return f"{'=' if op.at_once else ''}{found.events[op]}"


def _markers() -> str:
    found = "".join(
        f'<marker id="to-{_name(kind)}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{colour}"/></marker>'
        for kind, colour in COLOUR.items()
    )
    return f"<defs>{found}</defs>"


def _name(kind: Kind | None) -> str:
    return kind.value.lower() if kind is not None else "other"


def _legend(x: int, y: int) -> str:
    parts = []
    for kind in Kind:
        parts.append(_path(f"M{x},{y - 4} h28", kind, False))
        parts.append(_text(x + 34, y, kind.value, "soft"))
        x += 90
    parts.append(_path(f"M{x},{y - 4} h28", None, True))
    parts.append(_text(x + 34, y, "from an earlier iteration of a loop", "soft"))
    return "".join(parts)


def _path(d: str, kind: Kind | None, carried: bool) -> str:
    style = "arrow carried" if carried else "arrow"
    end = f"url(#to-{_name(kind)})"
    return f'<path d="{d}" class="{style}" stroke="{COLOUR[kind]}" marker-end="{end}"/>'


def _text(x: float, y: float, text: str, style: str = "", anchor: str = "start") -> str:
    shown = escape(text).replace(" ", "\N{NO-BREAK SPACE}")  # SVG drops spaces at the start
    return f'<text x="{x:g}" y="{y:g}" class="{style}" text-anchor="{anchor}">{shown}</text>'


@dataclass(slots=True)
class _Row:
    y: int
    depth: int
    text: str
    work: Work | None


class _Section:
    """One section: rows of statements and of the loops and branches around them."""

    def __init__(self, tree: Tree, top: int, pipes: list[Pipe]) -> None:
        self.core, self.pipes, self.top = tree.core.value, pipes, top
        self.rows: list[_Row] = []
        self.bands: list[tuple[int, int, int]] = []
        self.fill(tree.root, 0)
        self.at = {row.work: row.y for row in self.rows if row.work is not None}
        self.order = {work: n for n, work in enumerate(self.at)}
        self.bottom = top + len(self.rows) * ROW + 16
        self.picture = LANE * len(pipes) + GAP
        self.left = 40 + round(7.3 * max((len(row.text[:LONGEST]) for row in self.rows), default=0))
        self.width = self.left + 2 * self.picture
        self.labels: list[tuple[float, float, float]] = []

    def fill(self, block: Block, depth: int) -> None:
        for item in block.items:
            y = self.top + len(self.rows) * ROW + ROW // 2
            first = len(self.rows)
            match item:
                case Work():
                    text = f"{item.loc.line:>4}  {'  ' * depth}{statement(item)}"
                    self.rows.append(_Row(y, depth, text, item))
                case Order():
                    text = f"{item.loc.line:>4}  {'  ' * depth}{existing(item)}"
                    self.rows.append(_Row(y, depth, text, None))
                case Branch() | Repeat():
                    text = f"{item.loc.line:>4}  {'  ' * depth}{header(item)}"
                    self.rows.append(_Row(y, depth, text, None))
                    inner = [item.then, item.orelse] if isinstance(item, Branch) else [item.body]
                    for block_inside in inner:
                        self.fill(block_inside, depth + 1)
                    if len(self.rows) == first + 1:
                        self.rows.pop()
                    elif isinstance(item, Repeat):
                        self.bands.append((first, len(self.rows), depth))

    def draw(self, before: list[_Arrow], after: list[_Arrow]) -> list[str]:
        parts = [_text(12, self.top - 34, f"section {self.core}", "head")]
        for first, last, depth in self.bands:
            x, y = 44 + depth * 14, self.top + first * ROW
            parts.append(
                f'<rect x="{x}" y="{y}" width="{self.width - x - 12}" '
                f'height="{(last - first) * ROW}" class="band"/>'
            )
        parts += [
            _text(12, row.y + 4, row.text[:LONGEST], "" if row.work else "soft")
            for row in self.rows
        ]
        titles = ((before, "all dependences"), (after, "what is inserted"))
        for n, (arrows, title) in enumerate(titles):
            parts += self.picture_of(arrows, self.left + n * self.picture, title)
        return parts

    def lane(self, pipe: Pipe, left: int) -> int:
        return left + self.pipes.index(pipe) * LANE + LANE // 2

    def picture_of(self, arrows: list[_Arrow], left: int, title: str) -> list[str]:
        parts = [_text(left, self.top - 34, title, "head")]
        for pipe in self.pipes:
            x = self.lane(pipe, left)
            parts.append(_text(x, self.top - 12, pipe.value, "soft", "middle"))
            parts.append(
                f'<line x1="{x}" y1="{self.top}" x2="{x}" y2="{self.bottom - 16}" class="lane"/>'
            )
            rows = [y for work, y in self.at.items() if work.pipe is pipe]
            parts += (
                f'<line x1="{x}" y1="{a}" x2="{x}" y2="{b}" class="own"/>'
                for a, b in pairwise(rows)
            )
        for work, y in self.at.items():
            x = self.lane(work.pipe, left)
            parts.append(f'<circle cx="{x}" cy="{y}" r="6" class="node"/>')
        for arrow in sorted(arrows, key=self.length):
            parts += self.arrow(arrow, left)
        return parts

    def length(self, arrow: _Arrow) -> int:
        return abs(self.order[arrow.earlier] - self.order[arrow.later])

    def arrow(self, arrow: _Arrow, left: int) -> Iterator[str]:
        a, b, carried = arrow.earlier, arrow.later, arrow.carried
        kind = next((k for k in Kind if k in arrow.kinds), None)
        x1, y1, x2, y2 = self.lane(a.pipe, left), self.at[a], self.lane(b.pipe, left), self.at[b]
        if x1 == x2:
            # One pipe: an arc beside the lane, wider for a longer way.
            bend = 12 + min(30, 4 * self.length(arrow))
            side, bend, down = (-6, -bend, 5) if carried else (6, bend, 0)
            down = down if a is b else 0
            ends = (x1 + side, y1 - down), (x2 + side, y2 + down)
            curve = (
                ends[0],
                (ends[0][0] + bend, ends[0][1]),
                (ends[1][0] + bend, ends[1][1]),
                ends[1],
            )
        elif carried:
            # Above or below the statements, so that ways there and back are apart.
            up = -1 if x2 > x1 else 1
            curve = (x1, y1 + 6 * up), (x1, y1 + ROW * up), (x2, y2 + ROW * up), (x2, y2 + 6 * up)
        else:
            side = 6 if x2 > x1 else -6
            middle = (x1 + x2) // 2
            curve = (x1 + side, y1), (middle, y1), (middle, y2), (x2 - side, y2)
        (ax, ay), *rest = curve
        yield _path(f"M{ax},{ay} C" + " ".join(f"{x},{y}" for x, y in rest), kind, carried)
        if arrow.labels:
            yield from self.label(", ".join(arrow.labels), curve, kind)

    def label(self, text: str, curve: Curve, kind: Kind | None) -> list[str]:
        """A text on an arrow, where no other one is."""
        half = 3.5 * len(text) + 3
        for t in (0.5, 0.35, 0.65, 0.2, 0.8):
            x, y = _point(curve, t)
            free = all(
                abs(x - ox) >= half + other or abs(y - oy) >= 15 for ox, oy, other in self.labels
            )
            if free:
                break
        self.labels.append((x, y, half))
        return [
            f'<rect x="{x - half:g}" y="{y - 7:g}" width="{2 * half:g}" height="14" rx="3" '
            f'fill="#ffffff" stroke="{COLOUR[kind]}"/>',
            _text(x, y + 4, text, "tag", "middle"),
        ]


Curve: TypeAlias = tuple[tuple[int, int], ...]


def _point(curve: Curve, t: float) -> tuple[float, float]:
    """A point of a cubic curve."""
    shares = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
    x = sum(p[0] * share for p, share in zip(curve, shares, strict=True))
    y = sum(p[1] * share for p, share in zip(curve, shares, strict=True))
    return round(x, 1), round(y, 1)
