"""Golden files: an input, a line `# ---- expected`, and what the tested step must give.

`make bless` (TILE_BLESS=1) rewrites the expected half; look at the difference before committing it.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from pathlib import Path

SEPARATOR = "# ---- expected\n"


@dataclass(frozen=True)
class Golden:
    path: Path
    header: str
    source: str
    expected: str

    def option(self, name: str) -> str:
        """The value of a header line `# name: value`, or an empty string."""
        for line in self.header.splitlines():
            key, _, value = line.removeprefix("# ").partition(": ")
            if key == name:
                return value.strip()
        return ""


def read(path: Path) -> Golden:
    text = path.read_text()
    source, _, expected = text.partition(SEPARATOR)
    lines = source.splitlines(keepends=True)
    header = "".join(line for line in lines if line.startswith("# "))
    return Golden(path, header, source, expected)


def compare(golden: Golden, actual: str) -> None:
    """Fail with a difference, or rewrite the file when blessing."""
    if not actual.endswith("\n"):
        actual += "\n"
    if actual == golden.expected:
        return
    if os.environ.get("TILE_BLESS"):
        separator = SEPARATOR if golden.source else ""
        golden.path.write_text(golden.source + separator + actual)
        return
    difference = "".join(
        difflib.unified_diff(
            golden.expected.splitlines(keepends=True),
            actual.splitlines(keepends=True),
            "expected",
            "actual",
        )
    )
    raise AssertionError(f"{golden.path.name} differs; `make bless` accepts it\n{difference}")
