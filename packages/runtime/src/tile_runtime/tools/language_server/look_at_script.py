"""Look at a script in this process, and describe what was seen.

The text is executed as the module of that file, up to the first kernel that would run: the switch
`target` is none.
"""

from __future__ import annotations

import inspect
import linecache
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from tile_ir import Diagnostic, Func, KernelError, LaunchSequence, Loc, TileError, print_func
from tile_ir.diagnostics.errors import KernelWarning
from tile_ir.switches import override
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.jit_kernels.kernel_name import call_name
from tile_runtime.jit_kernels.sequence_kernel import SequenceKernel
from tile_runtime.jit_kernels.watch_kernels import watch_kernels
from tile_runtime.scripts.module import provide_imports_of
from tile_runtime.tools.command_line.check import checked
from tile_runtime.tools.command_line.finding_formats import found_by
from tile_runtime.tools.command_line.kernel_argument import (
    NamedKernel,
    kernel_as_compiled,
    named_kernel,
)
from tile_runtime.tools.language_server.factory_sizes import calls_of
from tile_runtime.tools.language_server.kernel_facts import kernel_seen
from tile_runtime.tools.language_server.seen import (
    SeenFactory,
    SeenFinding,
    SeenKernel,
    SeenNote,
    SeenScript,
    as_json,
)


def look_at(path: Path, text: str) -> SeenScript:
    """Collect all findings and kernels of a script with this text, whatever the file holds."""
    with override(target="none", cache=False), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        looked = _Looked(path, text)
        looked.look()
    remarks = [w.message.remark for w in told if isinstance(w.message, KernelWarning)]
    findings = [*looked.findings, *(_finding(remark) for remark in remarks)]
    return SeenScript(tuple(dict.fromkeys(findings)), tuple(looked.kernels), tuple(looked.unsized))


class _Looked:
    """The findings and kernels collected so far."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path, text
        self.findings: list[SeenFinding] = []
        self.kernels: list[SeenKernel] = []
        self.unsized: list[SeenFactory] = []

    def look(self) -> None:
        with watch_kernels() as compiled:
            values = self._execute()
        found: dict[tuple[Loc, str], NamedKernel] = {}
        for name, value in values.items():
            try:
                for kernel in self._kernels_of(name, value, values):
                    found.setdefault(_identity(kernel), kernel)
            except TileError as error:
                self.findings += map(_finding_and_notes, found_by(error))
            except Exception as error:  # of the factory's own
                self.findings.append(self._exception(error))
        for kernel in (k for made in compiled for k in _launches(made)):
            found.setdefault(_identity(kernel), kernel)
        for kernel in found.values():
            if os.path.abspath(kernel.func.loc.file) == str(self.path):
                self._look_at_kernel(kernel)

    def _look_at_kernel(self, kernel: NamedKernel) -> None:
        try:
            # For how many ranks is asked of the command line.
            result = checked(kernel, ranks=())
        except TileError as error:
            self.findings += map(_finding_and_notes, found_by(error))
            return
        self.findings += map(_finding, (*result.func.remarks, *result.found))
        self.kernels.append(kernel_seen(kernel, result.func))

    def _execute(self) -> dict[str, Any]:
        """The names of the module, as far as it came."""
        text, path = self.text, self.path
        linecache.cache[str(path)] = (len(text), None, text.splitlines(keepends=True), str(path))
        module = ModuleType(path.stem)
        module.__file__ = str(path)
        sys.modules[path.stem] = module
        sys.path.insert(0, str(path.parent))
        try:
            code = compile(text, str(path), "exec", dont_inherit=True)
            exec(code, vars(module))
        except KernelError as error:
            if error.slug != "not-run":
                self.findings += map(_finding_and_notes, found_by(error))
        except TileError as error:
            self.findings += map(_finding_and_notes, found_by(error))
        except SystemExit:
            pass
        except Exception as error:  # whatever the script raises is its own
            self.findings.append(self._exception(error))
        return dict(vars(module))

    def _kernels_of(
        self, name: str, value: Any, values: Mapping[str, Any]
    ) -> Iterator[NamedKernel]:
        """The kernels that a name of the script stands for; of a factory, for the arguments that
        the text says."""
        if isinstance(value, JITKernel):
            yield from _launches(value)
        elif isinstance(value, Func):
            yield named_kernel(value)
        elif isinstance(value, LaunchSequence):
            yield from map(named_kernel, value.funcs)
        elif hasattr(value, "__jit_impl__") or getattr(value, "mode", None) == "eager":
            function = inspect.unwrap(getattr(value, "func", value))
            if function.__code__.co_filename == str(self.path):
                yield from self._kernels_of_factory(name, value, function, values)

    def _kernels_of_factory(
        self, name: str, factory: Any, function: Any, values: Mapping[str, Any]
    ) -> Iterator[NamedKernel]:
        signature = getattr(factory, "signature", None) or inspect.signature(function)
        impl = getattr(factory, "__jit_impl__", factory)
        for given, named in (*calls_of(name, self.text, values), ([], {})):
            try:
                bound = signature.bind(*given, **named).arguments
            except TypeError:
                continue
            traced, options = impl.traced(**bound)
            called = call_name(function, (), bound)
            funcs = traced.funcs if isinstance(traced, LaunchSequence) else [traced]
            yield from (named_kernel(f, options, called) for f in funcs if isinstance(f, Func))
            return
        missing = [p.name for p in signature.parameters.values() if p.default is p.empty]
        self.unsized.append(SeenFactory(name, function.__code__.co_firstlineno, tuple(missing)))

    def _exception(self, error: Exception) -> SeenFinding:
        message = f"{type(error).__name__}: {error}"
        return _seen(str(self.path), self._line_of(error), 1, "python-error", message)

    def _line_of(self, error: BaseException) -> int:
        """The last line of the script on the way to an error."""
        line, trace = 1, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == str(self.path):
                line = trace.tb_lineno
            trace = trace.tb_next
        return line


def _launches(kernel: JITKernel) -> list[NamedKernel]:
    launches = kernel.launches if isinstance(kernel, SequenceKernel) else [kernel]
    return [kernel_as_compiled(launch) for launch in launches]


def _identity(kernel: NamedKernel) -> tuple[Loc, str]:
    """Equal for kernels that a factory and the script itself have made."""
    return kernel.func.loc, print_func(kernel.func)


def _seen(file: str, line: int, column: int, slug: str, message: str) -> SeenFinding:
    return SeenFinding(file, line, column, "error", slug, message, "")


def _finding_and_notes(found: Any) -> SeenFinding:
    return _finding(found.diagnostic, found.notes)


def _finding(diagnostic: Diagnostic, notes: tuple[Diagnostic, ...] = ()) -> SeenFinding:
    return SeenFinding(
        *_place(diagnostic.loc),
        diagnostic.severity,
        diagnostic.slug,
        diagnostic.message,
        diagnostic.hint or "",
        tuple(SeenNote(*_place(note.loc), note.message) for note in notes),
    )


def _place(loc: Loc | None) -> tuple[str, int, int]:
    if loc is None:
        return "", 1, 1
    return os.path.abspath(loc.file), loc.line, loc.column


def look(request: dict[str, Any], data: bytes, send: Callable[..., None]) -> None:
    """Look at a text in a child process, and send what was seen."""
    path, text = Path(request["path"]), request["text"]
    sys.argv = [str(path)]
    provide_imports_of([path] if path.is_file() else [])
    send({"event": "seen", "script": as_json(look_at(path, text))})
