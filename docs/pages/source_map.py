"""map.md: every file of the packages with the sentence it opens with."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from pages.markdown import ASIDE, NOTE, ROOT, cell, table

PACKAGES = ("ir", "frontend", "passes", "codegen_ascendc", "runtime")


def first_sentence(text: str) -> str:
    paragraph = " ".join(ASIDE.sub("", text.strip()).split("\n\n")[0].split())
    # Three dots are a part of it, as in `for ... in`.
    return re.split(r"(?<!\.)\.(?=\s|$)", paragraph)[0].rstrip(":")


def python_line(path: Path) -> str:
    return first_sentence(ast.get_docstring(ast.parse(path.read_text())) or "")


def comment_line(path: Path) -> str:
    """The sentence a C++ file or template opens with."""
    text = path.read_text()
    if path.suffix == ".jinja":
        found = re.match(r"\{#(.*?)#\}", text, re.S)
        return first_sentence(found[1]) if found else ""
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(line.lstrip("/ "))
    return first_sentence("\n".join(lines))


def map_page() -> str:
    parts = [NOTE, "# Map of the sources\n", "Every file with the sentence it opens with.\n"]
    folders = (ROOT / "packages" / package / "src" for package in PACKAGES)
    sources = (s for f in folders for s in sorted(f.glob("tile_*")) if (s / "__init__.py").exists())
    for source in sources:
        package = source.parents[1].name
        rows = [
            (file_link(p, source), cell(python_line(p)))
            for p in sorted(source.rglob("*.py"))
            if python_line(p)
        ]
        parts.append(f"## packages/{package}: `{source.name}`\n\n" + table(("file", "what"), rows))
        for title, files in other_files(source):
            known = [(file_link(p, source), cell(comment_line(p))) for p in files]
            rows = [row for row in known if row[1]]
            if rows:
                parts.append(f"### {title}\n\n" + table(("file", "what"), rows))
    return "\n".join(parts)


def file_link(path: Path, base: Path) -> str:
    return f"[{path.relative_to(base)}](../../{path.relative_to(ROOT)})"


def other_files(source: Path) -> list[tuple[str, list[Path]]]:
    """Files in other languages, by the folder they are in."""
    folders: dict[str, list[Path]] = {}
    for path in sorted(source.rglob("*")):
        if path.suffix in (".h", ".cpp", ".jinja") and path.name != "kernel.cpp.jinja":
            folders.setdefault(str(path.parent.relative_to(source)), []).append(path)
    return list(folders.items())
