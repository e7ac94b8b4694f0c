"""Programs whose errors stand in them as comments: the caret of `# ... ^ slug: message | hint` stands
below the place that is reported. A program without `| hint` has no hint."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from tile_ir import TileError

EXPECTED = re.compile(r"^\s*#\s*(?P<caret>\^) (?P<slug>[a-z-]+): (?P<text>.*)$")


@dataclass(frozen=True)
class Case:
    file: Path
    name: str
    line: int
    column: int
    slug: str
    message: str
    hint: str | None

    def check(self, error: TileError) -> None:
        """The error is exactly this, and shows its line."""
        assert error.loc is not None, str(error)
        # Lines of the emitted C++ are not what a person reads.
        message = re.sub(r"kernel\.cpp:\d+", "kernel.cpp:N", error.message)
        shown = (error.slug, message, error.hint, error.loc.line, error.loc.column)
        assert shown == (self.slug, self.message, self.hint, self.line, self.column), str(error)
        line = self.file.read_text().splitlines()[self.line - 1]
        assert f"    {line.strip()}" in str(error).splitlines(), "the line is shown"


def cases(*files: Path) -> Iterator[Case]:
    """The programs of some files, each in a function of its name."""
    for file in files:
        name, above = "", 0
        for number, line in enumerate(file.read_text().splitlines(), start=1):
            if line.startswith("def "):
                name = line[4 : line.index("(")]
            found = EXPECTED.match(line)
            if found is None:
                above = number
                continue
            message, _, hint = found["text"].partition(" | ")
            column = found.start("caret") + 1
            yield Case(file, name, above, column, found["slug"], message, hint or None)


_modules: dict[Path, ModuleType] = {}


def module_of(file: Path) -> ModuleType:
    if file not in _modules:
        spec = importlib.util.spec_from_file_location(f"errors_{file.stem}", file)
        assert spec is not None and spec.loader is not None
        _modules[file] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(_modules[file])
    return _modules[file]
