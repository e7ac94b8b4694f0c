"""All of these tests but this one need `tile_ir`, `tile_passes` and what those declare: in a process
that refuses torch and the other packages they are collected, and the quick ones run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import golden
import pytest
from kept_cases import kept

TESTS = Path(__file__).parent
REFUSED = (
    "torch", "tile_runtime", "tile_frontend", "tile_codegen_ascendc", "jinja2", "rich", "pybind11",
)  # fmt: skip
# What is refused here is refused in the processes that tests start: Python imports this by itself.
SITE = f"""
import sys

class Refuses:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {REFUSED!r}:
            raise ModuleNotFoundError(f"refused: {{name}}", name=name)

sys.meta_path.insert(0, Refuses())
"""
IMPORTS = f"""
for name in {REFUSED!r}:
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        print(error)
"""
# The rest takes minutes, and imports nothing when it runs that it does not when it is collected.
QUICK = ("test_goldens.py", "test_command.py", "order_steps/test_reduce.py")


@pytest.fixture
def refusing(tmp_path: Path) -> dict[str, str]:
    """The environment of a process without the other packages, without a compiler."""
    (tmp_path / "sitecustomize.py").write_text(SITE)
    path = os.pathsep.join([str(tmp_path), *(p for p in sys.path if p)])
    return {"PYTHONPATH": path, "PATH": "", "HOME": str(tmp_path)}


def python(refusing: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], env=refusing, cwd=TESTS.parent.parent,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    return done.stdout


def test_the_others_are_refused(refusing: dict[str, str]) -> None:
    told = python(refusing, "-c", IMPORTS)
    assert told.splitlines() == [f"refused: {name}" for name in REFUSED]


def test_all_tests_of_passes_are_collected(refusing: dict[str, str]) -> None:
    options = ("-q", "-p", "no:cacheprovider", "--collect-only")
    told = python(refusing, "-m", "pytest", *options, str(TESTS))
    files = {line.partition("::")[0] for line in told.splitlines() if "::" in line}
    assert {Path(f).name for f in files} == {p.name for p in TESTS.glob("**/test_*.py")}


def test_goldens_and_properties_pass(refusing: dict[str, str]) -> None:
    files = [str(TESTS / name) for name in kept(QUICK, least=1)]
    told = python(refusing, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", *files)
    assert " passed" in told and "skipped" not in told


def test_the_command_orders_a_kernel(refusing: dict[str, str], tmp_path: Path) -> None:
    case = golden.read(TESTS / "insert_sync" / "prefetch.tir")
    kernel = tmp_path / "k.tir"
    kernel.write_text(case.source)
    told = python(refusing, "-m", "tile_passes", str(kernel), "-p", "insert_sync")
    assert told == case.expected
