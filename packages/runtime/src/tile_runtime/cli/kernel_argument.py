"""A kernel named on the command line: a `.tir` file, `-`, or `script.py:name`."""

from __future__ import annotations

import argparse
import ast
import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tile_ir import TARGETS, Func, KernelError, Target, did_you_mean, parse
from tile_runtime.script_module import load_script


def read_ir(name: str) -> Func:
    """The function in a file of textual IR; `-` is standard input."""
    if name == "-":
        return parse(sys.stdin.read(), "<stdin>")
    return parse(Path(name).read_text(), name)


def add_kernel_arguments(parser: argparse.ArgumentParser) -> None:
    """The option that gives a factory its arguments."""
    parser.add_argument(
        "-a",
        "--arg",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="argument of the factory, a Python literal or a word; may be repeated",
    )


def parse_arguments(given: Sequence[str]) -> dict[str, Any]:
    """`M=1024`, `dtype=float16`: literals where they are some, else strings."""
    values: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise KernelError("kernel-arguments", f"{text!r} is not of the form name=value")
        try:
            values[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            values[name] = value
    return values


def read_kernel(name: str, arguments: Mapping[str, Any] | None = None) -> Func:
    """The function a command line names; `arguments` go to a factory.

    Raises KernelError if the script has no such function or it gives no kernel.
    """
    script, colon, attribute = name.rpartition(":")
    if not colon or not script.endswith(".py"):
        if name.endswith(".py"):
            raise KernelError(
                "no-kernel-name", f"{name} is a script", hint=f"name its kernel: {name}:kernel"
            )
        return read_ir(name)
    module = load_script(Path(script))
    if not hasattr(module, attribute):
        names = [n for n, v in vars(module).items() if callable(v) or isinstance(v, Func)]
        raise KernelError(
            "no-such-kernel",
            f"{script} has no `{attribute}`",
            hint=did_you_mean(attribute, names),
        )
    return _func_of(getattr(module, attribute), name, arguments or {})


def _func_of(value: Any, name: str, arguments: Mapping[str, Any]) -> Func:
    if isinstance(value, Func):
        return value
    # The factory itself, not its jit wrapper: nothing needs to be compiled.
    factory = inspect.unwrap(value) if callable(value) else None
    if factory is None:
        raise KernelError("no-such-kernel", f"{name} is a {type(value).__name__}")
    required = [
        p.name
        for p in inspect.signature(factory).parameters.values()
        if p.default is p.empty
        and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        and p.name not in arguments
    ]
    unknown = [a for a in arguments if a not in inspect.signature(factory).parameters]
    if unknown:
        raise KernelError(
            "kernel-arguments",
            f"{name} has no argument {unknown[0]!r}",
            hint=did_you_mean(unknown[0], inspect.signature(factory).parameters),
        )
    if required:
        raise KernelError(
            "kernel-arguments",
            f"{name} needs arguments: {', '.join(required)}",
            hint=f"give them: -a {required[0]}=... for each",
        )
    result = factory(**arguments)
    func = result if isinstance(result, Func) else getattr(result, "prim_func", None)
    if not isinstance(func, Func):
        raise KernelError(
            "no-such-kernel", f"{name} returned a {type(result).__name__}, expected a prim_func"
        )
    return func


def target_named(name: str) -> Target:
    """A chip by name, for `--target`. Raises KernelError for an unknown one."""
    if name not in TARGETS:
        raise KernelError(
            "soc",
            f"no chip is called {name!r}",
            hint=did_you_mean(name, TARGETS) or f"one of {', '.join(TARGETS)}",
        )
    return TARGETS[name]
