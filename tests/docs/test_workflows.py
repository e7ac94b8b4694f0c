"""What a public project has besides its code: workflows that call targets there are, on the Pythons
that the packages are for, and links that lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_they_call_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    called = {w.name: set(re.findall(r"\bmake ([a-z-]+)", w.read_text())) for w in WORKFLOWS}
    assert called["check.yml"] == {"check", "test"} and "wheels" in called["wheels.yml"]
    assert {"test-all", "fuzz", "nightly-properties"} <= called["nightly.yml"]
    assert set[str]().union(*called.values()) <= targets


def test_they_run_on_every_python() -> None:
    """From the oldest that the packages allow on."""
    (oldest,) = {
        re.search(r'requires-python = ">=3\.(\d+)"', p.read_text())[1]  # type: ignore[index]
        for p in ROOT.glob("packages/*/pyproject.toml")
    }
    listed = re.search(r"python: \[(.*)\]", (ROOT / ".github/workflows/check.yml").read_text())
    assert listed is not None
    versions = [int(v) for v in re.findall(r'"3\.(\d+)"', listed[1])]
    assert versions == [*range(int(oldest), versions[-1] + 1)] and len(versions) >= 4


def test_security_names_files_there_are() -> None:
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / "SECURITY.md").read_text())
    assert links and all((ROOT / link).exists() for link in links)
