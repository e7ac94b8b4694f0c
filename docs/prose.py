"""Check the sentences of documents, errors and docstrings by the rules that a program can decide.

`python docs/prose.py` counts the findings of each area and compares them with docs/prose.json: a
count may fall, never rise. `--list AREA` prints the findings of areas, `--write` stores counts that
fell.

A sentence has a finding if it treats a thing as a person, has a clause with "what" as its subject,
or is too long. Not decided here: whether a sentence is clear.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import slugs

ROOT = Path(__file__).resolve().parents[1]
COUNTS = Path(__file__).with_suffix(".json")
LONGEST = 34  # words
RULES = {
    "person": re.compile(
        r"\b(?:nobody|somebody|anybody|everybody|whoever|whom|his|hers|mine|"
        r"(?<!person )(?<!people )(?<!reader )(?<!writer )(?<!authors )(?<!users )who|"
        r"tells?|told|asks?|asked|knows|knew|believes?|watche[sd]|wants)\b",
        re.I,
    ),
    "clause": re.compile(r"^(?:What|Whatever|Who|Whom)\b.*[^?]$|\b(?:of|from|by|with|to) what\b"),
    "term": re.compile(r"\bhow often\b|\bgoes? (?:a)?round\b|\btrips not met\b", re.I),
}
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.M | re.S)
PARTS = re.compile(r"<!-- (?:generated|measured): [\w ]+ -->.*?<!-- end -->|<!--.*?-->", re.S)
BEGIN = re.compile(r"^\s*(?:[*-] |\d+\. |\|)|^\s*$|^#")


@dataclass(frozen=True)
class Finding:
    """A sentence that breaks a rule, with the place where its paragraph begins."""

    place: str
    rule: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.place}: {self.rule}: {self.sentence}"


def sentences(paragraph: str) -> Iterator[str]:
    """The sentences of a paragraph. Code and links count as a word each."""
    text = re.sub(r"`+[^`]*`+", "`x`", paragraph)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"[*_]{1,2}(\S[^*_]*?)[*_]{1,2}", r"\1", " ".join(text.split()))
    yield from (s for s in re.split(r"(?<=[.?!;:])\s+(?=[A-Z`(])|(?<=[.?!])\s+", text) if s)


def broken_rules(sentence: str) -> Iterator[str]:
    yield from (rule for rule, pattern in RULES.items() if pattern.search(sentence))
    if len(sentence.split()) > LONGEST:
        yield "long"


def findings(place: str, paragraphs: Iterator[tuple[int, str]]) -> list[Finding]:
    return [
        Finding(f"{place}:{line}", rule, sentence)
        for line, paragraph in paragraphs
        for sentence in sentences(paragraph)
        for rule in broken_rules(sentence)
    ]


def page_paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """The paragraphs, items and cells of a page, without code, headings and generated parts."""
    kept = text
    for left_out in (FENCE, PARTS):
        kept = left_out.sub(lambda m: "\n" * m[0].count("\n"), kept)
    start, lines = 1, list[str]()
    for number, line in enumerate([*kept.splitlines(), ""], 1):
        if BEGIN.match(line):
            if lines:
                yield start, " ".join(lines)
            lines = []
        if line.startswith("#"):
            continue
        if line.lstrip().startswith("|"):
            cells = re.split(r"(?<!\\)\|", line)
            yield from ((number, cell) for cell in cells if not set(cell) <= set(" -:"))
            continue
        if line.strip():
            start = start if lines else number
            lines.append(re.sub(r"^\s*(?:[*-] |\d+\. )", "", line))


def docstring_paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """The paragraphs of all docstrings of a module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            line = node.body[0].lineno if node.body else 1
            for paragraph in (ast.get_docstring(node) or "").split("\n\n"):
                yield line, paragraph


def message_paragraphs() -> Iterator[tuple[int, str]]:
    """The messages of errors, as far as the sources say them."""
    yield from ((n, use.message) for n, use in enumerate(slugs.uses(ROOT), 1))


def all_findings() -> dict[str, list[Finding]]:
    """The findings of each area: the README, folders of docs/, errors, docstrings of a package."""
    areas: dict[str, list[Finding]] = {"errors": findings("message", message_paragraphs())}
    alone = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    for path in [*alone, *sorted((ROOT / "docs").rglob("*.md"))]:
        text = path.read_text()
        if text.startswith("<!-- Generated"):
            continue
        name = path.relative_to(ROOT).as_posix()
        area = name if "/" not in name else path.parent.relative_to(ROOT).as_posix()
        areas.setdefault(area, []).extend(findings(name, page_paragraphs(text)))
    for path in sorted(ROOT.glob("packages/*/src/**/*.py")):
        name = path.relative_to(ROOT).as_posix()
        area = "/".join(name.split("/")[:2])
        areas.setdefault(area, []).extend(findings(name, docstring_paragraphs(path.read_text())))
    return areas


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", nargs="*", default=[], metavar="AREA", help="print findings")
    parser.add_argument("--write", action="store_true", help="store the counts that fell")
    options = parser.parse_args()
    areas = all_findings()
    stored = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    counts = {area: len(found) for area, found in sorted(areas.items())}
    for area in options.list:
        print(*areas[area], sep="\n")
    if options.write:
        stored = {area: min(n, stored.get(area, n)) for area, n in counts.items()}
        COUNTS.write_text(json.dumps(stored, indent=2) + "\n")
    risen = {area: n for area, n in counts.items() if n > stored.get(area, 0)}
    for area, n in risen.items():
        print(*areas[area], sep="\n")
        print(f"{area}: {n} sentences break a rule, before {stored.get(area, 0)}: shorten them")
    return 1 if risen else 0


if __name__ == "__main__":
    sys.exit(main())
