"""Writes the generated pages of docs/ and the outputs shown in README.md and the other pages.

`python docs/generate.py` writes; `tests/docs` checks that nothing would change. A page marked as
generated comes from the sources as a whole, by a file of `pages/`; in other pages the part between
`<!-- generated: NAME -->` and `<!-- end -->` does.

Pages of measurements and their pictures take minutes, and change with every schedule: they are
written when named, `python docs/generate.py use/kernels.md "pictures of many_devices.md"`, and
those of use/kernels.md are checked where all tests are run.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from pages.kernels import kernel_files
from pages.language import language_page
from pages.operators import operator_files
from pages.parts import PARTS
from pages.passes import passes_page
from pages.rank_pictures import rank_pictures
from run_blocks import ROOT, BlockError, run_document

DOCS = ROOT / "docs"
MARKED = re.compile(r"(<!-- generated: (?P<name>[\w ]+) -->\n).*?(<!-- end -->)", re.S)
# Written by the program that measures, not from the sources.
MEASURED = re.compile(r"<!-- measured: [\w ]+ -->\n.*?<!-- end -->", re.S)
PAGES: dict[str, Callable[[], str]] = {
    "language/reference.md": language_page,
    "internals/passes.md": passes_page,
}
# With the pictures they show.
MEASURED_PAGES: dict[str, Callable[[], dict[str, str]]] = {
    "use/kernels.md": kernel_files,
}
# By the page that shows them, which people write.
MEASURED_PICTURES: dict[str, Callable[[], dict[str, str]]] = {
    "pictures of many_devices.md": rank_pictures
}
# By the page that has them; half an hour.
MEASURED_TABLES: dict[str, Callable[[], dict[str, str]]] = {
    "tables of operators.md": operator_files
}


def written_pages() -> list[Path]:
    """The pages people write."""
    generated = {DOCS / name for name in (*PAGES, *MEASURED_PAGES)}
    own = [p for p in sorted(DOCS.rglob("*.md")) if p not in generated]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *own]


def written_text(page: Path) -> str:
    """The part of a page that people write: without generated parts and outputs."""
    text = MEASURED.sub("", MARKED.sub("", page.read_text()))
    return re.sub(r"^```\w+ (?:output|error)\n.*?^```$", "", text, flags=re.M | re.S)


def current_text(path: Path) -> str:
    """A page as it should be now. Raises BlockError if one of its blocks does not do as it says."""
    make = PAGES.get(path.relative_to(DOCS).as_posix()) if path.is_relative_to(DOCS) else None
    if make:
        return make()
    text = MARKED.sub(lambda m: m[1] + PARTS[m["name"]]() + m[3], path.read_text())
    return run_document(text, path.name)


def main(names: list[str]) -> int:
    """Writes the pages named, by paths below docs/; without names all but the measured ones."""
    measured = {**MEASURED_PAGES, **MEASURED_PICTURES, **MEASURED_TABLES}
    named = [DOCS / name for name in names if name not in measured]
    for path in named if names else [*(DOCS / name for name in PAGES), *written_pages()]:
        try:
            _write(path, current_text(path))
        except BlockError as error:
            print(error, file=sys.stderr)
            return 1
    for name in names:
        for file, text in measured.get(name, dict)().items():
            _write(DOCS / file, text)
    return 0


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
