"""The compiler of tests gives what the real one would: a compiler of a test counts its calls."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cached_compiler import COUNTED, FOLDER, Compiler
from remember_compilation import forget_old, kernel_headers, remembering, run, shared_copies

from tile_codegen_ascendc import DEVICE_HEADER_DIR
from tile_runtime.simulator.build_simulator import include_directory

SOURCE = '#include "value.h"\nextern "C" int value() { return VALUE; }\n'


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    monkeypatch.setenv(FOLDER, str(tmp_path / "kept"))
    real = tmp_path / "real"
    real.write_text(f'#!/bin/sh\necho x >> {tmp_path}/calls\nexec g++ "$@"\n')
    real.chmod(0o755)
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "value.h").write_text("#define VALUE 1\n")
    return remembering(Compiler((str(real),)))


def made(command: str, tmp_path: Path, place: str, text: str = SOURCE, *more: str) -> bytes | None:
    """The object file of a source in a folder of its own; None where it does not compile."""
    folder = tmp_path / place
    folder.mkdir()
    source, output = folder / "kernel.cpp", folder / "kernel.o"
    source.write_text(text)
    words = [command, "-c", f"-I{tmp_path}/headers", *more, str(source), "-o", str(output)]
    noted = ["-MMD", "-MF", str(folder / "kernel.d")]
    done = subprocess.run([*words, *noted], capture_output=True, check=False)
    if done.returncode:
        return None
    words = (folder / "kernel.d").read_text().replace("\\\n", " ").split()
    assert words == [f"{output}:", str(source), f"{tmp_path}/headers/value.h"]
    return output.read_bytes()


def calls(tmp_path: Path) -> int:
    return len((tmp_path / "calls").read_text().split())


def test_the_headers_of_kernels_are_those() -> None:
    assert kernel_headers() == (include_directory(), DEVICE_HEADER_DIR)


def test_what_was_made_is_found_from_elsewhere(command: str, tmp_path: Path) -> None:
    assert made(command, tmp_path, "a") == made(command, tmp_path, "b")
    assert calls(tmp_path) == 1


def test_places_in_scripts_make_no_difference(command: str, tmp_path: Path) -> None:
    """Nor do their folders, which are others in every run; what stands before them does."""
    line = 'extern "C" const char* text() { return "  // a.py:%d"; }  // %s\n'
    places = ("/tmp/run-1/k.py:7", "/tmp/run-2/k.py:9:3", "k.py:9", "k.py:9")
    objects = [
        made(command, tmp_path, f"{number}", SOURCE + line % (number > 2, place))
        for number, place in enumerate(places)
    ]
    assert calls(tmp_path) == 2
    assert objects[0] == objects[1] == objects[2] != objects[3]


def test_checkouts_with_equal_headers_share_what_was_made(command: str, tmp_path: Path) -> None:
    source = tmp_path / "k.cpp"
    source.write_text(SOURCE)
    for place, value in (("one", 1), ("two", 1), ("three", 2)):
        folder = tmp_path / place
        folder.mkdir()
        (folder / "value.h").write_text(f"#define VALUE {value}\n")
        emitting = remembering(Compiler((f"{tmp_path}/real",), shared_copies([folder])))
        output = f"{folder}/k.o"
        assert run([emitting, f"-I{folder}", "-c", f"{source}", "-o", output]).returncode == 0
    assert calls(tmp_path) == 2


def test_checkouts_share_hand_written_kernels(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines of them name neither checkout; a header of the checkout's own is not shared."""
    real, source = f"{tmp_path}/real", tmp_path / "source" / "k.cpp"
    source.parent.mkdir()
    for number, (value, text) in enumerate(
        [(1, SOURCE), (1, SOURCE), (2, SOURCE), (2, SOURCE + '#include "own.h"\n')] * 2
    ):
        here = tmp_path / f"checkout-{number}"
        (here / "include").mkdir(parents=True)
        (here / "include" / "value.h").write_text(
            f"#define VALUE {value}\ninline int more(int x) {{ return x; }}\n"
        )
        (here / "own.h").write_text("")
        source.write_text(text.replace("return VALUE", "return more(VALUE)"))
        monkeypatch.chdir(here)
        written = remembering(Compiler((real,), shared_copies([here / "include"])))
        words = ["-g1", f"-iquote{here}", f"-I{here}/include", "-c", f"{source}", "-o", "k.o"]
        assert run([written, *words]).returncode == 0
        assert f"{here}/include".encode() not in Path("k.o").read_bytes()
    assert calls(tmp_path) == 4


def test_a_header_beside_the_source_moves_with_it(command: str, tmp_path: Path) -> None:
    for place, value in (("a", 1), ("b", 1), ("c", 2)):
        folder = tmp_path / place
        folder.mkdir()
        (folder / "own.h").write_text(f"#define OWN {value}\n")
        (folder / "k.cpp").write_text('#include "own.h"\nint own() { return OWN; }\n')
        output = str(folder / "k.o")
        assert run([command, "-c", str(folder / "k.cpp"), "-o", output]).returncode == 0
    assert calls(tmp_path) == 2
    objects = [(tmp_path / place / "k.o").read_bytes() for place in "abc"]
    assert objects[0] == objects[1] != objects[2]


def test_headers_of_every_source_are_looked_at(command: str, tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / f"{name}.cpp").write_text(
            f'#include "{name}.h"\nint {name}() {{ return ONE; }}\n'
        )
        (tmp_path / "headers" / f"{name}.h").write_text("#include <cstdint>\n#define ONE 1\n")
    sources = [f"{tmp_path}/first.cpp", f"{tmp_path}/second.cpp"]
    words = [command, "-shared", "-fPIC", f"-I{tmp_path}/headers", *sources]
    for count, changed in ((1, ""), (1, ""), (2, "first"), (3, "second"), (3, "")):
        if changed:
            (tmp_path / "headers" / f"{changed}.h").write_text("#define ONE 2\n")
        assert run([*words, "-o", f"{tmp_path}/both.so"]).returncode == 0
        assert calls(tmp_path) == count


def test_this_process_finds_what_was_made(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = tmp_path / "counted"
    monkeypatch.setenv(COUNTED, str(counted))
    first = made(command, tmp_path, "a", SOURCE)
    monkeypatch.setattr("subprocess.Popen", None)
    source, output = tmp_path / "a" / "kernel.cpp", tmp_path / "a" / "kernel.o"
    output.unlink()
    words = [command, "-c", f"-I{tmp_path}/headers", str(source), "-o", str(output)]
    noted = ["-MMD", "-MF", str(tmp_path / "a" / "kernel.d")]
    assert run([*words, *noted]).returncode == 0
    assert output.read_bytes() == first
    assert counted.read_text() == "mh"


def test_all_that_decides_is_looked_at(command: str, tmp_path: Path) -> None:
    first = made(command, tmp_path, "a")
    assert made(command, tmp_path, "b", SOURCE.replace("VALUE;", "VALUE + 1;")) != first
    assert made(command, tmp_path, "c", SOURCE, "-DOTHER") is not None
    (tmp_path / "headers" / "value.h").write_text("#define VALUE 5\n")
    assert made(command, tmp_path, "d") != first
    assert calls(tmp_path) == 4


def test_failures_and_what_is_for_one_machine_are_not_kept(command: str, tmp_path: Path) -> None:
    for place in "ab":
        assert made(command, tmp_path, place, SOURCE + "int") is None
    for place in "cd":
        assert made(command, tmp_path, place, SOURCE, "-march=native") is not None
    assert calls(tmp_path) == 4


def test_old_entries_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remember_compilation.IN_USE_SECONDS", -1.0)
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "output").write_bytes(bytes(100))
    forget_old(str(tmp_path), most=300)
    assert len([*tmp_path.iterdir()]) == 2
    forget_old(str(tmp_path), most=100)
    assert len([*tmp_path.iterdir()]) == 1
