"""The site replaces links to source files, and its tabs follow the folders."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import site_hooks
from run_blocks import ROOT


def led(markdown: str, page: str = "use/x.md", repository: str = "") -> str:
    file = SimpleNamespace(src_uri=page)
    config = SimpleNamespace(repo_url=repository)
    return site_hooks.on_page_markdown(markdown, SimpleNamespace(file=file), config, None)


def test_links_out_of_the_documents() -> None:
    link = "[a](../../packages/ir/pyproject.toml#x) [b](checks.md#levels) [c](https://example.org)"
    rest = "[b](checks.md#levels) [c](https://example.org)"
    assert led(link) == f"[a](../source/packages/ir/pyproject.toml.txt) {rest}"
    assert led(link, repository="https://host/p/") == (
        f"[a](https://host/p/blob/main/packages/ir/pyproject.toml#x) {rest}"
    )
    assert led("[e](../../examples)") == "[e](../source/examples.html)"
    assert led("[p](../prose.py)") == "[p](../source/docs/prose.py.txt)"
    assert led("[m](../pictures/roofline.svg)") == "[m](../pictures/roofline.svg)"


def test_blocks_lose_the_words_by_which_they_run() -> None:
    block = "```python run add.py\nprint('[a](../../Makefile)')\n```"
    assert led(block) == block.replace(" run add.py", "")


def test_every_page_is_in_a_tab() -> None:
    config = site_hooks.on_config(SimpleNamespace(nav=None))
    named = set(re.findall(r"[\w/]+\.md", str(config.nav)))
    pages = {p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")}
    assert named == pages


def test_settings_name_files_there_are() -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    hooks = re.findall(r"hooks: \[(.*)\]", text)
    assert hooks and all(Path(ROOT / hook).is_file() for hook in hooks)
    requirements = (ROOT / "docs/requirements.txt").read_text().split()[-1:]
    pinned = (ROOT / "constraints.txt").read_text()
    assert [name for name in requirements if f"\n{name}==" not in pinned] == []
