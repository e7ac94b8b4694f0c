"""The documents stay small and reachable: few pages, few words, each page linked from a door.

A door is the index page of a folder of documents.
"""

from __future__ import annotations

import re
from pathlib import Path

import generate
from run_blocks import ROOT

from tile_runtime.tools.command_line import COMMANDS

MOST_PAGES = 32
MOST_WORDS = 48_000
MOST_LINES = 160
README_LINES, README_LINKS = 120, 10
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
DOCS = generate.DOCS
README = ROOT / "README.md"


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_there_are_few_pages() -> None:
    assert len(list(DOCS.rglob("*.md"))) <= MOST_PAGES


def test_there_are_few_words() -> None:
    """Besides generated pages, parts and outputs; the README counts too."""
    words = {name(p): len(generate.written_text(p).split()) for p in generate.written_pages()}
    assert sum(words.values()) <= MOST_WORDS, words


def test_written_pages_are_short() -> None:
    lines = {
        name(p): len(generate.written_text(p).splitlines())
        for p in generate.written_pages()
        if p != README
    }
    assert {page: n for page, n in lines.items() if n > MOST_LINES} == {}


def test_the_readme_is_short() -> None:
    text = README.read_text()
    assert len(text.splitlines()) <= README_LINES
    assert len(LINK.findall(text)) <= README_LINKS


def linked(page: Path) -> set[Path]:
    """The files that a page links."""
    targets = (m["target"].partition("#")[0] for m in LINK.finditer(page.read_text()))
    return {(page.parent / t).resolve() for t in targets if t and "://" not in t}


def test_every_page_has_a_door() -> None:
    """The README leads to the front page, the door for users; that to the doors of other folders."""
    front, doors = DOCS / "index.md", sorted(DOCS.glob("*/index.md"))
    assert front in linked(README)
    assert set(doors) <= linked(front)
    reached = {front}.union(*(linked(door) for door in [front, *doors]))
    assert [name(p) for p in sorted(DOCS.rglob("*.md")) if p not in reached] == []


def test_every_command_is_listed() -> None:
    text = (DOCS / "use/command_line.md").read_text()
    assert [c for c in COMMANDS if f"`tile-ascend {c}`" not in text] == []
