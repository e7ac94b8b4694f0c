"""A kernel named on the command line: a `.tir` file, `-`, or `script.py:name`.

In all forms the kernel comes with the options its script compiles it with.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_ir import TARGETS, Func, KernelError, LaunchSequence, Target, did_you_mean, parse
from tile_ir.quick_dataclasses import dataclass, replace
from tile_ir.switches import switch
from tile_runtime.options.code_generators import GENERATORS, code_generator, named_generator

if TYPE_CHECKING:
    from tile_ir.code_generator import CodeGenerator
    from tile_passes import PassOptions
    from tile_runtime.jit_kernels.compile_options import CompileOptions
    from tile_runtime.jit_kernels.kernel import JITKernel


@dataclass(frozen=True, slots=True)
class NamedKernel:
    """A kernel as its script compiles it: its text and its options together define the decisions
    left to the compiler. `name` contains the arguments of its factory; `make` gives its kernel
    object."""

    name: str
    func: Func
    target: Target
    generator: CodeGenerator
    passes: PassOptions
    make: Callable[[], JITKernel]

    @property
    def told(self) -> str:
        """Which kernel it is, and with which options it is compiled."""
        from tile_runtime.options.pass_configs import options_text

        options = options_text(self.func.automatic)
        return f"{self.name} for {self.target.name} with {options}"

    def source_of(self, func: Func) -> str | None:
        """The source of its lowered function; None where none is emitted for its chip."""
        from tile_runtime.jit_kernels.build import emitted

        if self.target.ai_core not in self.generator.ai_cores:
            return None
        return emitted(func, self.target, self.generator)

    def for_target(self, name: str | None) -> NamedKernel:
        """The kernel for another chip, or by another code generator, if one is named."""
        if name is None:
            return self
        if name in GENERATORS:
            return replace(self, generator=named_generator(name))
        return replace(self, target=chip_named(name, tuple(GENERATORS)))


def tell(kernel: NamedKernel, source: str | None = None) -> None:
    """Say on standard error what is compiled how, and the hash of its source where it has one."""
    from tile_runtime.cache.fingerprint import source_hash

    told = kernel.told if source is None else f"{kernel.told}; source {source_hash(source)}"
    print(told, file=sys.stderr)


def add_target_argument(parser: argparse.ArgumentParser) -> None:
    """The option that names a chip or a code generator, for `for_target`."""
    parser.add_argument(
        "--target",
        help="chip to compile for, or the code generator to emit with: "
        f"{', '.join(GENERATORS)} (default: as in the script)",
    )


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


def names_a_kernel(name: str) -> bool:
    """Whether the text is `script.py:name`."""
    script, colon, attribute = name.rpartition(":")
    return bool(colon) and script.endswith(".py") and attribute.isidentifier()


def read_kernel(
    name: str, arguments: Mapping[str, Any] | None = None, stands_for: Path | None = None
) -> NamedKernel:
    """The kernel a command line names; `arguments` go to a factory. A copy of a script may stand
    for it.

    Raises KernelError if the script has no such function or it gives no kernel.
    """
    if not names_a_kernel(name):
        if name.endswith(".py"):
            raise KernelError(
                "no-kernel-name", f"{name} is a script", hint=f"name its kernel: {name}:NAME"
            )
        return named_kernel(_read_ir(name))
    from tile_runtime.jit_kernels.watch_kernels import watch_kernels
    from tile_runtime.scripts.module import load_script

    script, _, attribute = name.rpartition(":")
    with watch_kernels() as compiled:
        module = load_script(Path(script), stands_for)
    if not hasattr(module, attribute):
        names = [n for n, v in vars(module).items() if callable(v) or isinstance(v, Func)]
        raise KernelError(
            "no-such-kernel",
            f"{script} has no `{attribute}`",
            hint=did_you_mean(attribute, names),
        )
    return kernel_of_value(getattr(module, attribute), name, arguments or {}, compiled)


def _read_ir(name: str) -> Func:
    """The function in a file of textual IR; `-` is standard input."""
    if name == "-":
        return parse(sys.stdin.read(), "<stdin>")
    return parse(Path(name).read_text(), name)


def kernel_of_value(
    value: Any, name: str, arguments: Mapping[str, Any], compiled: Sequence[JITKernel]
) -> NamedKernel:
    """The object with a name of a script. `compiled` are the kernels the script has made."""
    from tile_runtime.jit_kernels.kernel import JITKernel
    from tile_runtime.jit_kernels.kernel_name import call_name

    if isinstance(value, LaunchSequence):
        raise value.one_by_one("what this command tells")
    if isinstance(value, (Func, JITKernel)):
        if arguments:
            raise KernelError(
                "kernel-arguments",
                f"{name} is no factory and takes no arguments, found {next(iter(arguments))}=...",
                hint="leave -a out",
            )
        return _of_result(value, compiled)
    if not callable(value):
        raise KernelError(
            "no-such-kernel",
            f"{name} is a {type(value).__name__}, expected a prim_func, a kernel or a factory",
        )
    if getattr(value, "mode", None) == "eager":
        func, options = value.traced(**arguments)
        return named_kernel(func, options, call_name(value.func, (), arguments))
    _check_arguments(value, name, arguments)
    jitted = getattr(value, "__jit_impl__", None)
    # The factory below its jit: not every command needs the kernel to be built.
    result = (value if jitted is None else jitted.func)(**arguments)
    if isinstance(result, LaunchSequence):
        raise result.one_by_one("what this command tells")
    if not isinstance(result, (Func, JITKernel)):
        raise KernelError(
            "no-such-kernel", f"{name} returned a {type(result).__name__}, expected a prim_func"
        )
    if jitted is not None and isinstance(result, Func):
        return named_kernel(result, jitted.options, call_name(jitted.func, (), arguments))
    return _of_result(result, compiled)


def _of_result(value: Func | JITKernel, compiled: Sequence[JITKernel]) -> NamedKernel:
    """A function the script has compiled itself is compiled as it was there, the last time."""
    if isinstance(value, Func):
        as_compiled = [kernel for kernel in compiled if kernel.prim_func is value]
        return kernel_as_compiled(as_compiled[-1]) if as_compiled else named_kernel(value)
    return kernel_as_compiled(value)


def kernel_as_compiled(kernel: JITKernel) -> NamedKernel:
    """A kernel as its script has compiled it."""
    from tile_passes import left_by

    return NamedKernel(
        kernel.name,
        left_by(kernel.prim_func, kernel.passes),
        kernel.target,
        kernel.generator,
        kernel.passes,
        lambda: kernel,
    )


def named_kernel(func: Func, options: CompileOptions | None = None, name: str = "") -> NamedKernel:
    """A function and the arguments of its `jit`; without these the switches alone decide."""

    def make() -> JITKernel:
        from tile_runtime.jit_kernels.compile_options import CompileOptions
        from tile_runtime.jit_kernels.jit_compile import compile_func

        return compile_func(func, options or CompileOptions(), name=name)

    from tile_passes import left_by
    from tile_runtime.options.pass_configs import pass_options

    if options is None:
        target, passes = chip_named(switch("soc")), pass_options(None)
        generator = code_generator()
    else:
        from tile_runtime.jit_kernels.compile_options import resolve_target

        target, passes = resolve_target(options), pass_options(options.pass_configs)
        generator = code_generator(options.target, func.loc)
    named = name or func.name
    return NamedKernel(named, left_by(func, passes), target, generator, passes, make)


def _check_arguments(factory: Callable[..., Any], name: str, given: Mapping[str, Any]) -> None:
    """KernelError if a factory can not be called with these."""
    parameters = inspect.signature(factory).parameters
    by_name = {p.name: p for p in parameters.values() if p.kind is not p.VAR_POSITIONAL}
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    unknown = [a for a in given if a not in by_name and not takes_any]
    if unknown:
        raise KernelError(
            "kernel-arguments",
            f"{name} has no argument {unknown[0]!r}",
            hint=did_you_mean(unknown[0], by_name) or f"it has {', '.join(by_name)}",
        )
    required = [
        p.name
        for p in by_name.values()
        if p.default is p.empty and p.kind is not p.VAR_KEYWORD and p.name not in given
    ]
    if required:
        raise KernelError(
            "kernel-arguments",
            f"{name} needs arguments: {', '.join(required)}",
            hint=f"give them: -a {required[0]}=... for each",
        )


def chip_named(name: str, others: Sequence[str] = ()) -> Target:
    """A chip by name. Raises KernelError for an unknown one, with a hint that also covers `others`,
    the code generators that the option accepts too."""
    if name not in TARGETS:
        raise KernelError(
            "soc",
            f"no chip {'or code generator ' if others else ''}is called {name!r}",
            hint=did_you_mean(name, (*TARGETS, *others))
            or f"one of {', '.join((*TARGETS, *others))}",
        )
    return TARGETS[name]
