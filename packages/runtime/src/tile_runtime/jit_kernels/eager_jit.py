"""Compile and run functions that are kernels themselves (docs/language/index.md#eager-kernels): the
sizes of a call's tensors choose the kernel."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, NoReturn

from tile_frontend._evaluate.eager import EagerFunction, EagerKernel, Parameters
from tile_ir import Func, KernelError, TileError
from tile_ir.quick_dataclasses import dataclass, replace
from tile_runtime.jit_kernels.compile_options import CompileOptions
from tile_runtime.jit_kernels.factory_calls import (
    memo_key,
    place_of,
    refuse_grid,
    told_at,
    unbound,
)
from tile_runtime.jit_kernels.factory_members import compile_calls
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.jit_kernels.kernel_name import call_name
from tile_runtime.launcher.scalar_arguments import article, as_tensor, is_array


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A kernel, and how the results of a call are handed back."""

    kernel: JITKernel
    # Where each returned tensor stands among the outputs of the kernel.
    order: tuple[int, ...]
    single: bool

    def returned(self, outputs: Any) -> Any:
        if not self.order:
            return None
        found = [outputs] if len(self.order) == 1 else [outputs[i] for i in self.order]
        return found[0] if self.single else found


@dataclass(eq=False)
class EagerJit:
    """An eager function under `jit`: a call compiles if needed, runs, and returns the outputs;
    `compile` gives the kernel for sizes by name."""

    eager: EagerFunction
    options: CompileOptions
    compile_func: Callable[..., JITKernel]
    mode: str = "eager"
    _parameters: dict[Any, Parameters] = field(default_factory=dict)
    _kernels: dict[Any, _Compiled] = field(default_factory=dict)

    def __post_init__(self) -> None:
        functools.update_wrapper(self, self.eager.fn)
        # Parameters that a call leaves out, and gets back.
        self._outputs = self._named_outputs()

    def _named_outputs(self) -> tuple[str, ...]:
        """The parameters that `out_idx` counts."""
        asked, names = self.options.out_idx, list(self.signature.parameters)
        places = () if asked is None else (asked,) if isinstance(asked, int) else tuple(asked)
        for place in places:
            if not -len(names) <= place < len(names):
                with told_at(*place_of(self.eager.fn)):
                    of = f"`{self.eager.fn.__name__}` has {len(names)}"
                    raise KernelError("out-index", f"out_idx names parameter {place}, but {of}")
        return tuple(names[place] for place in places)

    @property
    def func(self) -> Any:
        return self.eager.fn

    @property
    def signature(self) -> inspect.Signature:
        return self.eager.signature

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.options, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel for these tensors and values. Raises KernelError for a mistake in the
        kernel, CallError for tensors that do not fit it."""
        try:
            given, named = self._given(args, kwargs, whole=True)
            compiled, parameters = self._compiled(given, named)
            tensors = [given[name] for name in parameters.declared if name not in self._outputs]
            return compiled.returned(compiled.kernel(*tensors))
        except TileError as error:
            raise error.with_traceback(None) from None  # our frames say nothing about the kernel

    def __getitem__(self, grid: Any) -> NoReturn:
        with told_at(*place_of(self.eager.fn)):
            refuse_grid(self.eager.fn.__name__)

    def compile(self, *args: Any, **kwargs: Any) -> JITKernel:
        """The kernel for sizes by name and values of the other parameters; tensors are left out."""
        try:
            given, named = self._given(args, kwargs, whole=False)
            return self._compiled(given, named)[0].kernel
        except TileError as error:
            raise error.with_traceback(None) from None

    def by_sizes(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], whole: bool
    ) -> tuple[dict[str, Any], list[Any]]:
        """The arguments of `compile` for the kernel that a call runs, and what the call hands to
        it. `whole`: it is a call, and no compilation, which leaves tensors out."""
        given, named = self._given(args, kwargs, whole)
        parameters, chosen, constants = self._chosen(given, named)
        handed = [name for name in parameters.declared if name not in self._outputs]
        return {**chosen, **constants}, [given.get(name) for name in handed]

    def traced(self, *args: Any, **kwargs: Any) -> tuple[Any, CompileOptions]:
        """The traced kernel of the arguments of `compile`, and what it is compiled with."""
        given, named = self._given(args, kwargs, whole=False)
        _, chosen, constants = self._chosen(given, named)
        traced = self.eager.traced(chosen, constants)
        return traced.func, replace(self.options, out_idx=self._places(traced)[0] or None)

    def with_pass_configs(self, configs: Mapping[Any, Any]) -> EagerJit:
        """The same with further pass configs."""
        together = {**(self.options.pass_configs or {}), **configs}
        return EagerJit(self.eager, replace(self.options, pass_configs=together), self.compile_func)

    def par_compile(
        self, calls: Iterable[Mapping[str, Any] | tuple[Any, ...]], **options: Any
    ) -> list[JITKernel | None]:
        """`compile` for each of several arguments."""
        return compile_calls(self.compile, calls, **options)

    def get_kernel_source(self, *args: Any, **kwargs: Any) -> str:
        """The emitted source of the kernel that `compile` makes of the same arguments."""
        return self.compile(*args, **kwargs).get_kernel_source()

    def get_tir(self, *args: Any, **kwargs: Any) -> Func:
        """The traced kernel of the same arguments."""
        return self.compile(*args, **kwargs).prim_func

    def _given(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], whole: bool
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Arguments by name, and what is named besides the parameters: constants."""
        signature = self.signature
        handed = [p for n, p in signature.parameters.items() if n not in self._outputs]
        signature = signature.replace(parameters=handed)
        own = {n: v for n, v in kwargs.items() if n in signature.parameters}
        named = {n: v for n, v in kwargs.items() if n not in own}
        bind = signature.bind if whole else signature.bind_partial
        try:
            bound = bind(*args, **own)
        except TypeError as error:
            with told_at(*place_of(self.eager.fn)):
                raise unbound(self.eager.fn, signature, error) from None
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if is_array(value):
                with told_at(*place_of(self.eager.fn)):
                    what = f"argument `{name}` is {article(value)}, expected a tensor of torch"
                    raise KernelError("call-type", what, hint=as_tensor(name, value))
        return dict(bound.arguments), named

    def _compiled(
        self, given: dict[str, Any], named: dict[str, Any]
    ) -> tuple[_Compiled, Parameters]:
        parameters, chosen, constants = self._chosen(given, named)
        whole_key = self._key(chosen), tuple(sorted(constants.items()))
        found = self._kernels.get(whole_key)
        if found is None:
            found = self._kernels[whole_key] = self._build(chosen, constants)
        return found, parameters

    def _chosen(
        self, given: dict[str, Any], named: dict[str, Any]
    ) -> tuple[Parameters, dict[str, Any], dict[str, int]]:
        """Return the parameters, the values that choose the kernel, and its constants."""
        values = {n: v for n, v in given.items() if not _is_tensor(v)}
        with told_at(*place_of(self.eager.fn)):
            key = self._key(values)
            parameters = self._parameters.get(key)
            if parameters is None:
                parameters = self._parameters[key] = self.eager.parameters(values)
            unknown = [n for n in named if n not in parameters.constants]
            if unknown:
                raise self._unknown(unknown[0], parameters)
        constants = parameters.constants_of(given) | named
        if parameters.wrong is not None and constants.keys() != {*parameters.constants}:
            raise parameters.wrong  # the tensor that would give the constant
        chosen = {n: v for n, v in values.items() if n not in parameters.declared}
        return parameters, chosen, constants

    def _key(self, values: Mapping[str, Any]) -> Any:
        """Equal for values that make the same kernel."""
        return memo_key(self.eager.fn, (), {n: _frozen(v) for n, v in values.items()})

    def _build(self, chosen: dict[str, Any], constants: dict[str, int]) -> _Compiled:
        started = time.perf_counter()
        traced: EagerKernel = self.eager.traced(chosen, constants)
        retrace = functools.partial(_retraced, self.eager, chosen, constants)
        places, order, single = self._places(traced)
        options = replace(self.options, out_idx=places or None)
        with told_at(*place_of(self.eager.fn)):
            seconds = time.perf_counter() - started
            name = call_name(self.eager.fn, (), {**chosen, **constants})
            kernel = self.compile_func(traced.func, options, seconds, retrace, name)
        return _Compiled(kernel, order, single)

    def _places(self, traced: EagerKernel) -> tuple[list[int], tuple[int, ...], bool]:
        """`out_idx` of the kernel, where what a call returns stands there, and whether that is one
        tensor by itself."""
        if not self._outputs:
            places = sorted(traced.outputs)
            return places, tuple(places.index(o) for o in traced.outputs), traced.single
        if traced.outputs:
            with told_at(*place_of(self.eager.fn)):
                raise KernelError(
                    "out-index",
                    f"`{self.eager.fn.__name__}` returns its outputs, and has out_idx too",
                    hint="leave out_idx out, or declare the outputs as parameters",
                )
        names = [p.name for p in traced.func.params]
        places = [names.index(name) for name in self._outputs]
        return places, tuple(range(len(places))), len(places) == 1

    def _unknown(self, name: str, parameters: Parameters) -> KernelError:
        known = ", ".join(parameters.constants) or "none"
        return KernelError(
            "jit-argument",
            f"`{self.eager.fn.__name__}` has no parameter and no constant `{name}`",
            hint=f"its constants are {known}",
        )


def _retraced(eager: EagerFunction, chosen: dict[str, Any], constants: dict[str, int]) -> Any:
    return eager.traced(chosen, constants).func


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "data_ptr") and hasattr(value, "shape")


def _frozen(value: Any) -> Any:
    """A value that can be hashed, of containers that can not."""
    match value:
        case list() | tuple():
            return type(value).__name__, tuple(map(_frozen, value))
        case dict():
            return "dict", tuple(sorted((k, _frozen(v)) for k, v in value.items()))
        case set():
            return "set", frozenset(map(_frozen, value))
    return value
