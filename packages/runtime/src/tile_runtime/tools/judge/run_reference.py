"""Run the reference on the inputs of the cases: a job in a process that no candidate shares."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tile_ir import KernelError
from tile_ir.switches import override
from tile_runtime.scripts.module import provide_imports_of
from tile_runtime.tools.judge.case_inputs import make_inputs, packed
from tile_runtime.tools.judge.find_candidate import execute


def run_reference(request: dict[str, Any], data: bytes, send: Callable[..., None]) -> None:
    """Send `expected` for each case, or `reference-failed` with the problem."""
    path, text = Path(request["file"]), request["text"]
    copy = Path(request["scratch"]) / "reference.py"
    copy.write_text(text)
    provide_imports_of([copy])
    try:
        with override(target="none", cache=False), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = execute(path, text)
        function = values.get(request["function"])
        if not callable(function):
            raise KernelError(
                "judge-reference", f"{path.name} has no function `{request['function']}`"
            )
        for case in request["cases"]:
            began = time.perf_counter()
            inputs = make_inputs(case["recipe"], case["seed"])
            found = _expected(function, inputs, case["recipe"], request["arguments"])
            described, blob = packed(found)
            seconds = time.perf_counter() - began
            send({"event": "expected", "number": case["number"], "outputs": described,
                  "seconds": seconds}, blob)  # fmt: skip
    except MemoryError:
        raise
    except Exception as error:  # of the reference's own
        send({"event": "reference-failed", "problem": f"{type(error).__name__}: {error}"[:2000]})


def _expected(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    recipe: Sequence[Mapping[str, Any]],
    named: Mapping[str, Any],
) -> list[Any]:
    """The results of the function. It takes all inputs, or those that the kernel only reads; other
    parameters are arguments of the factory by name. Where it returns nothing, it has written the
    results where the kernel does."""
    only_read = [x for x, one in zip(inputs, recipe, strict=True) if not one.get("written")]
    parameters = inspect.signature(function).parameters
    for given in (list(inputs), only_read):
        by_name = {n: v for n, v in named.items() if n in [*parameters][len(given) :]}
        try:
            inspect.signature(function).bind(*given, **by_name)
        except TypeError:
            continue
        found = function(*given, **by_name)
        if found is None:
            return [x for x, one in zip(inputs, recipe, strict=True) if one.get("written")]
        return list(found) if isinstance(found, (list, tuple)) else [found]
    raise KernelError(
        "judge-reference",
        f"`{function.__name__}{inspect.signature(function)}` takes neither the {len(inputs)} "
        f"inputs of the kernel nor the {len(only_read)} that it only reads",
    )
