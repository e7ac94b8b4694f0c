"""The rules of prose that a program decides, on sentences that break and keep them."""

from __future__ import annotations

import json

import prose
import pytest
from run_blocks import ROOT


@pytest.mark.parametrize(
    ("sentence", "rules"),
    [
        ("The planner assigns addresses.", []),
        ("Code is told about it.", ["person"]),
        ("Bytes that nobody wrote are an error.", ["person"]),
        ("This page is for a person who writes kernels, and for users who run them.", []),
        ("A core, who waits, is idle.", ["person"]),
        ("What stands between runs on both pipes.", ["clause"]),
        ("What does the compiler do?", []),
        ("It prints a list of what failed.", ["clause"]),
        ("The user asks for it, whoever that is.", ["person"]),
        ("The report says how often it runs.", ["term"]),
        (" ".join(["word"] * 40) + ".", ["long"]),
    ],
)
def test_rules(sentence: str, rules: list[str]) -> None:
    assert list(prose.broken_rules(sentence)) == rules


def test_code_and_generated_parts_are_no_prose() -> None:
    page = (
        "# What is this\n\nOne. Two `what nobody knows`.\n\n```sh\nwho\n```\n"
        "<!-- generated: x -->\n| nobody |\n<!-- end -->\n| cell | [who](x.md) |\n* item\n  goes on\n"
    )
    found = list(prose.page_paragraphs(page))
    assert [text.strip() for _, text in found] == [
        "One. Two `what nobody knows`.", "cell", "[who](x.md)", "item   goes on"
    ]  # fmt: skip
    assert [s for _, text in found for s in prose.sentences(text)] == [
        "One.", "Two `x`.", "cell", "who", "item goes on"
    ]  # fmt: skip
    assert [str(f) for f in prose.findings("p.md", iter(found))] == ["p.md:11: person: who"]


def test_docstrings_are_found() -> None:
    source = '"""First."""\ndef f():\n    """Second.\n\n    Third."""\n'
    assert [text for _, text in prose.docstring_paragraphs(source)] == [
        "First.",
        "Second.",
        "Third.",
    ]


def test_pages_that_newcomers_read_have_no_finding() -> None:
    counts = json.loads((ROOT / "docs/prose.json").read_text())
    assert [area for area in ("README.md", "docs", "errors") if counts[area]] == []
