"""Run the kernels of a script: as a program, then those that comments
`# tile-ascend: softmax(M=64, N=128)` name, with inputs of random numbers.

An exception and an exit status other than 0 are findings. A kernel that a comment names is compared
with the function `reference` or `ref_program` of the script.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_ir import Diagnostic, KernelWarning, TileError
from tile_ir.quick_dataclasses import dataclass, replace
from tile_runtime.launcher.run_watchers import record_calls
from tile_runtime.scripts.compare_results import compare_tensors
from tile_runtime.scripts.module import load_script, module_in_package, run_as_main
from tile_runtime.tools.command_line.finding_formats import Found, found_by
from tile_runtime.tools.command_line.kernel_argument import kernel_of_value
from tile_runtime.tools.continuous_integration.file_result import FileResult, KernelTime
from tile_runtime.tools.continuous_integration.places import below, not_run, raised_in, relative
from tile_runtime.tools.judge.case_inputs import input_recipe, make_inputs
from tile_runtime.tools.judge.request import REFERENCES
from tile_runtime.tools.judge.run_reference import expected_results
from tile_runtime.tools.language_server.factory_sizes import calls_of

if TYPE_CHECKING:
    from tile_runtime.jit_kernels.kernel import JITKernel

_COMMENT = re.compile(r"#\s*tile-ascend:.*")
_SEED = 0
_KERNEL = re.compile(r"\bKernel\s*\(")


def run_script_file(file: str, text: str) -> FileResult:
    """Run a script below the current folder."""
    launches: dict[tuple[str, str], list[KernelTime]] = {}
    names: set[str] = set()

    def ran(kernel: JITKernel, call: Any, inputs: Sequence[Any]) -> None:
        names.add(kernel.name)
        time = _time_of(kernel, inputs)
        if time is not None:
            launches.setdefault((time.kernel, time.sizes), []).append(time)

    found: list[Found] = []
    with warnings.catch_warnings(record=True) as told, record_calls(ran):
        warnings.simplefilter("always", KernelWarning)
        with _noting(file, found):
            _execute(Path(file))
        with _noting(file, found):
            for one in _commented(file, text) if not found else ():
                with _noting(file, found):
                    kernel = one.make()
                    if kernel.name not in names:
                        found += _compared(one, kernel)
    remarks = [w.message.remark for w in told if isinstance(w.message, KernelWarning)]
    found += (relative(Found(remark)) for remark in remarks)
    if not (names or found) and _KERNEL.search(text):
        found.append(not_run(file, f"{file} launches no kernel", "# tile-ascend: kernel(M=64)"))
    return FileResult(file, tuple(map(_mean, launches.values())), tuple(dict.fromkeys(found)))


def _execute(path: Path) -> None:
    """Run a script as a program; what makes a folder a package is imported."""
    if path.stem == "__init__":
        load_script(path, package=True)
    else:
        run_as_main(path, module_in_package(path))


@contextmanager
def _noting(file: str, found: list[Found]) -> Iterator[None]:
    """Add what the block raises to the findings."""
    try:
        yield
    except TileError as error:
        found += map(relative, found_by(error))
    except SystemExit as stop:
        if stop.code not in (None, 0):
            said = f"the script ended with status {stop.code}"
            found.append(raised_in(file, "exit-status", said, stop))
    except AssertionError as error:
        said = " ".join(str(error).split()) or "the assertion failed"
        found.append(raised_in(file, "wrong-result", said, error))
    except Exception as error:  # whatever the script raises is its own
        found.append(raised_in(file, "python-error", f"{type(error).__name__}: {error}", error))


def _time_of(kernel: JITKernel, inputs: Sequence[Any]) -> KernelTime | None:
    """The modelled time of a launch that has just ended."""
    timeline, func = kernel.timeline(), kernel.prim_func
    if timeline is None:
        return None
    shapes = ("x".join(map(str, x.shape)) for x in inputs if hasattr(x, "shape"))
    sizes = ", ".join(shapes) if func.symbols else ""
    return KernelTime(
        kernel.name, sizes, below(func.loc.file), func.loc.line, func.loc.column,
        kernel.source_hash, timeline.microseconds, 1,
    )  # fmt: skip


def _mean(times: Sequence[KernelTime]) -> KernelTime:
    mean = sum(time.microseconds for time in times) / len(times)
    return replace(times[-1], microseconds=mean, launches=len(times))


@dataclass(frozen=True, slots=True)
class _Commented:
    """A kernel that a comment names: the arguments of its factory, the numbers for its symbolic
    sizes and scalars, and the function of the script that computes the same."""

    make: Callable[[], JITKernel]
    arguments: Mapping[str, Any]
    numbers: Mapping[str, Any]
    reference: Callable[..., Any] | None


def _commented(file: str, text: str) -> Iterator[_Commented]:
    """The kernels that comments of a script name."""
    comments = "\n".join(_COMMENT.findall(text))
    names = dict.fromkeys(re.findall(r"(\w+)\s*\(", comments))
    if not names:
        return
    values = vars(load_script(Path(file), package=True))
    reference = next((values[name] for name in REFERENCES if name in values), None)
    for name in names:
        if name not in values:
            continue
        value = values[name]
        for given, named in calls_of(name, comments, values):
            arguments, numbers = _divided(value, given, named)
            make = partial(_made, value, f"{file}:{name}", arguments)
            yield _Commented(make, arguments, numbers, reference)


def _made(value: Any, name: str, arguments: Mapping[str, Any]) -> JITKernel:
    return kernel_of_value(value, name, arguments, ()).make()


def _divided(
    value: Any, given: Sequence[Any], named: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of a factory, and the numbers that are for its kernel."""
    function = inspect.unwrap(getattr(value, "func", value))
    names = list(inspect.signature(function).parameters) if inspect.isroutine(function) else []
    arguments = dict(zip(names, given, strict=False))
    arguments |= {name: value for name, value in named.items() if name in names}
    return arguments, {name: value for name, value in named.items() if name not in names}


def _compared(one: _Commented, kernel: JITKernel) -> list[Found]:
    """Run a kernel on random numbers; a finding where the reference has other results."""
    recipe = input_recipe(kernel, one.numbers)
    inputs = make_inputs(recipe, _SEED)
    results = kernel(*inputs)
    if one.reference is None:
        return []
    copies = make_inputs(recipe, _SEED)  # the same again, which the kernel has not written
    returned = results if isinstance(results, list) else [] if results is None else [results]
    expected = expected_results(one.reference, copies, recipe, one.arguments, len(returned))
    if len(expected) != len(returned):
        returned += [x for x, told in zip(inputs, recipe, strict=True) if told.get("written")]
    compared = compare_tensors(returned, expected)
    if compared.right:
        return []
    said = f"{kernel.name} differs from `{one.reference.__name__}`: {compared.message}"
    return [relative(Found(Diagnostic("wrong-result", said, kernel.prim_func.loc)))]
