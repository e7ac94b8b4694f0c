"""Search the documents for words: pages of a checkout, or else the tables that are installed."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tile_ir import OPS
from tile_ir.quick_dataclasses import dataclass
from tile_ir.switches import SWITCHES
from tile_passes import PASSES
from tile_runtime.tools.command_line.checkout import CHECKOUT
from tile_runtime.tools.command_line.ops import language_name, operation_page

_HEADING = re.compile(r"^(#{1,6}) +(.+)$")
_WORD = re.compile(r"[a-z0-9_]+")
# A word in a heading counts as so many in the text.
_IN_HEADING = 5
_LONGEST = 4000


@dataclass(frozen=True, slots=True)
class PageSection:
    """A part of a page under its own heading."""

    page: str
    heading: str
    text: str

    @property
    def words(self) -> Counter[str]:
        found = Counter(_words(self.text))
        for word in _words(self.heading):
            found[word] += _IN_HEADING
        return found


def search_pages(query: str, most: int) -> list[dict[str, Any]]:
    """The sections that fit a query best, each with its page, heading, text and score."""
    sections, counted = _sections(CHECKOUT)
    wanted = set(_words(query))
    rarity = {
        word: math.log(len(sections) / having)
        for word in wanted
        if (having := sum(word in words for words in counted))
    }
    scored = [
        (sum(rarity[w] * math.log1p(words[w]) for w in rarity), section)
        for section, words in zip(sections, counted, strict=True)
    ]
    best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])[:most]
    return [
        {
            "page": section.page,
            "heading": section.heading,
            "text": section.text[:_LONGEST],
            "score": round(score, 3),
        }
        for score, section in best
    ]


@lru_cache(maxsize=1)
def _sections(root: Path) -> tuple[Sequence[PageSection], Sequence[Counter[str]]]:
    """All sections, and the words of each."""
    pages = sorted((root / "docs").rglob("*.md"))
    found = [s for p in pages for s in _of_page(p.relative_to(root).as_posix(), p.read_text())]
    found = found or list(_of_tables())
    return found, [section.words for section in found]


def _of_page(page: str, text: str) -> Iterator[PageSection]:
    """The sections of a page; a line in a block of code is no heading."""
    heading, lines, in_block = page, list[str](), False
    for line in text.splitlines():
        in_block ^= line.startswith("```")
        match = None if in_block else _HEADING.match(line)
        if match is None:
            lines.append(line)
            continue
        yield from _unless_empty(page, heading, lines)
        heading, lines = match[2], []
    yield from _unless_empty(page, heading, lines)


def _unless_empty(page: str, heading: str, lines: Iterable[str]) -> Iterator[PageSection]:
    text = "\n".join(lines).strip()
    if text:
        yield PageSection(page, heading, text)


def _of_tables() -> Iterator[PageSection]:
    """The sections without pages: operations, passes and switches."""
    for op in OPS.values():
        yield PageSection("operations", language_name(op), operation_page(op))
    for name, step in PASSES.items():
        yield PageSection("passes", name, step.summary)
    for switch in SWITCHES.values():
        yield PageSection("switches", switch.variable, switch.doc)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
