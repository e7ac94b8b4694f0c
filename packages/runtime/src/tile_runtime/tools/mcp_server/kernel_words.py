"""Name the kernel of a source as a command line does: `FILE:KERNEL` and `-a NAME=VALUE`."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tile_ir import CallError
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.tools.mcp_server.run_command import SOURCE

_IR = re.compile(r"\s*(file \d|func \")")
# Decorators of kernels: a factory is meant where there are both.
_DECORATORS = ("jit", "prim_func")


@dataclass(frozen=True, slots=True)
class KernelWords:
    """How a command line names a kernel, and the name of a file that may hold its source."""

    words: tuple[str, ...]
    name: str


def kernel_words(
    text: str | None, file: str, kernel: str, arguments: Mapping[str, Any] | None
) -> KernelWords:
    """The words for a kernel of a text or of a file. Without a name it is the only one there.

    Raises CallError where there is neither text nor file, or not exactly one kernel.
    """
    if text is None and not file:
        raise CallError("no-source", "neither text nor file is given", hint="pass text=...")
    if (text is None and not file.endswith(".py")) or (text is not None and _IR.match(text)):
        return KernelWords((SOURCE,), "kernel.tir")
    named = kernel or _only_kernel(Path(file).read_text() if text is None else text)
    given = [
        word for name, value in (arguments or {}).items() for word in ("-a", f"{name}={value!r}")
    ]
    return KernelWords((f"{SOURCE}:{named}", *given), "kernel.py")


def _only_kernel(text: str) -> str:
    """The kernel of a script that has one. CallError for one with none or several."""
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        line = f"line {error.lineno}: {error.msg}"
        raise CallError("script-syntax", f"the script is no Python: {line}") from None
    functions = [node for node in body if isinstance(node, ast.FunctionDef)]
    for decorator in _DECORATORS:
        found = [
            f.name for f in functions if any(decorator in ast.unparse(d) for d in f.decorator_list)
        ]
        if len(found) == 1:
            return found[0]
        if found:
            raise CallError(
                "kernel-name", f"the script has several kernels: {', '.join(found)}",
                hint=f"name one: kernel={found[0]!r}",
            )  # fmt: skip
    raise CallError("kernel-name", "the script has no function decorated by T.jit or T.prim_func")
