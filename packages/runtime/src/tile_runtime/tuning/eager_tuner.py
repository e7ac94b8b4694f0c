"""`@autotune` above an eager kernel: a call tunes for its tensors, then runs the best."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from tile_ir import TileError
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.jit_kernels.compile_options import CompileOptions
from tile_runtime.jit_kernels.eager_jit import EagerJit
from tile_runtime.jit_kernels.factory_calls import memo_key
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.tuning.trial import Config

# Finds the best of configurations for a factory, its named arguments and inputs.
Tune = Callable[["SizedFactory", Mapping[str, Any], list[Config], "list[Any] | None"], JITKernel]
# What is left to tune of a call: None where it gives all tunables.
Left = Callable[[tuple[Any, ...], Mapping[str, Any]], "list[Config] | None"]


@dataclass(eq=False)
class SizedFactory:
    """An eager kernel as a factory of kernels by sizes, as tuners take one."""

    jit: EagerJit

    def __post_init__(self) -> None:
        functools.update_wrapper(self, self.jit.func)

    @property
    def __jit_impl__(self) -> SizedFactory:
        return self

    def __call__(self, **named: Any) -> JITKernel:
        return self.jit.compile(**named)

    def traced(self, **named: Any) -> tuple[Any, CompileOptions]:
        """The traced kernel, and what it is compiled with."""
        return self.jit.traced(**named)

    def with_pass_configs(self, configs: Mapping[Any, Any]) -> SizedFactory:
        """The same with further pass configs."""
        return SizedFactory(self.jit.with_pass_configs(configs))


@dataclass(eq=False)
class EagerTuner:
    """An eager kernel under `autotune`."""

    jit: EagerJit
    left: Left
    tune: Tune
    unspecialized: tuple[str, ...] = ()
    _found: dict[Any, tuple[EagerJit, Config]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        functools.update_wrapper(self, self.jit.func)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.jit, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the best configuration for these tensors, which is looked for at the first call of
        their sizes."""
        configs = self.left(args, kwargs)
        if configs is None:
            return self.jit(*args, **kwargs)
        best, config = self._best(args, kwargs, configs, with_tensors=True)
        return best(*args, **kwargs, **config)

    def compile(self, *args: Any, **kwargs: Any) -> JITKernel:
        """The kernel of the best configuration for sizes by name."""
        configs = self.left(args, kwargs)
        if configs is None:
            return self.jit.compile(*args, **kwargs)
        best, config = self._best(args, kwargs, configs, with_tensors=False)
        return best.compile(*args, **kwargs, **config)

    def _best(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], configs: list[Config],
        with_tensors: bool,
    ) -> tuple[EagerJit, Config]:  # fmt: skip
        try:
            values = {n: v for n, v in configs[0].items() if n not in reserved(self.jit)}
            sizes, tensors = self.jit.by_sizes(args, {**kwargs, **values}, with_tensors)
            fixed = {n: v for n, v in sizes.items() if n not in values}
            judged = {n: v for n, v in fixed.items() if n not in self.unspecialized}
            key = memo_key(self.jit.func, (), judged)
            if key not in self._found:
                inputs = tensors if with_tensors else None
                kernel = self.tune(SizedFactory(self.jit), fixed, configs, inputs)
                self._found[key] = chosen(self.jit, kernel.config or {})
            return self._found[key]
        except TileError as error:
            raise error.with_traceback(None) from None  # our frames say nothing


# What a configuration may hold besides arguments of the factory.
RESERVED = ("pass_configs",)


def reserved(factory: Any) -> tuple[str, ...]:
    """The reserved names that are no parameters of a factory, or of the function behind one."""
    parameters = inspect.signature(inspect.unwrap(getattr(factory, "func", factory))).parameters
    return tuple(name for name in RESERVED if name not in parameters)


def chosen(factory: Any, config: Config) -> tuple[Any, Config]:
    """A factory with the pass configs of a configuration, and the arguments that are left of it."""
    apart = [name for name in reserved(factory) if name in config]
    if not apart:
        return factory, config
    own = {n: v for n, v in config.items() if n not in apart}
    return factory.with_pass_configs(config["pass_configs"] or {}), own
