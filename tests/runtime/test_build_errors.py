"""Compilers that are missing or fail, and devices that are not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tile_ir import DEFAULT_TARGET, BuildError, Func
from tile_ir.switches import override, switch
from tile_runtime import compile
from tile_runtime.devices.cann import find_device_compiler
from tile_runtime.devices.choose_device import current_device
from tile_runtime.devices.compile_device import device_command
from tile_runtime.devices.compile_host import find_compiler, host_command, run_compiler
from tile_runtime.jit_kernels.refused_source import refused_source


def script(path: Path, body: str) -> str:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_no_compiler(saxpy: Func, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    current_device().prepare()  # it needs the compiler too, once for all tests of a process
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("TILE_CXX")
    with pytest.raises(BuildError) as error:
        compile(saxpy)
    assert str(error.value) == (
        "error[no-compiler]: no C++ compiler found (looked for g++, clang++)\n"
        "hint: install one: `apt-get install g++` (Debian, Ubuntu) or `dnf install gcc-c++` "
        "(Fedora, openEuler); Xcode on macOS is not supported"
    )


def test_the_compiler_is_chosen_by_switch_then_cxx_then_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mine = script(tmp_path / "mine", "exit 0")
    clang = script(tmp_path / "clang++", "exit 0")
    monkeypatch.delenv("TILE_CXX")
    monkeypatch.setenv("CXX", f"{mine} -m64")
    assert find_compiler() == (mine, "-m64")
    with override(cxx=clang):
        assert find_compiler() == (clang,)
    with override(cxx="/no/such/c++"), pytest.raises(BuildError, match="looked for /no/such/c"):
        find_compiler()
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_compiler() == ("clang++",)


def test_the_command_line() -> None:
    command = host_command(("g++",), [Path("a.cpp"), Path("b.cpp")], Path("k.so"), [Path("inc")])
    assert command == [
        "g++", "-std=c++17", "-Os", "-fwrapv", "-fPIC", "-shared", "-pipe", "-Iinc", "a.cpp", "b.cpp",
        "-o", "k.so",
    ]  # fmt: skip


def test_a_compiler_that_fails_shows_its_output(tmp_path: Path) -> None:
    failing = script(tmp_path / "cc", "for i in $(seq 1 100); do echo line $i >&2; done; exit 3")
    with pytest.raises(BuildError) as error:
        run_compiler([failing, "x.cpp"], "x.cpp")
    text = error.value.message.splitlines()
    assert text[0] == f"{failing} failed with exit code 3 on x.cpp"
    assert text[1] == "line 1" and text[61] == "... 40 more lines"
    assert text[62] == f"command: {failing} x.cpp"


def test_a_compiler_that_is_killed(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="was killed by signal 9 on x"):
        run_compiler([script(tmp_path / "cc", "kill -9 $$")], "x")


def test_no_npu(saxpy: Func) -> None:
    with override(target="npu"), pytest.raises(BuildError) as error:
        compile(saxpy)
    assert error.value.slug == "no-npu"
    assert "torch_npu is not installed" in error.value.message
    assert error.value.hint == "unset TILE_TARGET or set it to sim"


def test_bisheng_is_found_below_cann(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    monkeypatch.setenv("PATH", os.fspath(tmp_path / "nothing"))
    with pytest.raises(BuildError) as error:
        find_device_compiler()
    assert error.value.slug == "no-device-compiler"
    (tmp_path / "bin").mkdir()
    bisheng = script(tmp_path / "bin" / "bisheng", "exit 0")
    assert find_device_compiler() == bisheng


def test_the_device_command_line() -> None:
    command = device_command(
        "bisheng",
        [Path("k.cpp"), Path("e.cpp")],
        Path("k.so"),
        [Path("hdr")],
        Path("/cann"),
        DEFAULT_TARGET,
    )
    assert command == [
        "bisheng", "--npu-arch=dav-2201", "-O2", "-fwrapv", "-std=c++17", "-xasc",
        "-I/cann/include", "-I/cann/include/experiment/msprof",
        "-I/cann/include/experiment/runtime", "-I/cann/pkg_inc", "-I/cann/pkg_inc/runtime",
        "-I/cann/pkg_inc/profiling", "-Ihdr", "-L/cann/lib64",
        "-Wno-macro-redefined", "-Wno-ignored-attributes", "-Wno-non-c-typedef-for-linkage",
        "-lruntime", "-lascendcl", "-lm", "-ltiling_api", "-lplatform", "-lc_sec", "-ldl",
        "-fPIC", "--shared", "k.cpp", "e.cpp", "-o", "k.so",
    ]  # fmt: skip


@pytest.mark.parametrize("variable, word", [("TILE_TARGET", "sim"), ("TILE_BACKEND", "simulator")])
def test_the_simulator_is_asked_for_by_either_name(
    variable: str, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TILE_TARGET", "TILE_BACKEND"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, word)
    assert switch("target") == "sim"
    monkeypatch.setenv("TILE_TARGET", "npu")  # the newer name counts
    assert switch("target") == "npu"


def test_refused_text_of_ours_is_our_fault(saxpy: Func) -> None:
    """The first words say so, the place is the line of the script, and the hint how to report it."""
    file = next(iter(saxpy.sources))
    lines = ["first", f"  wrong();  // {file}:2"]
    said = "g++ failed with exit code 1 on k.cpp\n/x/k.cpp:2:3: error: `wrong` was not declared"
    told = refused_source(BuildError("compiler-failed", said), "saxpy", lines, saxpy)
    assert told.message.startswith("the C++ made from `saxpy` does not compile: this is a fault of")
    assert said in told.message and told.hint is not None and told.hint.startswith("report it")
    assert told.loc is not None and (told.loc.file, told.loc.line) == (file, 2)
    killed = BuildError("compiler-failed", "g++ was killed by signal 9 on k.cpp")
    assert refused_source(killed, "saxpy", lines, saxpy) is killed
