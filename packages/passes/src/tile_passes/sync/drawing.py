"""Graphs of a section as SVG: a lane for each pipe, statements from top to bottom, arrows coloured
by what they order, carried ones dashed. Knows nothing of synchronisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tile_ir.machine import Pipe
from tile_passes.sync.graph import Graph, statements
from tile_passes.sync.hazards import Kind, header, statement
from tile_passes.sync.tree import Block, Branch, Repeat, Tree, Work

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


def draw(title: str, file: str, pictures: Sequence[tuple[Tree, Graph, Graph]]) -> str:
    """The graphs of every section before and after, side by side, sections one below another."""
    parts: list[str] = []
    top, width = 0, 560
    for tree, before, after in pictures:
        section = _Section(tree, top + TOP, [p for p in tree.pipes if _used(tree, p)])
        parts += section.draw(before, after)
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


def _used(tree: Tree, pipe: Pipe) -> bool:
    return bool(tree.masks[pipe])


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
    parts.append(_text(x + 34, y, "from an earlier round of a loop", "soft"))
    return "".join(parts)


def _path(d: str, kind: Kind | None, carried: bool) -> str:
    style = "arrow carried" if carried else "arrow"
    end = f"url(#to-{_name(kind)})"
    return f'<path d="{d}" class="{style}" stroke="{COLOUR[kind]}" marker-end="{end}"/>'


def _text(x: float, y: float, text: str, style: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{style}" text-anchor="{anchor}">{escape(text)}</text>'


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
        self.order = {work: n for n, work in enumerate(statements(tree))}
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

    def draw(self, before: Graph, after: Graph) -> list[str]:
        parts = [_text(12, self.top - 34, f"section {self.core}", "head")]
        for first, last, depth in self.bands:
            x, y = 44 + depth * 14, self.top + first * ROW
            parts.append(
                f'<rect x="{x}" y="{y}" width="{self.width - x - 12}" '
                f'height="{(last - first) * ROW}" class="band"/>'
            )
        parts += [_text(12, row.y + 4, row.text[:LONGEST]) for row in self.rows]
        for n, (graph, title) in enumerate(((before, "all hazards"), (after, "what is inserted"))):
            left = self.left + n * self.picture
            parts += self.picture_of(graph, left, title)
        return parts

    def lane(self, pipe: Pipe, left: int) -> int:
        return left + self.pipes.index(pipe) * LANE + LANE // 2

    def picture_of(self, graph: Graph, left: int, title: str) -> list[str]:
        parts = [_text(left, self.top - 34, title, "head")]
        for pipe in self.pipes:
            x = self.lane(pipe, left)
            parts.append(_text(x, self.top - 12, pipe.value, "soft", "middle"))
            parts.append(
                f'<line x1="{x}" y1="{self.top}" x2="{x}" y2="{self.bottom - 16}" class="lane"/>'
            )
        arrows = []
        for a, b, edge in graph.edges(data=True):
            if "kinds" in edge:
                arrows.append((a, b, edge))
            else:
                x = self.lane(a.pipe, left)
                parts.append(
                    f'<line x1="{x}" y1="{self.at[a]}" x2="{x}" y2="{self.at[b]}" class="own"/>'
                )
        for work, y in self.at.items():
            x = self.lane(work.pipe, left)
            parts.append(f'<circle cx="{x}" cy="{y}" r="6" class="node"/>')
        arrows.sort(key=lambda arrow: abs(self.order[arrow[0]] - self.order[arrow[1]]))
        for a, b, edge in arrows:
            parts += self.arrow(a, b, edge, left)
        return parts

    def arrow(self, a: Work, b: Work, edge: dict[str, object], left: int) -> list[str]:
        kinds = edge["kinds"]
        assert isinstance(kinds, set), "edges of hazards have kinds"
        kind = next((k for k in Kind if k in kinds), None)
        carried = bool(edge["carried"])
        x1, y1, x2, y2 = self.lane(a.pipe, left), self.at[a], self.lane(b.pipe, left), self.at[b]
        if x1 == x2:
            # One pipe: an arc beside the lane, wider for a longer way.
            bend = 12 + min(30, 4 * abs(self.order[a] - self.order[b]))
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
        parts = [_path(f"M{ax},{ay} C" + " ".join(f"{x},{y}" for x, y in rest), kind, carried)]
        labels = edge.get("labels")
        if isinstance(labels, list):
            parts += self.label(", ".join(labels), curve, kind)
        return parts

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


Curve = tuple[tuple[int, int], ...]


def _point(curve: Curve, t: float) -> tuple[float, float]:
    """A point of a cubic curve."""
    shares = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
    x = sum(p[0] * share for p, share in zip(curve, shares, strict=True))
    y = sum(p[1] * share for p, share in zip(curve, shares, strict=True))
    return round(x, 1), round(y, 1)
