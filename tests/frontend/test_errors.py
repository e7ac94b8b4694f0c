"""Every mistake in `errors/*.py` is reported with exactly the message, line and column its comment
names: the caret of `# ... ^ slug: message | hint` stands below the place. A case without `| hint`
has no hint."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from tile_ir import KernelError

FOLDER = Path(__file__).parent / "errors"
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


def cases() -> Iterator[Case]:
    for file in sorted(FOLDER.glob("*.py")):
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


ALL = list(cases())
_modules: dict[Path, ModuleType] = {}


def module_of(file: Path) -> ModuleType:
    if file not in _modules:
        spec = importlib.util.spec_from_file_location(f"errors_{file.stem}", file)
        assert spec is not None and spec.loader is not None
        _modules[file] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(_modules[file])
    return _modules[file]


@pytest.mark.parametrize("case", ALL, ids=lambda c: f"{c.file.stem}-{c.name}")
def test_the_error_is_exactly_this(case: Case) -> None:
    with pytest.raises(KernelError) as caught:
        getattr(module_of(case.file), case.name)()
    error = caught.value
    assert error.loc is not None, str(error)
    shown = (error.slug, error.message, error.hint, error.loc.line, error.loc.column)
    assert shown == (case.slug, case.message, case.hint, case.line, case.column), str(error)
    line = case.file.read_text().splitlines()[case.line - 1]
    assert f"    {line.strip()}" in str(error).splitlines(), "the line is shown"
    assert error.__traceback__ is None or "tile_frontend/statements" not in str(error)


def test_every_case_function_has_an_expectation() -> None:
    names = {(c.file.stem, c.name) for c in ALL}
    for file in FOLDER.glob("*.py"):
        for name in re.findall(r"^def (\w+)\(", file.read_text(), re.M):
            assert name.startswith("_") or (file.stem, name) in names, f"{file.stem}.{name}"
