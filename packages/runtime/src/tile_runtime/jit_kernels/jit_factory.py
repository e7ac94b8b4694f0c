"""Give a factory under `jit` or `autotune` its calls, members and errors of subscripts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any, NoReturn

from tile_runtime.jit_kernels.factory_calls import place_of, refuse_grid, told_at
from tile_runtime.jit_kernels.kernel import JITKernel


class JitFactory:
    """A factory whose calls return kernels.

    It is a class, because a function can not report `factory[grid]`, the call of Triton. Like a
    function it binds to an object whose method it is, and pickles by its name.
    """

    def __init__(
        self,
        factory: Callable[..., Any],
        made: Callable[..., JITKernel],
        members: Mapping[str, Any],
    ) -> None:
        functools.update_wrapper(self, factory)
        self._made = made
        self.__dict__.update(members)

    def __call__(self, *args: Any, **kwargs: Any) -> JITKernel:
        """The compiled kernel of these arguments."""
        return self._made(*args, **kwargs)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"the factory `{self.__dict__.get('__name__', '')}` has no `{name}`")

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if owner is None else MethodType(self, owner)

    def __getitem__(self, grid: Any) -> NoReturn:
        with told_at(*place_of(self)):
            refuse_grid(self.__dict__["__name__"])

    def __reduce__(self) -> str:
        return str(self.__dict__["__qualname__"])

    def __repr__(self) -> str:
        return f"<factory {self.__dict__['__qualname__']}>"
