"""C++ source text as tokens with positions, without comments, literals and directives."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import field

from tile_ir.quick_dataclasses import dataclass

_COMMENT_OR_LITERAL = r"""
    //(?:\\\n|[^\n])*                            # comment to the end of the line
  | /\*.*?(?:\*/|\Z)                             # comment
  | (?<![\w])(?:u8|[uUL])?R"(?P<delimiter>[^\s()\\]{0,16})\(.*?\)(?P=delimiter)"
  | "(?:\\.|[^"\\\n])*"                          # string
  | (?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'          # character; 1'000 is a number
"""
_DIRECTIVE = r"""
  | ^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*
"""
_FLAGS = re.VERBOSE | re.DOTALL | re.MULTILINE
_SKIPPED = re.compile(_COMMENT_OR_LITERAL + _DIRECTIVE, _FLAGS)
_DEVICE_MARK = re.compile(rf"(?P<kept>{_COMMENT_OR_LITERAL}) | \[\s*aicore\s*\]", _FLAGS)
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.']*|::|<<<|\S")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Token:
    """A word or sign, and where it stands in the text."""

    text: str
    start: int

    @property
    def is_name(self) -> bool:
        return self.text[0].isalpha() or self.text[0] == "_"


def without_comments(text: str) -> str:
    """The text with spaces for comments, literals and directives. Strings keep their quotes, and
    every character its place."""

    def blank(match: re.Match[str]) -> str:
        piece = match.group()
        spaces = re.sub(r"[^\n]", " ", piece)
        if piece.startswith('"') and len(piece) >= 2:
            return '"' + spaces[1:-1] + '"'
        return spaces

    return _SKIPPED.sub(blank, text)


def with_device_words(text: str) -> str:
    """The text with `__aicore__` for the mark `[aicore]` that this word stands for on a device, in
    directives too. A host's compiler has no such mark. Lines keep their numbers."""
    if "aicore" not in text:
        return text
    return _DEVICE_MARK.sub(lambda m: "__aicore__" if m["kept"] is None else m.group(), text)


def tokens_of(text: str) -> list[Token]:
    """Tokens of a text, comments and the like left out."""
    return [Token(m.group(), m.start()) for m in _TOKEN.finditer(without_comments(text))]


def closing(tokens: list[Token], opening: int) -> int:
    """Index of the bracket that closes the one at `opening`, or of the end."""
    depth = 0
    for i in range(opening, len(tokens)):
        if tokens[i].text in _PAIRS:
            depth += 1
        elif tokens[i].text in _PAIRS.values():
            depth -= 1
            if depth == 0:
                return i
    return len(tokens)


def after_template(head: list[Token]) -> int:
    """Index of the first token behind the `template <...>` that a declaration begins with."""
    begin = 0
    while begin < len(head) and head[begin].text == "template":
        depth = 0
        for i in range(begin + 1, len(head)):
            depth += (head[i].text == "<") - (head[i].text == ">")
            if depth == 0:
                begin = i + 1
                break
        else:
            return len(head)
    return begin


@dataclass(frozen=True, slots=True)
class Statement:
    """A declaration at the level of a namespace: its tokens up to the body, and where it ends."""

    scope: tuple[str, ...]
    head: list[Token]
    body: tuple[int, int] | None  # characters, the braces included
    end: int
    inside: list[Token] = field(default_factory=list, repr=False)  # tokens of the body


def statements(text: str) -> Iterator[Statement]:
    """Declarations and definitions of a source, in order, namespaces opened."""
    tokens = tokens_of(text)
    yield from _statements(tokens, 0, len(tokens), ())


def _statements(
    tokens: list[Token], begin: int, stop: int, scope: tuple[str, ...]
) -> Iterator[Statement]:
    first = i = begin
    while i < stop:
        word = tokens[i].text
        if word == ";":
            if i > first:
                yield Statement(scope, tokens[first:i], None, tokens[i].start + 1)
            first = i + 1
        elif word in "([":
            i = closing(tokens, i)
        elif word == "{":
            last = min(closing(tokens, i), stop)
            head = tokens[first:i]
            inner = _opened(head, scope)
            if inner is not None:
                yield from _statements(tokens, i + 1, last, inner)
            elif head:
                end = tokens[last].start + 1 if last < len(tokens) else tokens[-1].start + 1
                yield Statement(scope, head, (tokens[i].start, end), end, tokens[i + 1 : last])
            i = last
            first = i + 1
        i += 1


def _opened(head: list[Token], scope: tuple[str, ...]) -> tuple[str, ...] | None:
    """The scope inside a brace if it belongs to a namespace or a linkage specification."""
    words = [t.text for t in head if t.text not in ("inline", '"')]
    if words == ["extern"]:
        return scope
    if words[:1] == ["namespace"]:
        return (*scope, *(w for w in words[1:] if w != "::"))
    return None


class Lines:
    """Positions in a text as lines and columns, from 1."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def place(self, position: int) -> tuple[int, int]:
        line = bisect_right(self._starts, position)
        return line, position - self._starts[line - 1] + 1
