"""Runs programs of the error corpus from files of their own, as scripts run, and what they end in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from tile_codegen_ascendc import emit, entry_source
from tile_ir import DEFAULT_TARGET, Automatic, Func
from tile_passes import PassOptions, run_pipeline

PROGRAMS = Path(__file__).parent / "error_corpus"


def text_of(program: str) -> str:
    return (PROGRAMS / f"{program}.py").read_text()


def load(text: str, file: Path) -> ModuleType:
    """The module that a file with this text makes."""
    file.write_text(text)
    module = ModuleType(file.stem)
    module.__file__ = str(file)
    exec(compile(text, str(file), "exec"), module.__dict__)
    return module


class Compiled(Exception):
    """The program got as far as its C++ source."""

    def __init__(self, func: Func, source: str) -> None:
        super().__init__("compiled")
        self.func, self.source = func, source


def load_without_compilers(text: str, file: Path) -> Callable[[], Any]:
    """`build` of a program whose kernel goes through the whole compiler, but not through g++: a
    kernel that is accepted ends in `Compiled`."""
    text = text.replace("T.compile(", "to_source(").replace("@T.jit(", "@to_source_of(")
    file.write_text(text)
    module = ModuleType(file.stem)
    module.__dict__.update(to_source=_to_source, to_source_of=_to_source_of)
    exec(compile(text, str(file), "exec"), module.__dict__)
    build: Callable[[], Any] = module.__dict__["build"]
    return build


def _to_source(func: Func, **options: Any) -> None:
    passes = PassOptions(automatic=(Automatic.SYNC,) if "pass_configs" in options else ())
    lowered = run_pipeline(func, DEFAULT_TARGET, passes).func
    source = emit(lowered, DEFAULT_TARGET) + entry_source(lowered)
    raise Compiled(lowered, source)


def _to_source_of(**options: Any) -> Callable[[Any], Any]:
    return lambda factory: lambda *arguments: _to_source(factory(*arguments), **options)
