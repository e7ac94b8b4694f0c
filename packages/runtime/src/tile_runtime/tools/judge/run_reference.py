"""Run the reference on the inputs of the cases: a job in a process that no candidate shares."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tile_ir import KernelError, TileError, did_you_mean
from tile_ir.switches import override
from tile_runtime.child_processes.fence import is_out_of_memory
from tile_runtime.scripts.module import provide_imports_of
from tile_runtime.scripts.packed_results import packed
from tile_runtime.tools.judge.case_inputs import make_inputs
from tile_runtime.tools.judge.find_candidate import execute

Send = Callable[..., None]


def run_reference(request: dict[str, Any], data: bytes, send: Send) -> None:
    """Send `expected` for each case, or `reference-failed` with the problem."""

    def run(values: Mapping[str, Any]) -> None:
        function = _function(values, request["function"])
        for case in request["cases"]:
            recipe = case["recipe"]
            inputs = (
                supplied(values, case["seed"], case["named"])
                if "named" in case
                else make_inputs(recipe, case["seed"])
            )
            found = expected_results(
                function, inputs, recipe, request["arguments"], case["returned"]
            )
            described, blob = packed(found)
            send({"event": "expected", "number": case["number"], "outputs": described}, blob)

    _with_values(request, send, run)


def supply_inputs(request: dict[str, Any], data: bytes, send: Send) -> None:
    """Send `supplied` for each case: the inputs that the function `inputs` of the reference gives;
    or `reference-failed`."""

    def run(values: Mapping[str, Any]) -> None:
        for number, case in enumerate(request["cases"]):
            described, blob = packed(supplied(values, case["seed"], case["named"]))
            send({"event": "supplied", "number": number, "inputs": described}, blob)

    _with_values(request, send, run)


def supplied(values: Mapping[str, Any], seed: int, named: Mapping[str, Any]) -> list[Any]:
    """The inputs that a reference makes for a seed and for those of the named values it takes."""
    function = _function(values, "inputs")
    parameters = inspect.signature(function).parameters
    return list(function(**{n: v for n, v in {**named, "seed": seed}.items() if n in parameters}))


def _with_values(
    request: dict[str, Any], send: Send, run: Callable[[Mapping[str, Any]], None]
) -> None:
    """Execute the file of a reference and pass its definitions to `run`."""
    path, text = Path(request["file"]), request["text"]
    copy = Path(request["scratch"]) / "reference.py"
    copy.write_text(text)
    provide_imports_of([copy])
    try:
        with override(target="none", cache=False), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run(execute(path, text))
    except Exception as error:  # of the reference's own
        if is_out_of_memory(error):
            raise
        problem = str(error) if isinstance(error, TileError) else f"{type(error).__name__}: {error}"
        send({"event": "reference-failed", "problem": problem[:2000]})


def _function(values: Mapping[str, Any], name: str) -> Callable[..., Any]:
    found: Callable[..., Any] | None = values.get(name)
    if found is None or not callable(found):
        functions = [each for each, value in values.items() if inspect.isfunction(value)]
        raise KernelError(
            "judge-reference",
            f"the reference has no function `{name}`",
            hint=did_you_mean(name, functions),
        )
    return found


def expected_results(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    recipe: Sequence[Mapping[str, Any]],
    named: Mapping[str, Any],
    returned: int,
) -> list[Any]:
    """The results of the function. It takes all inputs, or those that the kernel only reads; other
    parameters are arguments of the factory by name. Where it returns nothing, it has written the
    results where the kernel does. Where both return so many results, and the function takes all
    inputs, those that the kernel writes follow, as the function leaves them."""
    import numpy as np
    import torch

    pairs = list(zip(inputs, recipe, strict=True))
    only_read = [x for x, one in pairs if not one.get("written")]
    written = [x for x, one in pairs if one.get("written")]
    parameters = inspect.signature(function).parameters
    for given, changed in ((list(inputs), written), (only_read, [])):
        by_name = {n: v for n, v in named.items() if n in [*parameters][len(given) :]}
        try:
            inspect.signature(function).bind(*given, **by_name)
        except TypeError:
            continue
        found = function(*given, **by_name)
        if found is None:
            return written
        results = list(found) if isinstance(found, (list, tuple)) else [found]
        results += changed if len(results) == returned else []
        return [torch.from_numpy(x) if isinstance(x, np.ndarray) else x for x in results]
    raise KernelError(
        "judge-reference",
        f"`{function.__name__}{inspect.signature(function)}` takes neither the {len(inputs)} "
        f"inputs of the kernel nor the {len(only_read)} that it only reads",
    )
