"""List every folder of the packages with the first sentence of its `__init__`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from pages.markdown import ASIDE, ROOT, cell, table

PACKAGES = ("ir", "frontend", "passes", "codegen_ascendc", "runtime")


def first_sentence(text: str) -> str:
    paragraph = " ".join(ASIDE.sub("", text.strip()).split("\n\n")[0].split())
    # Three dots are a part of it, as in `for ... in`.
    return re.split(r"(?<!\.)\.(?=\s|$)", paragraph)[0].rstrip(":")


def folders() -> list[Path]:
    """Folders of Python sources, each package before its subpackages."""
    return [
        init.parent
        for package in PACKAGES
        for source in sorted((ROOT / "packages" / package / "src").glob("tile_*"))
        for init in sorted(source.rglob("__init__.py"))
    ]


def folder_table() -> str:
    return table(("folder", "what it does"), [(link(f), cell(sentence(f))) for f in folders()])


def sentence(folder: Path) -> str:
    text = (folder / "__init__.py").read_text()
    return first_sentence(ast.get_docstring(ast.parse(text)) or "")


def link(folder: Path) -> str:
    path = folder.relative_to(ROOT)
    return f"[{Path(*path.parts[3:])}](../../{path})"
