"""`tile-ascend inspect`: what a tree has, and wrappers that do or do not fit it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ahead_of_time.kernel_folders import PLAIN, compile_kernels, compiled, write
from tile_runtime.tools.command_line import main

WRAPPER = """#include "tile_ascend/dispatch_registry.h"
namespace {
using namespace tile_ascend;
#include XLLM_TL_ADD_REGISTRY_INC
}
void add(uint8_t* x, int n, TilelangDType dtype, aclrtStream stream) {
  const auto* entry = find_add_kernel_entry(make_add_specialization(AddN{n}, AddDType{dtype}));
  if (entry) entry->fn(x, n, stream);
}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree of one kernel with two fields and two variants."""
    text = PLAIN.replace("generate_source(n)", "generate_source(n, dtype)")
    text = text.replace('"int32")]', '"int32"), DispatchField("dtype", "dtype")]')
    write(tmp_path, add=text.replace('"n": n}', '"n": n, "dtype": "bf16"}'))
    assert compiled(compile_kernels(tmp_path)) == 2
    return tmp_path / "out"


def inspected(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(["inspect", *map(str, arguments)])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_listed(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = inspected(capsys, root)
    assert (code, err) == (0, "")
    assert (
        out
        == f"""\
add: none, a2, in {root}/targets/ascend/add
  void (uint8_t* x_handle, int n, aclrtStream stream)
  variant  n: int32  dtype: dtype  entry         file
  n1       1         bf16          add__n1_call  n1/add_n1_kernel.cpp
  n2       2         bf16          add__n2_call  n2/add_n2_kernel.cpp
"""
    )


def test_files_that_are_not_what_was_built(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = root / "targets/ascend/add"
    (folder / "n1/add_n1_kernel.cpp").write_text("else")
    (folder / "n2/add_n2_kernel.cpp").unlink()
    code, _, err = inspected(capsys, root)
    assert code == 1
    assert "n1/add_n1_kernel.cpp: changed since" in err
    assert "n2/add_n2_kernel.cpp: missing since" in err


def test_no_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = inspected(capsys, tmp_path)
    assert code == 1 and "no kernel was built below" in err
    manifest = tmp_path / "targets/ascend/add/manifest.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text("{")
    code, _, err = inspected(capsys, tmp_path)
    assert code == 1 and "manifest.json:1:2: error[manifest]" in err


def test_a_wrapper_that_fits(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrapper = root.parent / "a folder" / "wrapper.cpp"
    wrapper.parent.mkdir()
    wrapper.write_text(WRAPPER.replace("void add(", '#include "project.h"\nvoid add('))
    (root.parent / "project.h").write_text("")
    code, out, _ = inspected(capsys, root, "--wrapper", wrapper, f"--flag=-I{root.parent}")
    assert code == 0
    assert out == f"{wrapper}: fits add(uint8_t* x_handle, int n, aclrtStream stream)\n"


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        ("AddN{n}, AddDType{dtype}", "AddDType{dtype}, AddN{n}", "cpp:7:.*error"),
        ("AddN{n}, AddDType{dtype}", "AddN{n}", "cpp:7:.*error"),
        ("AddDType{dtype}", "AddDType{3}", "cpp:7:.*error"),
        ("AddN{n}", "AddRows{n}", "AddRows"),
        ("fn(x, n, stream)", "fn(n, x, stream)", "cpp:8:.*error"),
        ("fn(x, n, stream)", "fn(x, stream)", "cpp:8:.*error"),
        ("fn(x, n, stream)", "fn(x, n, 0L, stream)", "cpp:8:.*error"),
        ("TL_ADD_REG", "TL_AD_REG", "registry of `ad`, which was not built.*did you mean `add`"),
        ("#include XLLM_TL_ADD", "// XLLM_TL_ADD", "error"),
    ],
)
def test_wrappers_that_do_not_fit(
    root: Path, capsys: pytest.CaptureFixture[str], was: str, now: str, told: str
) -> None:
    wrapper = root.parent / "wrapper.cpp"
    wrapper.write_text(WRAPPER.replace(was, now))
    code, out, err = inspected(capsys, root, "--wrapper", wrapper)
    assert (code, out) == (1, "")
    assert re.search(told, err, re.DOTALL), err


def test_a_wrapper_of_nothing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrapper = root.parent / "wrapper.cpp"
    wrapper.write_text("// XLLM_TL_ADD_REGISTRY_INC is not included\nint zero() { return 0; }\n")
    code, _, err = inspected(capsys, root, "--wrapper", wrapper)
    assert code == 1 and "includes the registry of no kernel" in err
