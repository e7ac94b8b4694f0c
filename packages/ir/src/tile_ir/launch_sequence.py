"""A kernel of several launches: one function for each, run in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from tile_ir.diagnostics.errors import KernelError
from tile_ir.expr import Var
from tile_ir.location import Loc
from tile_ir.nodes import Buffer, Func
from tile_ir.quick_dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class LaunchSequence:
    """Functions that run one after the other, each of which sees what those before it wrote to
    global memory. All take the same parameters: the first `declared` are the author's, those behind
    them are tensors that live for one call and hold anything at first."""

    name: str
    funcs: tuple[Func, ...]
    declared: int

    @property
    def params(self) -> tuple[Buffer | Var, ...]:
        """The author's parameters."""
        return self.funcs[0].params[: self.declared]

    @property
    def tensors(self) -> tuple[Buffer, ...]:
        return tuple(p for p in self.params if isinstance(p, Buffer))

    @property
    def symbols(self) -> tuple[Var, ...]:
        return self.funcs[0].symbols

    @property
    def loc(self) -> Loc:
        return self.funcs[0].loc

    @property
    def sources(self) -> Mapping[str, str]:
        return self.funcs[0].sources

    @property
    def joined(self) -> Func:
        """The text of all launches as one function, for analyses of accesses; it is never run."""
        first = self.funcs[0]
        body = tuple(stmt for func in self.funcs for stmt in func.launch.body)
        allocs = tuple(alloc for func in self.funcs for alloc in func.launch.allocs)
        blocks = sum((f.launch.blocks for f in self.funcs[1:]), first.launch.blocks)
        launch = replace(first.launch, blocks=blocks, allocs=allocs, body=body)
        return replace(first, name=self.name, launch=launch)

    def one_by_one(self, what: str) -> KernelError:
        """The error of a query that has an answer for a single launch only."""
        return KernelError(
            "several-launches",
            f"`{self.name}` has {len(self.funcs)} launches, and {what} reports a single launch",
            self.loc,
            "ask the kernels of its launches, `kernel.launches`, or write a function per launch",
            sources=self.sources,
        )

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.funcs))

    if not TYPE_CHECKING:  # type checkers say so themselves

        def __getattr__(self, name: str) -> NoReturn:
            """Report attributes that a function has and a sequence lacks."""
            if not name.startswith("_") and hasattr(Func, name):
                raise self.one_by_one(f"`{name}`")
            raise AttributeError(name)

        def __call__(self, *arguments: Any, **named: Any) -> NoReturn:
            self.funcs[0](*arguments, **named)
