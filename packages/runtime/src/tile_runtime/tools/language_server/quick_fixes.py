"""Changes of the text that hints of diagnostics ask for, where a hint says all of it: a name that
was meant, an expression to write instead, sizes for a factory."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.tools.language_server.seen import SeenFactory, SeenFinding

_MEANT = re.compile(r"did you mean ['`]([\w.]+)['`]\?")
_WRITE = re.compile(r"\bwrite (?:`([^`]+)`|([\w.]+\(.*\)))")
_QUOTED = re.compile(r"`([^`]+)`")
# What sizes nobody has said are to begin with.
_SIZE = 1024


@dataclass(frozen=True, slots=True)
class Fix:
    """Put `text` in place of what stands between two places; lines and columns count from 1."""

    title: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


def fixes_of(finding: SeenFinding, text: str) -> list[Fix]:
    """The changes that the hint of a finding names; none where it leaves something open."""
    return [*_meant(finding, text), *_written(finding, text)]


def sizes_for(factory: SeenFactory, text: str) -> Fix:
    """A comment above a factory that says its sizes."""
    lines = text.splitlines()
    above = lines[factory.line - 1] if factory.line <= len(lines) else ""
    lead = above[: len(above) - len(above.lstrip())]
    sizes = ", ".join(f"{name}={_SIZE}" for name in factory.missing)
    comment = f"{lead}# tile-ascend: {factory.name}({sizes})\n"
    title = f"Say sizes for `{factory.name}`"
    return Fix(title, factory.line, 1, factory.line, 1, comment)


def _meant(finding: SeenFinding, text: str) -> Iterator[Fix]:
    """The word of the line that the message quotes, or else the closest one, becomes what was
    meant."""
    hint = _MEANT.search(finding.hint)
    lines = text.splitlines()
    if hint is None or finding.line > len(lines):
        return
    meant = hint[1]
    words = list(re.finditer(r"\w+", lines[finding.line - 1]))
    quoted = {
        word for part in _QUOTED.findall(finding.message) for word in re.findall(r"\w+", part)
    }
    close = difflib.get_close_matches(meant, [w[0] for w in words if w[0] != meant], n=1)
    found = [w for w in words if w[0] in quoted and w[0] != meant and w[0] in close]
    found = found or [w for w in words if w[0] in close]
    if found:
        word = min(found, key=lambda w: abs(w.start() + 1 - finding.column))
        yield Fix(
            f"Write `{meant}`",
            finding.line, word.start() + 1, finding.line, word.end() + 1, meant,
        )  # fmt: skip


def _written(finding: SeenFinding, text: str) -> Iterator[Fix]:
    """An expression that the hint writes out takes the place of the one of its line with the same
    beginning. One that has names which the script does not know is a pattern, no text."""
    hint = _WRITE.search(finding.hint)
    new = _expression((hint[1] or hint[2]) if hint else "")
    tree = _tree(text)
    if new is None or tree is None:
        return
    known = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    known |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    if not {n.id for n in ast.walk(new) if isinstance(n, ast.Name)} <= known:
        return
    old = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.expr)
        if node.lineno == finding.line and type(node) is type(new)
        if _beginning(node) is not None and _beginning(node) == _beginning(new)
    ]
    if len(old) == 1 and ast.dump(old[0]) != ast.dump(new):
        node, words = old[0], ast.unparse(new)
        assert node.end_lineno is not None and node.end_col_offset is not None, "parsed from text"
        yield Fix(
            f"Write `{words}`",
            node.lineno,
            _column(text, node.lineno, node.col_offset),
            node.end_lineno,
            _column(text, node.end_lineno, node.end_col_offset),
            words,
        )


def _expression(code: str) -> ast.expr | None:
    try:
        return ast.parse(code, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def _beginning(node: ast.expr) -> str | None:
    """The text before the brackets of a subscript or of a call."""
    match node:
        case ast.Subscript(value=inner) | ast.Call(func=inner):
            return ast.unparse(inner)
    return None


def _column(text: str, line: int, offset: int) -> int:
    """A column, from 1, of an offset in bytes of a line."""
    return len(text.splitlines()[line - 1].encode()[:offset].decode(errors="ignore")) + 1
