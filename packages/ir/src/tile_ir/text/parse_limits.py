"""Refuse texts that are nested too deeply or have too long numbers, before anything recurses.

Not here: the meaning of a text.
"""

from __future__ import annotations

from lark import Token, Tree

# Numbers of 64 bits have 20 digits.
MOST_LEVELS, MOST_DIGITS = 200, 20


def beyond_limits(tree: Tree[Token]) -> tuple[Tree[Token] | Token, str] | None:
    """The first node that is nested too deeply, or number that is too long, and its description."""
    waiting: list[tuple[Tree[Token] | Token | None, int]] = [(tree, 1)]
    while waiting:
        node, level = waiting.pop()
        if level > MOST_LEVELS and node is not None:
            return node, f"nested more than {MOST_LEVELS} levels deep"
        if isinstance(node, Tree):
            waiting += ((child, level + 1) for child in reversed(node.children))
        elif node is not None and _digits(node) > MOST_DIGITS:
            return node, f"a number of more than {MOST_DIGITS} digits"
    return None


def _digits(token: Token) -> int:
    number = token.partition(":")[0]
    return len(number) if number.isdigit() else 0
