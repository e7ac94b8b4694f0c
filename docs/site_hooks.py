"""Build the site of the documents: the hooks of mkdocs that `mkdocs.yml` names.

The navigation follows the folders of docs/, one tab for each door. A link from a page to a source
file leads to the repository if `repo_url` is set, and otherwise to a copy of the file
in the site.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
# The tabs in their order: the page of each door, the folder of its pages, the folders in sections.
TABS = (
    ("Use", "index.md", "use", ("tutorial",)),
    ("Language", "language/index.md", "language", ()),
    ("Internals", "internals/index.md", "internals", ()),
    ("Hardware", "hardware/index.md", "hardware", ()),
)
LINK = re.compile(r"(?P<head>\]\()(?P<target>(?!\w+:)[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
FENCE = re.compile(r"(^```.*?^```$)", re.M | re.S)
INFO = re.compile(r"^```(\w+) (?:run|file|output|error|from)\b.*$", re.M)
COPIES = "source"
SHOWN = {".md", ".svg", ".png"}


def on_config(config: Any) -> Any:
    """List the pages of each tab: its door, its sections, the rest."""
    config.nav = []
    for title, door, folder, sections in TABS:
        rest = [page for page in pages_of(folder) if page != door]
        within = [{name.capitalize(): pages_of(name)} for name in sections]
        config.nav.append({title: [door, *within, *rest]})
    return config


def pages_of(folder: str) -> list[str]:
    return [p.relative_to(DOCS).as_posix() for p in sorted((DOCS / folder).glob("*.md"))]


def on_files(files: Any, config: Any) -> Any:
    """Add a copy of every linked source file."""
    from mkdocs.structure.files import File  # for `make site` only

    if not config.repo_url:
        for path in sorted(linked_sources(files)):
            files.append(File.generated(config, copy_of(path), content=copied_text(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Replace links to source files, and drop the words by which blocks run."""
    folder = (DOCS / page.file.src_uri).parent

    def led(match: re.Match[str]) -> str:
        path = outside(folder, match["target"])
        if path is None:
            return match[0]
        name = path.relative_to(ROOT).as_posix()
        if config.repo_url:
            target = f"{config.repo_url.rstrip('/')}/blob/main/{name}{match['anchor'] or ''}"
        else:
            target = "../" * page.file.src_uri.count("/") + copy_of(path)
        return f"{match['head']}{target})"

    parts = FENCE.split(markdown)
    texts = [INFO.sub(r"```\1", p) if n % 2 else LINK.sub(led, p) for n, p in enumerate(parts)]
    return "".join(texts)


def linked_sources(files: Any) -> set[Path]:
    found = set()
    for file in files.documentation_pages():
        text = FENCE.sub("", file.content_string)
        folder = (DOCS / file.src_uri).parent
        found |= {outside(folder, m["target"]) for m in LINK.finditer(text)}
    return {path for path in found if path is not None}


def outside(folder: Path, target: str) -> Path | None:
    """The file or folder of the repository that a link means, if it is no page and no picture."""
    path = (folder / target).resolve()
    shown = path.is_relative_to(DOCS) and path.suffix in SHOWN
    return path if path.is_relative_to(ROOT) and not shown and path.exists() else None


def copy_of(path: Path) -> str:
    """The place of a copy: text that a browser shows, or a list of the files of a folder."""
    return f"{COPIES}/{path.relative_to(ROOT).as_posix()}{'.html' if path.is_dir() else '.txt'}"


def copied_text(path: Path) -> str:
    if path.is_file():
        return path.read_text()
    rows = "".join(f"<li>{escape(p.name)}</li>" for p in sorted(path.iterdir()) if p.name[0] != ".")
    name = escape(path.relative_to(ROOT).as_posix())
    head = f'<!doctype html><meta charset="utf-8"><title>{name}</title><h1>{name}</h1>'
    return f"{head}<ul>{rows}</ul>"
