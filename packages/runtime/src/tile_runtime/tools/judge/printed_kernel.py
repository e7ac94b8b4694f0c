"""A kernel as text and plain data: what comes out of the process that executed the candidate."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import fields
from typing import Any

from tile_ir import TARGETS, Automatic, Buffer, Func, KernelError, LaunchSequence
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes import PassOptions
from tile_runtime.jit_kernels.compile_options import CompileOptions
from tile_runtime.jit_kernels.jit_compile import (
    compile_printed,
    compile_sequence,
    indices_of,
    order_of,
)
from tile_runtime.jit_kernels.kernel import JITKernel, printed
from tile_runtime.jit_kernels.sequence_kernel import SequenceKernel
from tile_runtime.launcher.scalar_arguments import article

_SETS = ("automatic", "unless_ordered", "for_speed", "kept")
_MOST_LAUNCHES = 64


@dataclass(frozen=True, slots=True)
class PrintedKernel:
    """The texts of the launches of a kernel, the sources that their lines are from, and what they
    are compiled with. `outputs` and `workspaces` are positions of parameters. A kernel of several
    launches has so many `declared` parameters of its author. `inputs` are the declared shapes of
    all tensors but workspaces; they are for the process that prints."""

    name: str
    texts: tuple[str, ...]
    sources: dict[str, str]
    chip: str
    passes: dict[str, Any]
    outputs: tuple[int, ...]
    workspaces: tuple[int, ...]
    declared: int = 0
    inputs: tuple[tuple[str, ...], ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "inputs"}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> PrintedKernel:
        """Raises ValueError, TypeError or KeyError for what is none: `data` is not trusted."""
        texts, sources = data["texts"], data["sources"]
        _require(0 < len(texts) <= _MOST_LAUNCHES and all(isinstance(t, str) for t in texts))
        _require(all(isinstance(v, str) for v in sources.values()))
        _require(data["chip"] in TARGETS and isinstance(data["name"], str))
        indices = [*data["outputs"], *data["workspaces"], data["declared"]]
        _require(all(type(i) is int and 0 <= i < 1 << 16 for i in indices))
        passes_from(data["passes"])
        return PrintedKernel(
            data["name"], tuple(texts), dict(sources), data["chip"], data["passes"],
            tuple(data["outputs"]), tuple(data["workspaces"]), data["declared"],
        )  # fmt: skip

    def compile(self) -> JITKernel:
        """Compile it, as its script would. Raises TileError as `T.compile`."""
        options = CompileOptions()
        made_of = [
            (text, self.sources, self.chip, passes_from(self.passes), self.outputs, self.workspaces)
            for text in self.texts
        ]
        if len(made_of) == 1:
            return compile_printed(options, *made_of[0])
        launches = [(*parts[:4], (), ()) for parts in made_of]
        return compile_sequence(
            options, self.name, self.declared, launches, self.outputs, self.workspaces
        )


def print_traced(traced: Any, options: CompileOptions, name: str) -> PrintedKernel:
    """Print a traced function, or a sequence of them, with the arguments of its `jit`."""
    if isinstance(traced, LaunchSequence):
        outputs, workspaces = indices_of(traced, options)
        bare = CompileOptions(pass_configs=options.pass_configs)
        made_of = [order_of(func, bare).made_of for func in traced.funcs]
        declared = traced.declared
        # The tensors between launches, like workspaces, are made by each call.
        workspaces = (*workspaces, *range(declared, len(traced.funcs[0].params)))
    else:
        order = order_of(traced, options, name)
        made_of, outputs, workspaces = [order.made_of], order.outputs, order.workspaces
        declared = 0
    found = _printed(name, made_of, outputs, workspaces, declared)
    return replace(found, inputs=_shapes(traced, workspaces))


def _shapes(
    traced: Func | LaunchSequence, workspaces: Container[int]
) -> tuple[tuple[str, ...], ...]:
    tensors = (p for i, p in enumerate(traced.params) if i not in workspaces)
    return tuple(tuple(map(str, t.shape)) for t in tensors if isinstance(t, Buffer))


def print_kernel(kernel: JITKernel) -> PrintedKernel:
    """Print a kernel object of the script."""
    outputs, workspaces = tuple(kernel.out_idx), tuple(kernel.workspace_idx)
    launches = kernel.launches if isinstance(kernel, SequenceKernel) else (kernel,)
    made_of = [
        printed(k.prim_func, k.target, k.passes, tuple(k.out_idx), tuple(k.workspace_idx))
        for k in launches
    ]
    declared = kernel.sequence.declared if isinstance(kernel, SequenceKernel) else 0
    return _printed(kernel.name, made_of, outputs, workspaces, declared)


def _printed(
    name: str,
    made_of: list[tuple[Any, ...]],
    outputs: tuple[int, ...],
    workspaces: tuple[int, ...],
    declared: int,
) -> PrintedKernel:
    texts = tuple(parts[0] for parts in made_of)
    sources = {file: text for parts in made_of for file, text in parts[1].items()}
    passes = _passes_to_json(made_of[0][3])
    chip = made_of[0][2]
    return PrintedKernel(name, texts, sources, chip, passes, outputs, workspaces, declared)


def _passes_to_json(passes: PassOptions) -> dict[str, Any]:
    sets = {name: [a.name for a in getattr(passes, name)] for name in _SETS}
    return {**sets, "by_hand": passes.by_hand}


def passes_from(data: Mapping[str, Any]) -> PassOptions:
    """The options of the pipeline. KeyError or TypeError for what is none."""
    automatic, unless_ordered, for_speed, kept = (
        tuple(Automatic[a] for a in data[name]) for name in _SETS
    )
    return PassOptions((), automatic, unless_ordered, for_speed, kept, bool(data["by_hand"]))


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError("no kernel as text")


def no_kernel(name: str, found: object) -> KernelError:
    """The error for what is no kernel where one is expected."""
    return KernelError(
        "no-kernel",
        f"`{name}` is {article(found)}, expected a kernel, or a factory that returns one",
        hint="name a function with @T.prim_func, or one that returns it",
    )
