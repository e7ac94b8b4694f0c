"""Wrong programs made from right ones: by one chosen change, with the place and slug of what is then
reported (`error_corpus/mutations.py`), and by random ones, which the compiler accepts or refuses at
a line of the program, and never dies of."""

from __future__ import annotations

import os
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from kept_cases import kept_number

from tile_codegen_ascendc import DEVICE_HEADER_DIR
from tile_ir import KernelError, TileError
from tile_ir.switches import override
from tile_runtime.simulator import build_simulator as builder

from .error_corpus.mutations import MUTATIONS, Mutation
from .error_scripts import Compiled, load, load_without_compilers, text_of
from .source_mutants import mutant

PROGRAMS = tuple(dict.fromkeys(m.program for m in MUTATIONS))
WHOLE = os.environ.get("TILE_TEST_MATRIX") == "whole"
MUTANTS = 8000 if WHOLE else max(150, kept_number(400))
COMPILED = 1000 if WHOLE else 24
# What Python itself says about values a program computes; anything else would be a bug of ours.
PYTHONS_OWN = ("ZeroDivisionError", "OverflowError", "not subscriptable", "negative shift count")


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all mutations: many change only the call of a right kernel."""
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture(autouse=True)
def shared_cache(kernels: Path, fresh_switches: None) -> Iterator[None]:
    with override(cache_dir=str(kernels)), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_program_is_right(program: str, tmp_path: Path) -> None:
    module = load(text_of(program), tmp_path / f"{program}.py")
    got, want = module.call(module.build())
    torch.testing.assert_close(got, want, rtol=2e-3, atol=2e-3)


def without_caret(text: str) -> str:
    return text.replace("^", "", 1)


def mutated(mutation: Mutation) -> tuple[str, int, int]:
    """The text of the wrong program, and the line and column that are reported."""
    text = text_of(mutation.program)
    assert mutation.old in text, "the right program has changed"
    if mutation.place is None:
        before = text[: text.index(mutation.old)] + mutation.new[: mutation.new.index("^")]
        text = text.replace(mutation.old, without_caret(mutation.new), 1)
    else:
        text = text.replace(mutation.old, mutation.new, 1)
        place = without_caret(mutation.place)
        assert place in text, "the place is not in the program"
        before = text[: text.index(place) + mutation.place.index("^")]
    return text, before.count("\n") + 1, len(before) - before.rfind("\n")


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)
def test_one_change_is_told_where_it_matters(mutation: Mutation, tmp_path: Path) -> None:
    text, line, column = mutated(mutation)
    file = tmp_path / "program.py"
    with pytest.raises(TileError) as caught:
        module = load(text, file)
        module.call(module.build())
    error = caught.value
    assert error.loc is not None, str(error)
    found = (error.slug, error.loc.file, error.loc.line, error.loc.column)
    assert found == (mutation.slug, str(file), line, column), str(error)
    assert text.splitlines()[line - 1].strip() in str(error), "the line is shown"


def test_the_corpus_is_as_large_as_it_should_be() -> None:
    assert len(MUTATIONS) >= 140 and len({m.slug for m in MUTATIONS}) >= 60


def ends(seed: int, folder: Path) -> Compiled | KernelError | None:
    """What a random mutant ends in; None if it is no Python."""
    file = folder / f"mutant_{seed}.py"
    text = mutant(text_of(PROGRAMS[seed % len(PROGRAMS)]), seed)
    try:
        compile(text, str(file), "exec")
    except SyntaxError:
        return None
    try:
        load_without_compilers(text, file)()
    except (Compiled, KernelError) as end:
        if isinstance(end, KernelError):
            assert end.loc is not None and end.loc.file == str(file), f"seed {seed}: {end}"
            ours = end.slug == "python-error" and not any(w in end.message for w in PYTHONS_OWN)
            assert not ours, f"seed {seed}: {end}"
        return end
    except BaseException as bug:
        raise AssertionError(f"seed {seed}: {type(bug).__name__}: {bug}\n{text}") from bug
    raise AssertionError(f"seed {seed}: no kernel was compiled\n{text}")


def test_random_changes_are_accepted_or_told_and_what_is_accepted_compiles(tmp_path: Path) -> None:
    outcomes = [ends(seed, tmp_path) for seed in range(MUTANTS)]
    accepted = {end.source for end in outcomes if isinstance(end, Compiled)}
    refused = [end for end in outcomes if isinstance(end, KernelError)]
    assert accepted and len({end.slug for end in refused}) > 20
    _compiles(sorted(accepted)[:: max(len(accepted) // COMPILED, 1)], tmp_path)


def _compiles(sources: list[str], folder: Path) -> None:
    """Check the syntax of many kernels in one translation unit."""
    parts = ['#include "kernel_operator.h"\n#include "tile_device.h"\n']
    for number, source in enumerate(sources):
        lines = (line for line in source.splitlines() if not line.startswith("#include"))
        text = "\n".join(lines).replace('extern "C" ', "")
        parts.append(f"namespace mutant_{number} {{\n{text}\n}}")
    file = folder / "mutants.cpp"
    file.write_text("\n".join(parts))
    folders = ["-I", str(builder.include_directory()), "-I", str(DEVICE_HEADER_DIR)]
    command = [builder.find_compiler(), "-std=c++17", "-fsyntax-only", "-Wall", *folders, str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]
