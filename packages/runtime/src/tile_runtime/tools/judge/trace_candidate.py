"""Execute a candidate and send its kernel as text: the only job that runs code that is not trusted.

Its messages decide one fact only: the text to compile.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tile_ir import Buffer, KernelError, TileError, did_you_mean
from tile_ir.switches import override
from tile_runtime.child_processes.fence import is_out_of_memory
from tile_runtime.scripts.module import provide_imports_of
from tile_runtime.tools.command_line.finding_formats import finding_data, found_by
from tile_runtime.tools.judge.find_candidate import (
    FoundKernel,
    Traced,
    execute,
    find_candidate,
)
from tile_runtime.tools.judge.library_state import (
    first_functions,
    library_functions,
    replaced_functions,
)
from tile_runtime.tools.judge.request import REFERENCES
from tile_runtime.tools.judge.sizes import (
    GIVEN,
    SizedCase,
    argument_cases,
    size_arguments,
    sized,
)
from tile_runtime.tools.judge.watch_calls import watch_calls

# As much of a message is handed on.
_MOST_WORDS = 2000


def trace_candidate(request: dict[str, Any], data: bytes, send: Callable[..., None]) -> None:
    """Send `traced` with the kernels of all cases, or `refused` with the findings; and whatever the
    candidate does that is forbidden, as it does it."""
    path, text = Path(os.path.abspath(request["file"])), request["text"]
    copy = Path(request["scratch"]) / "candidate.py"
    copy.write_text(text)
    changed = provide_imports_of([copy])
    before = library_functions() if changed else first_functions()
    watch_calls(send, request["scratch"], request["reference_file"])
    sys.argv = [str(path)]
    began = time.perf_counter()
    try:
        with override(target="none", cache=False), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _cases(path, text, request, send)
    except TileError as error:
        told = [finding_data(each) for each in found_by(error)]
        findings = [{**one, "message": one["message"][:_MOST_WORDS]} for one in told]
        send({"event": "refused", "slug": error.slug, "findings": findings})
    except MemoryError:
        raise
    except Exception as error:  # of the candidate's own
        if is_out_of_memory(error):
            raise MemoryError from error
        send({"event": "refused", "slug": "python-error", "findings": [_finding(error, path)]})
    else:
        send({"event": "traced", **found, "seconds": time.perf_counter() - began})
    if replaced := replaced_functions(before, str(path)):
        send({"event": "replaced", "names": replaced[:8]})


def _cases(
    path: Path, text: str, request: dict[str, Any], send: Callable[..., None]
) -> dict[str, Any]:
    """The kernels of all cases, printed, those of the first arguments first."""
    values = execute(path, text)
    for name in {*REFERENCES, request["reference"]} & values.keys():
        values[name] = _refusing(name, send)
    arguments = request["arguments"]
    candidate = find_candidate(path, text, values, request["kernel"], arguments)
    first = candidate.trace(candidate.arguments)
    if request["own_sizes"]:
        _check_sizes(candidate, first, request["sizes"])
    kernels = [_printed(sized(GIVEN, {}), first)]
    refused: list[dict[str, Any]] = []
    for alternatives in _wanted(candidate, first, request):
        for case in alternatives:
            own = {n: v for n, v in case.sizes if n in candidate.arguments}
            rest = {n: v for n, v in case.sizes if n not in own}
            if not own:  # other symbols of the same kernel
                kernels[0]["symbols"].append(rest)
                break
            try:
                traced = candidate.trace({**candidate.arguments, **own})
            except Exception as error:  # of the factory's own: it may refuse sizes
                problem = f"{type(error).__name__}: {error}"
                refused.append({"kind": case.kind, "sizes": case.named, "message": problem[:500]})
                continue
            kernels.append({**_printed(case, traced), "symbols": [rest] if rest else []})
            break
    plain = {n: v for n, v in candidate.arguments.items() if type(v) in (int, float, bool, str)}
    return {
        "name": candidate.name, "kernels": kernels, "refused": refused, "arguments": plain,
    }  # fmt: skip


def _check_sizes(candidate: FoundKernel, first: Traced, given: Sequence[Mapping[str, Any]]) -> None:
    """Raise KernelError for a size with a name that the kernel does not have."""
    func = first[0]
    scalars = (p.name for p in func.params if not isinstance(p, Buffer))
    known = [*candidate.arguments, *(s.name for s in func.symbols), *scalars]
    for name in (name for sizes in given for name in sizes if name not in known):
        raise KernelError(
            "judge-sizes",
            f"--shapes {name}=...: `{candidate.name}` has no argument or symbol `{name}`",
            hint=did_you_mean(name, known) or f"it has {', '.join(known)}",
        )


def _wanted(
    candidate: FoundKernel, first: Traced, request: dict[str, Any]
) -> list[list[SizedCase]]:
    """The cases besides the first, in lists of alternatives."""
    wanted = [[sized(GIVEN, sizes)] for sizes in request["sizes"]]
    if candidate.is_factory and (request["edges"] or request["every_size"]):
        edges = size_arguments(
            candidate.arguments, first[1].inputs, lambda given: candidate.trace(given)[1].inputs
        )
        count = request["random"] if request["every_size"] else 0
        wanted += argument_cases(
            candidate.arguments, edges, request["edges"], count, request["seed"]
        )
    return wanted


def _printed(case: SizedCase, traced: Traced) -> dict[str, Any]:
    return {"kind": case.kind, "sizes": case.named, "symbols": [], "kernel": traced[1].to_json()}


def _refusing(name: str, send: Callable[..., None]) -> Callable[..., Any]:
    """A function in place of the reference: a kernel does not need it."""

    def refuse(*arguments: object, **named: object) -> None:
        send({"event": "cheating", "slug": "calls-reference", "what": f"calls `{name}`"})
        raise KernelError("calls-reference", f"the kernel calls the reference `{name}`")

    return refuse


def _finding(error: Exception, path: Path) -> dict[str, Any]:
    """An exception of the candidate, at its last line on the way to it."""
    line, trace = 1, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename == str(path):
        line = error.lineno or line
    return {
        "kind": "python-error", "severity": "error", "file": str(path), "line": line, "column": 1,
        "message": f"{type(error).__name__}: {error}"[:_MOST_WORDS], "hint": None, "block": None,
        "core": None, "api": None, "places": [],
    }  # fmt: skip
