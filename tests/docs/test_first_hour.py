"""A person can follow the tutorial by copying what the pages show: the text names every file."""

from __future__ import annotations

from pathlib import Path

import generate
import pytest
from run_blocks import BLOCK, block_of

PAGES = [
    *sorted((generate.DOCS / "tutorial").glob("*.md")),
    *sorted((generate.DOCS / "use").glob("coming_from_*.md")),
]


@pytest.mark.whole
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_text_names_the_file_of_each_block(page: Path) -> None:
    """The info string of a block, `python file add.py`, is invisible on a rendered page."""
    text = page.read_text()
    unnamed, end = [], 0
    for match in BLOCK.finditer(text):
        block = block_of(match)
        saved = block.action in ("run", "file") and block.name
        if saved and f"`{block.name}`" not in text[end : match.start()]:
            unnamed.append(block.name)
        end = match.end()
    assert unnamed == []


def test_the_tutorial_uses_no_options_before_its_last_page() -> None:
    """Developer style without options comes first."""
    tutorial = [page for page in PAGES if page.parent.name == "tutorial"]
    assert len(tutorial) >= 4
    assert [p.name for p in tutorial[:-1] if "pass_configs" in p.read_text()] == []


def test_the_tutorial_ends_with_a_kernel_at_its_roofline() -> None:
    text = (generate.DOCS / "tutorial/4_roofline.md").read_text()
    last = text[text.index("## At the roofline") :]
    assert "Bound by HBM, at 9" in last
