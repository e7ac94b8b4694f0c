"""Trees of kernels: what is built, what is built again, and what is left alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ahead_of_time.kernel_folders import (
    ENGINES_SCALE,
    PLAIN,
    SCALE,
    compile_kernels,
    compiled,
    write,
)
from tile_ir.switches import override, switch
from tile_runtime.ahead_of_time import build_key
from tile_runtime.ahead_of_time.find_kernels import find_kernels
from tile_runtime.cache.fingerprint import compiler_identity
from tile_runtime.simulator.build_simulator import build_simulator


def tree(folder: Path) -> dict[str, bytes]:
    root = folder / "out"
    files = (p for p in root.rglob("*") if p.is_file() and p.name != ".lock")
    return {str(p.relative_to(root)): p.read_bytes() for p in files}


def test_built_once(tmp_path: Path) -> None:
    """The second time nothing is built, and each kind of change builds what it touches."""
    write(tmp_path, scale=SCALE, sizes="ROWS = 8\n", add=PLAIN, unused="X = 1\n")
    assert compiled(compile_kernels(tmp_path)) == 4
    first = tree(tmp_path)
    assert compiled(compile_kernels(tmp_path)) == 0
    assert tree(tmp_path) == first

    write(tmp_path, unused="X = 2\n")
    assert compiled(compile_kernels(tmp_path)) == 0
    write(tmp_path, sizes="ROWS = 16\n")
    assert compiled(compile_kernels(tmp_path)) == 2
    write(tmp_path, add=PLAIN.replace("(1, 2)", "(1, 2, 3)"))
    assert compiled(compile_kernels(tmp_path)) == 3
    (tmp_path / "out/targets/ascend/scale/w64/scale_w64_kernel.cpp").write_text("else")
    assert compiled(compile_kernels(tmp_path)) == 1
    assert compiled(compile_kernels(tmp_path, "--kernels", "add", "--force")) == 3
    assert compiled(compile_kernels(tmp_path, "--device", "a3")) == 5

    write(tmp_path, add=PLAIN.replace("(1, 2)", "(2,)"))
    assert compiled(compile_kernels(tmp_path, "--device", "a3")) == 1
    assert sorted(p.name for p in (tmp_path / "out/targets/ascend/add").glob("n*")) == ["n2"]


DEPENDS = PLAIN.replace(
    "        return SOURCE",
    "        from .project.sizes import ROWS\n        return SOURCE",
)


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two kernels of two variants, one of which imports modules inside of a function; built by
    something that is a compiler to those who call it."""
    write(tmp_path, add=DEPENDS, sub=PLAIN.replace('"add"', '"sub"'))
    write(tmp_path / "kernels" / "project", sizes="X = 1\n")
    shutil.move(tmp_path / "kernels/project/kernels/sizes.py", tmp_path / "kernels/project")
    (tmp_path / "kernels/project/__init__.py").write_text("")
    (tmp_path / "kernels/project/sizes.py").write_text("from .deep import ROWS\n")
    (tmp_path / "kernels/project/deep.py").write_text("ROWS = 8\n")
    compiler = tmp_path / "c++"
    compiler.write_text('#!/bin/sh\nfor last; do :; done; echo object > "$last"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("TILE_CXX", str(compiler))
    assert compiled(compile_kernels(tmp_path, target="sim")) == 4
    assert compiled(compile_kernels(tmp_path, target="sim")) == 0
    return tmp_path


def edited(place: str, was: str, now: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        text = (folder / place).read_text()
        assert was in text
        (folder / place).write_text(text.replace(was, now))

    return edit


def another_compiler(folder: Path) -> None:
    edited("c++", "object", "objects")(folder)
    compiler_identity.cache_clear()


def gone(place: str) -> Callable[[Path], None]:
    return lambda folder: (folder / place).unlink()


ADD, N1 = "kernels/add.py", "out/targets/ascend/add/n1/add_n1_kernel"


@pytest.mark.parametrize(
    ("change", "variants"),
    [
        pytest.param(edited(ADD, "// the", "// one"), 2, id="its file"),
        pytest.param(edited("kernels/project/sizes.py", "ROWS", "ROWS  # rows"), 2, id="imported"),
        pytest.param(edited("kernels/project/deep.py", "8", "16"), 2, id="imported by that"),
        pytest.param(edited("kernels/project/__init__.py", "", "X = 1"), 2, id="its package"),
        pytest.param(another_compiler, 4, id="compiler"),
        pytest.param(edited(f"{N1}.o", "object", "else"), 1, id="object"),
        pytest.param(edited(f"{N1}.cpp", "call", "calls"), 1, id="source"),
        pytest.param(gone(f"{N1}.o"), 1, id="object gone"),
        pytest.param(gone(f"{N1}.cpp"), 1, id="source gone"),
        pytest.param(gone("out/targets/ascend/add/manifest.json"), 2, id="manifest gone"),
        pytest.param(edited("out/targets/ascend/add/manifest.json", "{", "["), 2, id="manifest"),
        pytest.param(gone("out/targets/ascend/add/registry.inc"), 0, id="registry gone"),
        pytest.param(lambda folder: (folder / "other.py").write_text("1"), 0, id="another file"),
        pytest.param(lambda folder: os.utime(folder / ADD), 0, id="time of a file"),
    ],
)
def test_what_a_change_builds(built: Path, change: Callable[[Path], None], variants: int) -> None:
    """Each kind of change builds exactly what it touches, and then everything is as from nothing."""
    change(built)
    assert compiled(compile_kernels(built, target="sim")) == variants
    after = tree(built)
    assert compiled(compile_kernels(built, target="sim")) == 0
    shutil.rmtree(built / "out")
    assert compiled(compile_kernels(built, target="sim")) == 4
    assert tree(built) == after


def test_circumstances_that_build_all(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with override(check="strict", seed=3):
        assert compiled(compile_kernels(built, target="sim")) == 0
    with override(auto_sync=True):
        assert compiled(compile_kernels(built, target="sim")) == 4
    with override(auto_sync=True, soc="Ascend910B4"):
        assert compiled(compile_kernels(built, target="sim")) == 4
    assert compiled(compile_kernels(built, target="sim")) == 4
    monkeypatch.setattr(build_key, "compiler_digest", lambda: "another")
    assert compiled(compile_kernels(built, target="sim")) == 4
    assert compiled(compile_kernels(built)) == 4


def test_a_new_variant_leaves_the_others(built: Path) -> None:
    """Their files keep every byte, and the registry has one entry more."""
    before = tree(built)
    edited(
        ADD,
        "for n in (1, 2)]",
        'for n in (1, 2)]\n    SPECIALIZATIONS += [{"variant_key": "n7", "n": 7}]',
    )(built)
    compile_kernels(built, target="sim")
    after = tree(built)
    changed = {p for p in before if before[p] != after[p]}
    folder = "targets/ascend/add/"
    assert changed == {folder + name for name in ("manifest.json", "registry.inc", "variants.inc")}
    assert after.keys() - before.keys() == {f"{folder}n7/add_n7_kernel.{s}" for s in ("cpp", "o")}
    old, new = (t[f"{folder}registry.inc"].decode().splitlines() for t in (before, after))
    added = [line for line in new if line not in old]
    assert [line for line in old if line not in new] == [
        "constexpr std::array<KernelEntry<AddSpecialization, AddKernelFn>, 2> kAddRegistry{{"
    ]
    assert added == [
        'extern "C" function_type_t<AddKernelFn> add__n7_call;',
        "constexpr std::array<KernelEntry<AddSpecialization, AddKernelFn>, 3> kAddRegistry{{",
        '    {make_add_specialization(AddN{7}), "n7", &add__n7_call},',
    ]


def test_moved(tmp_path: Path) -> None:
    write(tmp_path / "a", add=PLAIN)
    assert compiled(compile_kernels(tmp_path / "a")) == 2
    shutil.move(tmp_path / "a", tmp_path / "b")
    assert compiled(compile_kernels(tmp_path / "b")) == 0
    text = (tmp_path / "b/out/targets/ascend/add/manifest.json").read_text()
    assert str(tmp_path) not in text
    assert json.loads(text)["variants"][0]["generated_source"] == "n1/add_n1_kernel.cpp"


def test_one_broken_file_breaks_no_other(tmp_path: Path) -> None:
    broken = "x = 1\nimport nothing_there\n"
    fails = PLAIN.replace('"add"', '"sub"').replace("return SOURCE", "raise ValueError('no')")
    write(tmp_path, add=PLAIN, broken=broken, sub=fails)
    done = compile_kernels(tmp_path)
    assert done.returncode == 1
    assert "built none:add (2 compiled)" in done.stdout
    assert "broken.py:2:1: error[aot-import]" in done.stderr
    assert "variant 'n1' of sub: generate_source: ValueError: no" in done.stderr
    assert not (tmp_path / "out/targets/ascend/sub/manifest.json").exists()
    assert compile_kernels(tmp_path, "--kernels", "add").returncode == 0


def test_objects_and_errors_name_files_that_stay(tmp_path: Path) -> None:
    """They are compiled in a folder that is gone afterwards."""
    write(tmp_path, scale=SCALE, sizes="ROWS = 8\n", add=PLAIN)
    done = compile_kernels(tmp_path, target="sim")
    object_file = tmp_path / "out/targets/ascend/scale/w64/scale_w64_kernel.o"
    assert b".building-" not in object_file.read_bytes()
    assert str(object_file.with_suffix(".cpp")).encode() in object_file.read_bytes()
    kept = tmp_path / "out/targets/ascend/add/n1/add_n1_kernel.failed.cpp"
    assert done.returncode == 1 and f"{kept}:" in done.stderr and kept.exists()
    assert ".building-" not in done.stderr


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--kernels", "ad"), "unknown kernels: ad"),
        (("--from", "elsewhere"), "there is no folder"),
        (("--jobs", "0"), "at least one"),
        (("--kernels",), "expected at least one argument"),
    ],
)
def test_options(tmp_path: Path, more: tuple[str, ...], told: str) -> None:
    write(tmp_path, add=PLAIN)
    done = compile_kernels(tmp_path, *more)
    assert done.returncode != 0
    assert told in done.stderr


def test_the_device_needs_its_family(tmp_path: Path) -> None:
    write(tmp_path, add=PLAIN)
    done = compile_kernels(tmp_path, target="ascend")
    assert done.returncode == 1
    assert "--device a2" in done.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (PLAIN.replace('f"n{n}"', '"n"'), "variant_key is there twice: n"),
        (PLAIN.replace("    @staticmethod\n", ""), "generate_source is a static or class method"),
        (PLAIN.replace('"n": n}', '"n": str(n)}'), "n is int32, found '1'"),
        (PLAIN.replace("(TileKernel)", ""), "no subclass of TilelangKernel"),
        (PLAIN.replace("return SOURCE", "return 3"), "the source as text, found int"),
        (PLAIN.replace("return SOURCE", "return SOURCE.replace('call(', 'go(')"), "defines no"),
        (PLAIN.replace("return SOURCE", "return SOURCE.replace('int n', f'int n{n}')"),
         "variant 'n2' of add takes (uint8_t* x_handle, int n2"),
        (PLAIN.replace("int32", "dtype").replace('"n": n}', '"n": "fp64"}'),
         "'fp64' is no element type"),
    ],
)  # fmt: skip
def test_mistakes_of_a_kernel(tmp_path: Path, text: str, told: str) -> None:
    write(tmp_path, add=text)
    done = compile_kernels(tmp_path)
    assert done.returncode == 1
    assert told in done.stderr


def test_an_engines_own_tree(tmp_path: Path) -> None:
    """Its files import its declarations by relative and by absolute names; the declarations are
    ours."""
    root = tmp_path / "engine" / "compiler" / "tilelang"
    text = PLAIN.replace("tile_runtime.ahead_of_time", "compiler.tilelang.common.spec")
    text = text.replace("TileKernel", "TilelangKernel")
    kernels = write(root / "targets" / "ascend", add=text, scale=ENGINES_SCALE, sizes="ROWS = 8\n")
    (root / "common").mkdir()
    (root / "common" / "spec.py").write_text("raise ImportError('the declarations are ours')")
    assert compiled(compile_kernels(tmp_path, "--from", str(kernels))) == 4


@pytest.mark.exhaustive
def test_two_builds_at_once(tmp_path: Path) -> None:
    write(tmp_path, scale=SCALE, sizes="ROWS = 8\n")
    program = "import sys; from tile_runtime.tools.command_line import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "compile-kernels", "--target", "none",
               "--output-root", "out"]  # fmt: skip
    both = [
        subprocess.Popen(command, cwd=tmp_path, text=True, stdout=subprocess.PIPE) for _ in "12"
    ]
    told = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted(text.count("(2 compiled)") for text in told) == [0, 1]
    assert compiled(compile_kernels(tmp_path)) == 0
    together = tree(tmp_path)
    shutil.rmtree(tmp_path / "out")
    assert compiled(compile_kernels(tmp_path)) == 2
    assert tree(tmp_path) == together


DIES = """
import os, signal

if os.environ.get("REPLACES") and os.replace.__name__ == "replace":
    replace = os.replace
    done = open("done", "ab", buffering=0)

    def dying(*places):
        if os.fstat(done.fileno()).st_size == int(os.environ["REPLACES"]):
            os.killpg(0, signal.SIGKILL)
        done.write(b".")
        replace(*places)

    os.replace = dying
"""


@pytest.mark.parametrize("replaces", range(6))
@pytest.mark.parametrize("before", [None, "// of another version"], ids=["first", "again"])
def test_killed_between_any_two_files(tmp_path: Path, replaces: int, before: str | None) -> None:
    """SIGKILL instead of the n-th file that is put in place, of a worker's or of the command's own:
    what is there then is built as if nothing had been."""
    write(tmp_path, add=DIES + PLAIN)
    compile_kernels(tmp_path)
    whole = tree(tmp_path)
    shutil.rmtree(tmp_path / "out")
    if before is not None:
        write(tmp_path, add=DIES + PLAIN.replace("// the call of one kernel", before))
        compile_kernels(tmp_path)
        write(tmp_path, add=DIES + PLAIN)
    program = "import sys; from tile_runtime.tools.command_line import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "compile-kernels", "--target", "none",
               "--output-root", "out", "--jobs", "1"]  # fmt: skip
    environment = {**os.environ, "REPLACES": str(replaces)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, start_new_session=True)
    finished = replaces >= (5 if before is None else 3)  # both inc files are what they were
    assert (done.returncode == 0) == finished
    compile_kernels(tmp_path)
    assert tree(tmp_path) == whole
    assert compiled(compile_kernels(tmp_path)) == 0


def test_killed_in_the_middle(tmp_path: Path) -> None:
    """What is left of a killed build is no obstacle, and nothing of it is taken for built."""
    slow = PLAIN.replace("return SOURCE", "import time; time.sleep(20 * (n == 2)); return SOURCE")
    write(tmp_path, add=slow)
    program = "import sys; from tile_runtime.tools.command_line import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "compile-kernels", "--target", "none",
               "--output-root", "out", "--jobs", "2"]  # fmt: skip
    process = subprocess.Popen(command, cwd=tmp_path, start_new_session=True)
    first = tmp_path / "out/targets/ascend/add/n1/add_n1_kernel.cpp"
    for _ in range(600):
        if first.is_file():
            break
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    left = tmp_path / "out/targets/ascend/add/n2/.building-left"
    left.mkdir(parents=True)
    write(tmp_path, add=PLAIN)
    assert compiled(compile_kernels(tmp_path)) == 2
    assert not left.exists()
    assert compiled(compile_kernels(tmp_path)) == 0


@pytest.mark.exhaustive
def test_linked_and_run_by_cmake(tmp_path: Path) -> None:
    """The steps of docs/use/devices.md as they are written, in a copy of the example outside of
    the repository; then again where the tree was moved to, which builds no kernel again."""
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    build_simulator()
    repository = Path(__file__).parents[3]
    page = (repository / "docs/use/devices.md").read_text()
    first, *steps = page.partition("### CMake")[2].split("```")[1].splitlines()[1:]
    assert first == "cd examples/aot"
    shutil.copytree(repository / "examples" / "aot", tmp_path / "first")
    here = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}
    environment["CXX"] = str(switch("cxx"))

    def run(project: Path) -> str:
        command = ["sh", "-ec", "\n".join(steps)]
        done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "100% tests passed" in done.stdout
        return done.stdout

    assert "rope (4 compiled)" in run(tmp_path / "first")
    shutil.move(tmp_path / "first", tmp_path / "second")
    (tmp_path / "second/build/CMakeCache.txt").unlink()  # it has the folder it was made in
    assert run(tmp_path / "second").count("(0 compiled)") == 2


def test_another_name_of_a_class_is_the_same_kernel(tmp_path: Path) -> None:
    found = find_kernels(write(tmp_path, plain=PLAIN + "\n\nAgain = Other = Add\n"))
    assert not found.broken
    assert len(found.families) == 1
