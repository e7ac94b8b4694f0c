"""Compile many programs together, run each at `strict`, and compare it with its executor.

A batch runs in a process of its own, which notes what it begins and what became of it: a signal is
the outcome of the program that was being run, and the rest of the batch starts anew.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import sys
import tempfile
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import remember_compilation

from tile_codegen_ascendc import DEVICE_HEADER_DIR, emit, entry_source
from tile_ir import DEFAULT_TARGET, Automatic, BuildError, Func, IRError, KernelError
from tile_runtime.devices.compile_host import FLAGS, find_compiler
from tile_runtime.jit_kernels.prove import prove
from tile_runtime.launcher.native import launcher
from tile_runtime.launcher.signature import launcher_kinds, signature_of
from tile_runtime.simulator.build_simulator import include_directory

from .executor import Executor
from .executor_buffers import ProgramFault
from .program import Program, difference, loaded, stored

# What a script asks for with AUTO_SYNC; and in the developer style with CV_COMBINE and CV_SYNC too.
LEFT = (Automatic.SYNC, Automatic.MEMORY)
LEFT_BY_DEVELOPERS = (*LEFT, Automatic.CROSS)
_HEADER = '#include "kernel_operator.h"\n#include "tile_device.h"\n'
# A run that takes this long never ends.
RUN_SECONDS = 20
# What a process ends with where this file, and no program, is at fault.
BROKEN = 99
# A compiler that has read the headers already (kernel_compiler.py), for the processes of a run.
COMPILER = "PROGRAMS_COMPILER"


@dataclass(frozen=True)
class Outcome:
    """What became of a program: `same`, `differ`, `refused` (with its slug), `finding` of the
    simulator, `signal`, `internal` for our own errors, or `meaningless`, if the executor says so."""

    kind: str
    slug: str = ""
    message: str = ""

    @property
    def is_failure(self) -> bool:
        return self.kind in FAILURES

    @property
    def name(self) -> str:
        return f"{self.kind}: {self.slug}" if self.slug else self.kind


FAILURES = ("differ", "finding", "signal", "internal")


def run_programs(programs: Sequence[Program]) -> list[Outcome]:
    """The outcome of each program. Whatever they do, this process lives."""
    outcomes: list[Outcome] = []
    launcher()  # once, before there are several processes
    while len(outcomes) < len(programs):
        outcomes += _run_in_child(programs[len(outcomes) :])
    return outcomes


def _run_in_child(programs: Sequence[Program]) -> list[Outcome]:
    """Outcomes up to the program that ended the process, with it."""
    with tempfile.TemporaryDirectory(prefix="tile-programs-") as name:
        folder = Path(name)
        log = folder / "log"
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            _as_child(programs, folder, log)
        _, status = os.waitpid(child, 0)
        found = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        outcomes = [Outcome(**f) for f in found]
        if len(outcomes) == len(programs):
            return outcomes
        code = os.waitstatus_to_exitcode(status)
        output = (folder / "output").read_text(errors="replace")[-800:]
        if code == BROKEN:
            raise RuntimeError(f"a batch of programs ended early:\n{output}")
        return [*outcomes, Outcome("signal", f"exit {code}", output)]


def _as_child(programs: Sequence[Program], folder: Path, log: Path) -> None:
    code = BROKEN
    try:
        output = os.open(folder / "output", os.O_CREAT | os.O_WRONLY)
        os.dup2(output, 1)
        os.dup2(output, 2)
        warnings.simplefilter("ignore")
        with log.open("w", buffering=1) as file:
            for outcome in Batch(programs, folder).outcomes():
                file.write(json.dumps(asdict(outcome)) + "\n")
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


@dataclass
class _Built:
    """A program that got through the compiler, or what it met on the way."""

    program: Program
    executor: Executor | None = None
    want: Any = None
    arrays: Any = None
    func: Func | None = None
    source: str = ""
    met: Outcome | None = None


class Batch:
    """Programs of one translation unit."""

    def __init__(self, programs: Sequence[Program], folder: Path) -> None:
        self.folder = folder
        self.built = [_Built(p) for p in programs]

    def outcomes(self) -> Any:
        for number, built in enumerate(self.built):
            self._execute(built)
            if built.met is None:
                self._lower(number, built)
        library = self._compiled()
        for built in self.built:
            yield built.met or self._run(built, library)

    def _compiled(self) -> Path | None:
        """The library of all programs, but for those that g++ does not like: it names lines."""
        for attempt in range(8):
            built = [b for b in self.built if b.met is None]
            library = self._compile(built, f"batch_{attempt}")
            if library is not None or not built:
                return library
            begin = 1 + _HEADER.count("\n") + 1
            named = {
                int(n) for n in re.findall(rf"batch_{attempt}\.cpp:(\d+):\d+: error", self.said)
            }
            for b in built:
                end = begin + b.source.count("\n") + 1
                if any(begin <= line < end for line in named):
                    b.met = Outcome("internal", "compiler-failed", self.said[:800])
                begin = end
        raise RuntimeError(f"no program is to blame:\n{self.said[:2000]}")

    @staticmethod
    def _execute(built: _Built) -> None:
        try:
            built.executor = built.program.executor()
            built.arrays = built.program.arrays(built.executor.parameters)
            built.want = built.executor.run(built.arrays, built.program.numbers)
        except ProgramFault as fault:
            built.met = Outcome("meaningless", fault.kind, str(fault))
        except Exception as error:  # a mistake of the generator or of the executor
            trace = traceback.format_exc()[-1500:]
            built.met = Outcome("internal", f"executor-{type(error).__name__}", trace)

    def _lower(self, number: int, built: _Built) -> None:
        import tile_passes
        from tile_ir.nodes import Func as _Func

        try:
            traced = _traced(built.program.text, self.folder, f"program_{number}")
            left = LEFT_BY_DEVELOPERS if "threads=" in built.program.text else LEFT
            options = tile_passes.PassOptions(automatic=left)
            func = tile_passes.run_pipeline(traced, DEFAULT_TARGET, options).func
            prove(traced, func, DEFAULT_TARGET)
            assert isinstance(func, _Func)
            text = emit(func, DEFAULT_TARGET) + entry_source(func)
            built.func = func
            built.source = _numbered(text, func.name)
        except KernelError as error:
            built.met = Outcome("refused", error.slug, str(error))
        except IRError as error:
            built.met = Outcome("internal", error.slug, str(error))
        except Exception as error:  # whatever the compiler raises is an outcome
            trace = traceback.format_exc()[-1500:]
            built.met = Outcome("internal", type(error).__name__, f"{error}\n{trace}")

    said = ""

    def _compile(self, built: Sequence[_Built], name: str) -> Path | None:
        source, library = self.folder / f"{name}.cpp", self.folder / f"{name}.so"
        source.write_text("\n".join([_HEADER, *(b.source for b in built)]))
        includes = [f"-I{include_directory()}", f"-I{DEVICE_HEADER_DIR}"]
        compiler = shlex.split(os.environ.get(COMPILER, "")) or find_compiler()
        command = [*compiler, *FLAGS, "-O0", *includes, str(source), "-o", str(library)]
        done = remember_compilation.run(command, capture_output=True, text=True)
        self.said = done.stderr
        return library if done.returncode == 0 else None

    def _run(self, built: _Built, library: Path | None) -> Outcome:
        func, executor, program = built.func, built.executor, built.program
        assert func is not None and executor is not None and library is not None
        module, signature = launcher(), signature_of(func, len(func.params))
        names = [*(p.name for p in signature.params), *signature.symbols]
        kernel = module.Kernel(
            str(library), f"tile_entry_{func.name}", launcher_kinds(signature), names
        )
        kernel.set_options(
            checks=module.CHECKS_STRICT,
            threads=1,
            cube_cores=DEFAULT_TARGET.cube_cores,
            vector_cores=DEFAULT_TARGET.vector_cores,
            timeout=RUN_SECONDS,
        )
        by_name = {p.name: p for p in executor.parameters}
        values: list[Any] = []
        kept: dict[str, Any] = {}
        workspaces = []
        for p in signature.params:
            declared = by_name.get(p.name)
            if declared is None:  # a workspace of the compiler's
                size = int(np.prod([_size(d, program) for d in p.dims])) * max(p.dtype.bits // 8, 1)
                workspaces.append(np.full(size, 0xCC, np.uint8))
                values.append(workspaces[-1])
            elif declared.shape is None:
                values.append(program.numbers[p.name])
            else:
                kept[p.name] = stored(built.arrays[p.name], declared.dtype)
                values.append(kept[p.name])
        symbols = [program.symbols[s] for s in signature.symbols]
        arrays = [isinstance(v, np.ndarray) for v in values]
        pointers = tuple(v.ctypes.data if a else v for v, a in zip(values, arrays, strict=True))
        sizes = tuple(v.nbytes if a else 0 for v, a in zip(values, arrays, strict=True))
        error, printed = kernel.run((*pointers, *symbols), (*sizes, *(0 for _ in symbols)))
        if error is not None and error.kind == "misaligned" and executor.starts_inside_blocks:
            return Outcome("refused", "misaligned", error.text)
        if error is not None:
            return Outcome("finding", error.kind, f"{error.text} ({error.api}, line {error.line})")
        for p in executor.parameters:
            if p.shape is None:
                continue
            got = loaded(kept[p.name], p.shape, p.dtype)
            told = difference(got, built.want.arrays[p.name], p.dtype, built.want.inexact)
            if told:
                return Outcome("differ", "", f"{p.name}{told}")
        return Outcome("same")


def _size(dim: Any, program: Program) -> int:
    if isinstance(dim, int):
        return dim
    if isinstance(dim, str):
        return int(program.symbols[dim])
    raise BuildError("workspace", f"a size of {dim}")


def _traced(text: str, folder: Path, name: str) -> Func:
    path = folder / f"{name}.py"
    path.write_text(text.replace("def kernel(", f"def {name}("))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    func: Func = getattr(module, name)
    return func


def _numbered(text: str, name: str) -> str:
    text = re.sub(r"^#include.*$", "", text, flags=re.M)
    text = re.sub(r"\bcall\b", f"call_{name}", text)
    return re.sub(r"\btile_entry\b", f"tile_entry_{name}", text)
