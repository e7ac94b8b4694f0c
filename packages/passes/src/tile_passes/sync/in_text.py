"""A section as its text: what stands where, and what order it has before any is inserted."""

from __future__ import annotations

from collections.abc import Iterator

from tile_passes.sync.tree import Block, Branch, Order, Repeat


def orders(block: Block) -> Iterator[Order]:
    """The flags and barriers that stand in a block, and in all inside, before any is inserted."""
    return (item for item in block.walk() if isinstance(item, Order))


def positions(root: Block) -> dict[tuple[Block, int], int]:
    """The place of every item, and of the end of every block, in the text."""
    found: dict[tuple[Block, int], int] = {}

    def look(block: Block) -> None:
        for item in block.items:
            found[block, item.position] = len(found)
            match item:
                case Branch(then=then, orelse=orelse):
                    look(then)
                    look(orelse)
                case Repeat(body=body):
                    look(body)
        found[block, len(block.items)] = len(found)

    look(root)
    return found
