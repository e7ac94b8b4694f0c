"""Kernels over ranks against the declarations of the vendor's SHMEM library, whose folder
TILE_SHMEM_HEADERS names (the one that holds `include/shmem.h`; `make vendor-check SHMEM=FOLDER`).

What the library's functions do inside needs CANN's headers and stays out: its own files of that are
empty here, and Ascend C is the simulator's.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

import npu_double
from tile_codegen_ascendc import DEVICE_HEADER_DIR, emit
from tile_ir import DEFAULT_TARGET
from tile_passes import PassOptions, run_pipeline
from tile_runtime.ahead_of_time import read_manifest
from tile_runtime.simulator.build_simulator import include_directory

from .example_cases import EXAMPLES, case_of
from .rank_cases import ORDERED, load

pytestmark = pytest.mark.vendor
# Engines that emitted kernels leave alone.
_OTHERS = ("rdma", "udma", "simt")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Folders to include: of declarations alone, and the library's."""
    named = os.environ.get("TILE_SHMEM_HEADERS")
    if not named:
        pytest.skip("TILE_SHMEM_HEADERS is not set: the library's headers are not at hand")
    home, empty = Path(named), tmp_path_factory.mktemp("declarations")
    for file in (home / "src" / "device").rglob("*.h*"):
        shadow = empty / file.relative_to(home / "src" / "device")
        shadow.parent.mkdir(parents=True, exist_ok=True)
        shadow.touch()
    (empty / "acl").mkdir()
    (empty / "acl" / "acl_rt.h").write_text('#include "acl/acl.h"\n')
    # The host's functions have the names of the device's, which only the vendor's compiler keeps apart.
    named_by_it = re.findall(r'#include "(device/.*)"', (home / "include" / "shmem.h").read_text())
    lines = [f'#include "{n}"\n' for n in named_by_it if not any(other in n for other in _OTHERS)]
    # Of a file that is empty here.
    lines.insert(0, "#include <cstdint>\nenum class ACLSHMEMCMOTYPE : uint32_t;\n")
    (empty / "shmem.h").write_text("".join(lines))
    return [empty, home / "include"]


def errors_of(text: str, library: list[Path], folder: Path) -> list[str]:
    doubles = Path(npu_double.__file__).parent / "include"
    folders = [*library, include_directory(), DEVICE_HEADER_DIR, doubles]
    return _found(text, [f"-I{each}" for each in folders] + ["-D__CCE_AICORE__=220"], folder)


def _found(text: str, words: list[str], folder: Path) -> list[str]:
    source = folder / "kernel.cpp"
    source.write_text(text)
    found = subprocess.run(
        ["g++", "-std=c++17", "-w", "-fsyntax-only", *words, str(source)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    errors = re.findall(r".*error:.*", found.stderr)
    assert errors or found.returncode == 0, found.stderr[:2000]
    return errors


def text_of(name: str, folder: Path) -> str:
    case = case_of(name, 2, 0)
    func = case.func(load(case.script, folder))
    lowered = run_pipeline(func, DEFAULT_TARGET, PassOptions(automatic=ORDERED))
    return emit(lowered.func, DEFAULT_TARGET)


@pytest.mark.parametrize("name", EXAMPLES)
def test_calls_are_those_of_the_library(name: str, library: list[Path], tmp_path: Path) -> None:
    """S-33."""
    text = text_of(name, tmp_path)
    assert "aclshmem" in text
    assert errors_of(text, library, tmp_path) == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("ACLSHMEM_SIGNAL_SET", "ACLSHMEM_SIGNAL_PUT"),
        ("aclshmem_quiet()", "aclshmem_quiet(0)"),
        ("aclshmem_my_pe", "aclshmem_own_pe"),
    ],
)
def test_a_call_that_it_does_not_have_is_found(
    right: str, wrong: str, library: list[Path], tmp_path: Path
) -> None:
    text = text_of("gather", tmp_path)
    assert right in text
    assert errors_of(text.replace(right, wrong), library, tmp_path)


ENGINE = """
#include "tile_ascend/ranks.h"
int main()
{
    tile_ascend::Ranks ranks(2);
    tile_ascend::SymmetricMemory<float> landed(ranks, 8, "landed");
    landed.copy_from(ranks.first(), std::vector<float>(8));
    ranks.launch([&](uint32_t rank) { landed.handle(rank); });
    return static_cast<int>(landed.to_host(ranks.first()).size());
}
"""


def test_an_engine_calls_the_library_of_the_host(library: list[Path], tmp_path: Path) -> None:
    """The header for kernels built ahead of time, as it is compiled for a device."""
    empty, includes = library
    ours = Path(read_manifest.__file__).parent / "include"
    folders = [includes, ours, include_directory() / "host_headers", empty]
    words = [f"-I{each}" for each in folders]
    assert _found(ENGINE, words, tmp_path) == []
    assert _found(ENGINE.replace("Ranks ranks(2)", 'Ranks ranks("2")'), words, tmp_path)
