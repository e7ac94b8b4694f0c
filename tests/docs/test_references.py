"""Every reference from a comment or docstring to a document leads to a page and a heading of it."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
from pages import markdown
from run_blocks import ROOT

# Sources whose comments count; what is data, such as tables of measurements, is not asked.
SUFFIXES = {".py", ".pyi", ".h", ".cpp", ".jinja", ".lark", ".tir"}
REFERENCE = re.compile(
    r"(?P<vendor>asc-devkit )?(?P<page>[\w./-]*\w\.md)\b(?:#(?P<anchor>[\w-]*))?"
)
# A place in a document that nobody but its writer has.
NUMBERED = re.compile(r"\bsections? \d|§", re.I)


# Many references lead to few pages.
anchors = cache(markdown.anchors)


def remarks(path: Path, text: str) -> Iterator[str]:
    """Comments and docstrings of Python, all of another file; nothing where no document is named."""
    if ".md" not in text and not NUMBERED.search(text):
        return
    if path.suffix not in (".py", ".pyi"):
        yield text
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)


def faults(path: Path, text: str) -> list[str]:
    """References of a source that lead nowhere."""
    return faults_of(remarks(path, text))


def faults_of(said: Iterable[str]) -> list[str]:
    """Those of these remarks."""
    found = []
    for remark in said:
        found += NUMBERED.findall(remark)
        for match in REFERENCE.finditer(remark):
            page, anchor = ROOT / match["page"], match["anchor"]
            if match["vendor"]:  # of the vendor's repository, by its path there
                continue
            if not page.is_file() or (anchor is not None and anchor not in anchors(page)):
                found.append(match[0])
    return found


def sources() -> list[Path]:
    found = [p for top in ("packages/*/src", "tests") for p in sorted(ROOT.glob(f"{top}/**/*"))]
    return [p for p in found if p.suffix in SUFFIXES and p.is_file()]


def test_every_reference_leads_to_a_heading() -> None:
    """A search that finds nothing would find nothing wrong: it finds these pages at least."""
    said = {p.relative_to(ROOT).as_posix(): [*remarks(p, p.read_text())] for p in sources()}
    wrong = {name: faults_of(found) for name, found in said.items()}
    assert {name: f for name, f in wrong.items() if f} == {}
    texts = "\n".join(remark for found in said.values() for remark in found)
    pages = {m["page"] for m in REFERENCE.finditer(texts)}
    cited = (
        "hardware/index",
        "hardware/units",
        "hardware/time_model",
        "language/index",
        "language/rules",
    )
    assert {f"docs/{page}.md" for page in cited} <= pages


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("m.py", '"""As docs/hardware/index.md#flags has it (docs/internals/index.md#the-ir)."""\n', []),
        ("m.py", "# docs/hardware/index.md#no-such-heading\n", ["docs/hardware/index.md#no-such-heading"]),
        ("m.py", "x = 1  # rules: hardware.md\n", ["hardware.md"]),
        ("m.py", "def f():\n    '''By language.md, section 4.2.'''\n", ["section 4", "language.md"]),
        ("m.py", "page = 'no.md'\n", []),
        ("m.h", "// Fixpipe (hardware.md 3.5).\n", ["hardware.md"]),
        ("m.cpp", "// asc-devkit docs/zh/api/UnitFlag.md: measured\n", []),
    ],
)  # fmt: skip
def test_what_counts_as_a_reference(name: str, text: str, wrong: list[str]) -> None:
    assert faults(Path(name), text) == wrong
