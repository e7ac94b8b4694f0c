"""Make changes of the text from hints of diagnostics that contain the whole change: a similar
name, an expression to write instead, sizes for a factory."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.tools.language_server.seen import SeenFactory, SeenFinding

_MEANT = re.compile(r"did you mean ['`]([\w.]+)['`]\?")
_QUOTED = re.compile(r"`([^`]+)`")
# What sizes nobody has said are to begin with.
_SIZE = 1024


@dataclass(frozen=True, slots=True)
class Fix:
    """Replace the text between two places by `text`; lines and columns count from 1."""

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
    """Replace the one expression of the line that fits the hint's expression."""
    new, tree = _code_of(finding.hint), _tree(text)
    if new is None or tree is None:
        return
    old = _stood_for(new, finding, tree, text)
    if old is not None and ast.dump(old) != ast.dump(new) and _is_text(new, old):
        words = ast.unparse(new)
        assert old.end_lineno is not None and old.end_col_offset is not None, "parsed from text"
        yield Fix(
            f"Write `{words}`",
            old.lineno,
            _column(text, old.lineno, old.col_offset),
            old.end_lineno,
            _column(text, old.end_lineno, old.end_col_offset),
            words,
        )


def _code_of(hint: str) -> ast.expr | None:
    """The expression that a hint begins with: in backquotes, or as far as it is one."""
    rest = hint.removeprefix("write ")
    if rest == hint:
        return None
    quoted = re.match(r"`([^`]+)`", rest)
    if quoted is not None:
        return _expression(quoted[1])
    ends = [n for n in range(len(rest), 0, -1) if n == len(rest) or rest[n - 1] == ")"]
    found = (_expression(rest[:n]) for n in ends)
    plain = (ast.Call, ast.Attribute, ast.Constant)
    return next((code for code in found if isinstance(code, plain)), None)


def _is_text(new: ast.expr, old: ast.expr | ast.Assert) -> bool:
    """Whether code is to be written as it stands, and is no pattern with names of its own: it works
    on what it takes the place of."""
    if isinstance(new, ast.Call):
        there = {ast.dump(node) for node in ast.iter_child_nodes(old)}
        return all(isinstance(a, ast.Constant) or ast.dump(a) in there for a in new.args)
    return _names(new) <= _names(old)


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _stood_for(
    new: ast.expr, finding: SeenFinding, tree: ast.Module, text: str
) -> ast.expr | ast.Assert | None:
    """The expression of the line with the same beginning, if there is one such; else the longest of
    its kind at the place of the finding, or the assertion there."""
    nodes = [n for n in ast.walk(tree) if isinstance(n, (ast.expr, ast.Assert))]
    nodes = [n for n in nodes if n.lineno == finding.line]
    same = [
        n
        for n in nodes
        if type(n) is type(new) and isinstance(n, ast.expr)
        if _beginning(n) is not None and _beginning(n) == _beginning(new)
    ]
    if same:
        return same[0] if len(same) == 1 else None
    here = [
        n
        for n in nodes
        if isinstance(n, ast.Assert) or type(n) is type(new)
        if _column(text, n.lineno, n.col_offset) == finding.column
    ]
    return max(here, key=lambda n: (n.end_lineno, n.end_col_offset), default=None)


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
