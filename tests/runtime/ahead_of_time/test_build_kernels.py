"""Trees of kernels: what is built, what is built again, and what is left alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ahead_of_time.kernel_folders import PLAIN, SCALE, compile_kernels, compiled, write
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
    kernels = write(root / "targets" / "ascend", add=text, scale=SCALE, sizes="ROWS = 8\n")
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


def test_linked_and_run_by_cmake(tmp_path: Path) -> None:
    """The example as its CMakeLists says, from a copy outside of the repository that is moved after
    the kernels are built."""
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    build_simulator()
    example = Path(__file__).parents[3] / "examples" / "aot"
    shutil.copytree(example, tmp_path / "first")
    assert compiled(compile_kernels(tmp_path / "first", "--jobs", "2", target="sim")) == 6
    project = tmp_path / "second"
    shutil.move(tmp_path / "first", project)
    here = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    config = run("tile-ascend", "where", "cmake")
    generated = f"-DTILELANG_GENERATED_ROOT={project / 'out'}"
    run("cmake", "-S", ".", "-B", "build", f"-DTileAscend_DIR={config}", generated)
    run("cmake", "--build", "build")
    assert "100% tests passed" in run("ctest", "--test-dir", "build", "--output-on-failure")
