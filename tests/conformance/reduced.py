"""The driver that runs a script at smaller sizes: `python -m conformance.reduced SCRIPT [ARGS]`.

It rewrites numbers that the script's own host code names (`seq_len=4096`, `M, N = 8192, 8192`,
defaults of arguments, of functions and of the command line) where they are greater than a limit of
that name. Functions that hold a kernel stay as they are, line for line. Tuners try a part of their
configurations. What scripts compare with is provided (`reference_packages`), in float32 where a
half type is too narrow (`wide_references`).
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from pathlib import Path
from types import CodeType

from conformance.launches import note_launches
from conformance.reference_packages import provide
from conformance.references.timing import timed
from conformance.wide_references import judge_in_float32
from tile_runtime.jit_kernels import profiler

# The greatest value of a number with one of these names.
LIMITS = {
    1: ("batch", "batch_size", "bs"),
    2: ("num_heads", "heads_kv", "kv_heads", "h_kv", "groups_kv"),
    16: ("heads", "head", "h_q", "hq"),
    256: ("seq_q", "seq_kv", "seq_len", "seqlen", "n_ctx", "q_seqlen", "k_seqlen", "max_cache_seqlen",
          "kv_ctx", "cache_seqlen", "kv_len", "max_seqlen", "seq_len_kv", "s", "sq", "skv", "q_len",
          "kv_seqlen", "kvlen", "qlen"),
    512: ("m", "n", "k", "hidden_size", "hidden", "d_expert"),
    # Of the layers of a mixture of experts.
    1024: ("d_hidden",),
    # How often a benchmark of the script's own calls a kernel.
    3: ("repeat", "repeats", "warmup", "warmups"),
}  # fmt: skip
# The sides of a square matrix of random numbers that no name is given for: such are made to be
# multiplied on the host.
SQUARE = 512
# So many configurations a tuner tries.
CONFIGURATIONS = "6"
# Of a constant with values to try, host code takes every so-manieth that these are about as many.
CASES = 3


def limits_of(sizes: Mapping[str, int]) -> dict[str, int]:
    """The limit of each name, in small letters; `sizes` come first, and mean what they say."""
    general = {name: limit for limit, names in LIMITS.items() for name in names}
    return {**general, **{name.lower(): value for name, value in sizes.items()}}


def reduced(tree: ast.Module, limits: Mapping[str, int]) -> ast.Module:
    """The module with smaller numbers; kernels, and functions around them, unchanged."""
    parameters = {
        f.name: [a.arg for a in f.args.args] for f in tree.body if isinstance(f, ast.FunctionDef)
    }
    for node in _host_nodes(tree):
        match node:
            case ast.Call():
                _reduce_call(node, parameters, limits)
            case ast.FunctionDef():
                _reduce_defaults(node, limits)
            case ast.For(iter=ast.Name(id=name) as values) if name.strip("_").isupper():
                node.iter = _some(values)
            case ast.For(target=ast.Name(id=row), iter=ast.List(elts=rows) | ast.Tuple(elts=rows)):
                _reduce_rows(row, rows, node.body, parameters, limits)
            case ast.Assign(targets=[target], value=value):
                for name, number in _pairs(target, value):
                    _reduce(name, number, limits)
    return tree


class ReducedModule(SourceFileLoader):
    """A module that the script imports from its checkout, with smaller numbers too. Nothing of it is
    written beside it."""

    limits: Mapping[str, int] = {}

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        tree = reduced(ast.parse(self.get_data(path), path), self.limits)
        return compile(tree, path, "exec", dont_inherit=True)


def reduce_imports(checkout: Path, limits: Mapping[str, int]) -> None:
    """Let modules of a folder be imported with smaller numbers."""
    ReducedModule.limits = limits
    found = FileFinder.path_hook((ReducedModule, SOURCE_SUFFIXES))

    def finder(folder: str) -> FileFinder:
        if not Path(folder).resolve().is_relative_to(checkout):
            raise ImportError
        return found(folder)

    sys.path_hooks.insert(0, finder)
    sys.path_importer_cache.clear()


def _host_nodes(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef) and _holds_kernel(child):
            continue
        yield child
        yield from _host_nodes(child)


def _holds_kernel(function: ast.FunctionDef) -> bool:
    return any(
        isinstance(n, ast.Attribute) and n.attr in ("Kernel", "prim_func", "macro", "jit")
        for n in ast.walk(function)
    )


def _reduce_call(
    call: ast.Call, parameters: Mapping[str, list[str]], limits: Mapping[str, int]
) -> None:
    for keyword in call.keywords:
        keyword.value = _folded(keyword.value)
        _reduce(keyword.arg, keyword.value, limits)
    match call.func:
        case ast.Attribute(attr="randn" | "rand"):
            sides = [a for a in call.args if isinstance(a, ast.Constant) and type(a.value) is int]
            if len(sides) == 2 and sides[0].value == sides[1].value > 8 * SQUARE:
                for side in sides:
                    side.value = SQUARE
        case ast.Name(id=name) if name in parameters:
            for parameter, value in zip(parameters[name], call.args, strict=False):
                _reduce(parameter, value, limits)
        case ast.Attribute(attr="add_argument"):
            names = [a.value.lstrip("-") for a in call.args if isinstance(a, ast.Constant)]
            default = [k.value for k in call.keywords if k.arg == "default"]
            if names and default:
                _reduce(names[-1], default[0], limits)


def _reduce_rows(
    row: str,
    rows: Sequence[ast.expr],
    body: Sequence[ast.stmt],
    parameters: Mapping[str, list[str]],
    limits: Mapping[str, int],
) -> None:
    """The numbers of rows that the body hands over as all arguments of a function."""
    for call in (n for stmt in body for n in ast.walk(stmt)):
        match call:
            case ast.Call(func=ast.Name(id=name), args=[ast.Starred(value=ast.Name(id=given))]) if (
                given == row and name in parameters
            ):
                for each in (r for r in rows if isinstance(r, ast.Tuple)):
                    for parameter, value in zip(parameters[name], each.elts, strict=False):
                        _reduce(parameter, value, limits)


def _reduce_defaults(function: ast.FunctionDef, limits: Mapping[str, int]) -> None:
    given = function.args
    for argument, value in zip(
        given.args[len(given.args) - len(given.defaults) :], given.defaults, strict=True
    ):
        _reduce(argument.arg, value, limits)


def _some(values: ast.Name) -> ast.expr:
    """Values from everywhere among those of a constant, its first one too."""
    name = values.id
    return ast.parse(f"list({name})[::-(-len({name}) // {CASES}) or 1]", mode="eval").body


def _pairs(target: ast.AST, value: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, each in zip(target.elts, value.elts, strict=False):
            yield from _pairs(one, each)
    elif isinstance(target, ast.Name):
        yield target.id, value


def _folded(value: ast.expr) -> ast.expr:
    """`1024 * 8` is one number."""
    match value:
        case ast.BinOp(ast.Constant(value=int(x)), ast.Mult(), ast.Constant(value=int(y))):
            return ast.copy_location(ast.Constant(x * y), value)
    return value


def _reduce(name: str | None, value: ast.AST, limits: Mapping[str, int]) -> None:
    limit = limits.get((name or "").lower().replace("-", "_"))
    if limit is not None and isinstance(value, ast.Constant) and type(value.value) is int:
        value.value = min(value.value, limit)


def main(arguments: list[str]) -> None:
    """Run a script as `__main__`; `NAME=NUMBER` in front of it sets a limit."""
    sizes = {}
    while "=" in arguments[0]:
        name, number = arguments.pop(0).split("=")
        sizes[name] = int(number)
    path = Path(arguments[0])
    limits = limits_of(sizes)
    tree = reduced(ast.parse(path.read_text(), str(path)), limits)
    reduce_imports(path.resolve().parents[1], limits)
    provide()
    judge_in_float32()
    profiler.do_bench = timed
    os.environ.setdefault("TILE_TUNE_MOST", CONFIGURATIONS)
    sys.argv = arguments
    sys.path.insert(0, str(path.parent))
    scope = sys.modules["__main__"].__dict__
    scope["__file__"] = str(path)
    with note_launches():
        exec(compile(tree, str(path), "exec", dont_inherit=True), scope)


if __name__ == "__main__":
    main(sys.argv[1:])
