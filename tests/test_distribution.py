"""What is shipped: versions that agree, wheels that build alike anywhere and run outside the checkout.

Not here: how a first use builds the simulator (tests/runtime/test_native.py).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

ROOT = Path(__file__).parents[1]
PROJECTS = sorted((ROOT / "packages").glob("*/pyproject.toml"))
NAMES = {
    "tile-ir",
    "tile-frontend",
    "tile-passes",
    "tile-codegen-ascendc",
    "tile-runtime",
    "tile-ascend",
}


def test_versions_agree() -> None:
    projects = [tomllib.loads(path.read_text())["project"] for path in PROJECTS]
    assert {p["name"] for p in projects} == NAMES
    (version,) = {p["version"] for p in projects}
    needed = [
        need
        for p in projects
        for needs in (p["dependencies"], *p.get("optional-dependencies", {}).values())
        for need in needs
    ]
    ours = [need for need in needed if re.split(r"[\[=<>]", need)[0] in NAMES]
    assert ours and all(need.endswith(f"=={version}") for need in ours), ours
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert newest is not None and newest[1] == version


def built(checkout: Path, to: Path) -> list[Path]:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    for project in sorted((checkout / "packages").glob("*/pyproject.toml")):
        command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(to)]
        done = subprocess.run(
            [*command, str(project.parent)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return sorted(to.glob("*.whl"))


def copied(folder: Path) -> Path:
    """The sources as a clean clone has them."""
    ignore = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT / "packages", folder / "packages", ignore=ignore)
    return folder


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    folder = tmp_path_factory.mktemp("one")
    yield built(copied(folder / "checkout"), folder / "wheels")


@pytest.mark.exhaustive
def test_wheels_are_the_same_anywhere(wheels: list[Path], tmp_path: Path) -> None:
    again = built(copied(tmp_path / "elsewhere" / "checkout"), tmp_path / "wheels")
    assert [w.name for w in wheels] == [w.name for w in again]
    assert len(wheels) == len(PROJECTS)
    for one, two in zip(wheels, again, strict=True):
        assert one.read_bytes() == two.read_bytes(), one.name


@pytest.mark.exhaustive
def test_wheels_have_all_that_their_packages_have(wheels: list[Path]) -> None:
    """No source, header, grammar or template stays behind, and the simulator comes built."""
    names = {name for wheel in wheels for name in ZipFile(wheel).namelist()}
    for source in (ROOT / "packages").glob("*/src"):
        for path in source.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and ".egg-info" not in str(path):
                assert str(path.relative_to(source)) in names
    prebuilt = {Path(name).name.split(".")[0] for name in names if "/prebuilt/" in name}
    assert prebuilt >= {"cpu", "libtile_simulator", "tile_simulator_runner", "_tile_launcher"}


@pytest.mark.exhaustive
def test_installed_wheels_run_outside_the_checkout(wheels: list[Path], tmp_path: Path) -> None:
    """With an empty cache nothing but the kernel is built. Packages of others come from here."""
    site = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, "--target", str(site), *map(str, wheels)], check=True)
    example = re.search(
        r"```python\n(.*?)```", (ROOT / "packages/tile_ascend/README.md").read_text(), re.S
    )
    assert example is not None
    script = tmp_path / "add.py"
    script.write_text(
        example[1]
        + "import tile_ir, tile_runtime\nprint(tile_ir.__file__, tile_runtime.__file__)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(site), "TILE_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, str(script)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    right, files = done.stdout.splitlines()
    assert right == "True" and all(f.startswith(str(site)) for f in files.split())
    assert "building" not in done.stderr, done.stderr
