"""`@autotune`: compiles a kernel in every configuration and keeps the fastest that is right.

Stands above `@jit`. A call that gives all tunable arguments is an ordinary call. Otherwise each
configuration is compiled, compared with the reference if there is one, and timed: on an NPU by its
events, else by the model of the simulator (see `profiler`). Results are kept on disk under
everything they depend on, so the next process compiles the winner only (docs/use/tuning.md).

A kernel is remembered under the configuration it was made with, because the configuration goes into
the call of the jitted factory: no call gets the kernel of another one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from functools import partial
from typing import Any, TypeAlias

from tile_ir import KernelError, TileError, did_you_mean
from tile_ir.quick_dataclasses import dataclass, replace
from tile_runtime.jit_kernels.eager_jit import EagerJit
from tile_runtime.jit_kernels.factory_calls import memo_key, place_of, told_at
from tile_runtime.jit_kernels.host_arguments import report_arguments
from tile_runtime.jit_kernels.jit_factory import JitFactory
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.jit_kernels.tensor_supply import TensorSupplyType
from tile_runtime.tuning.candidates import ConfigCandidates
from tile_runtime.tuning.eager_tuner import EagerTuner, Left, SizedFactory, chosen, reserved
from tile_runtime.tuning.options import TuneOptions
from tile_runtime.tuning.results import TuningResults, config_text
from tile_runtime.tuning.search import search
from tile_runtime.tuning.trial import REFUSED, Config

Configs: TypeAlias = "Sequence[Config] | Callable[..., Sequence[Config]]"


@report_arguments
def autotune(
    func: Any = None,
    *,
    configs: Configs = (),
    warmup: float = 25,
    rep: float = 100,
    timeout: float = 100,
    supply_type: TensorSupplyType = TensorSupplyType.Auto,
    ref_prog: Callable[..., Any] | None = None,
    supply_prog: Callable[..., Any] | None = None,
    rtol: float = 1e-2,
    atol: float = 1e-2,
    max_mismatched_ratio: float = 0.01,
    skip_check: bool = False,
    manual_check_prog: Callable[..., Any] | None = None,
    cache_input_tensors: bool = False,
    do_not_specialize: Sequence[str] | None = None,
    early_stop: bool = False,
    early_stop_factor: float = 1.2,
    executor: Executor | Any = "processes",
    objective: str = "auto",
    most: int | None = None,
    sampler: str | None = None,
) -> Any:
    """Make a jitted factory choose among configurations, a list of keyword arguments or a function
    that gives one for the arguments of the call. Above a function that is a kernel itself, a call
    chooses for its tensors and runs the best, `compile` gives that kernel.

    `pass_configs` in a configuration, where the factory has no such parameter, are those it is
    compiled with. The result holds for all values of the arguments named by `do_not_specialize`.
    `cache_input_tensors` and `early_stop` save time of devices, and change nothing here.

    A configuration may take `timeout` seconds. `executor` runs the trials: "processes" of this
    machine, "here" one after another, an executor of concurrent.futures or a client of
    dask.distributed. `objective` is the time that counts: "modelled", "device", or "auto", which is
    the device if there is one. `most` limits how many are tried, in order or by the `sampler`
    "optuna".
    """
    options = TuneOptions(
        warmup, rep, supply_type, ref_prog, supply_prog, rtol, atol, max_mismatched_ratio,
        skip_check, manual_check_prog, timeout, executor, objective, most, sampler,
        tuple(do_not_specialize or ()),
    )  # fmt: skip

    def decorate(factory: Callable[..., Any]) -> Any:
        return _decorate(factory, configs, options)

    if func is None:
        return decorate
    return decorate(func)


@dataclass
class AutoTuner:
    """The same without decorators, for a function that returns a prim_func."""

    factory: Callable[..., Any]
    configs: Configs
    compile_options: dict[str, Any] = field(default_factory=dict)
    options: TuneOptions = field(default_factory=TuneOptions)

    @classmethod
    def from_kernel(cls, kernel: Callable[..., Any], configs: Configs) -> AutoTuner:
        return cls(kernel, configs)

    def set_compile_args(self, **options: Any) -> AutoTuner:
        """Arguments of `jit`."""
        self.compile_options = options
        return self

    def set_profile_args(self, **options: Any) -> AutoTuner:
        """How candidates are checked and timed."""
        known = {k: v for k, v in options.items() if k in TuneOptions.__dataclass_fields__}
        self.options = replace(self.options, **known)
        return self

    def run(
        self, warmup: float = 25, rep: float = 100, timeout: float = 100, **of_devices: Any
    ) -> JITKernel:
        """The best kernel. Raises KernelError when there is none."""
        from tile_runtime.jit_kernels.jit_compile import jit

        decorate: Any = jit(**self.compile_options)
        made = isinstance(self.factory, EagerJit) or hasattr(self.factory, "__jit_impl__")
        jitted = self.factory if made else decorate(self.factory)
        options = replace(self.options, warmup=warmup, rep=rep, timeout=timeout)
        kernel: JITKernel = _decorate(jitted, self.configs, options).compile()
        return kernel


_inputs: ContextVar[tuple[Any, ...] | None] = ContextVar("tile_autotune_inputs", default=None)


@contextmanager
def set_autotune_inputs(*tensors: Any) -> Iterator[None]:
    """While the block runs, candidates are checked and timed with these tensors."""
    given = tuple(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], list) else tensors
    token = _inputs.set(given)
    try:
        yield
    finally:
        _inputs.reset(token)


def _decorate(factory: Any, configs: Configs, options: TuneOptions) -> Any:
    signature = inspect.signature(inspect.unwrap(factory))
    _check_names(signature, options)
    apart = reserved(factory)

    def left(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Config] | None:
        """The configurations left to tune for a call: None where it gives all tunables."""
        candidates = _configurations(configs, args, kwargs)
        _check_configurations(candidates, signature, apart, factory)
        own = {n: v for n, v in kwargs.items() if n in signature.parameters}
        given = signature.bind_partial(*args, **own).arguments
        if all(n in given for c in candidates for n in c if n not in apart):
            return None
        # What the call gives is not tuned.
        return _distinct(_without(c, given) for c in candidates)

    if isinstance(factory, EagerJit):

        def tune(
            sized: SizedFactory, named: Mapping[str, Any], candidates: list[Config],
            tensors: list[Any] | None,
        ) -> JITKernel:  # fmt: skip
            given = _inputs.get() or (None if tensors is None else tuple(tensors))
            return _tune(sized, (), dict(named), candidates, options, given)

        return EagerTuner(factory, left, tune, options.do_not_specialize)
    return _tuned_factory(factory, signature, left, options)


def _check_names(signature: inspect.Signature, options: TuneOptions) -> None:
    for name in options.do_not_specialize:
        if name not in signature.parameters:
            raise KernelError(
                "tuning-option", f"do_not_specialize names `{name}`, which is no parameter",
                hint=did_you_mean(name, list(signature.parameters)),
            )  # fmt: skip


def _check_configurations(
    configs: list[Config], signature: inspect.Signature, apart: Sequence[str], factory: Any
) -> None:
    """Raise KernelError for a name in a configuration that the factory does not take."""
    parameters = signature.parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    for name in (n for c in configs for n in c if n not in parameters and n not in apart):
        own = getattr(factory, "__name__", "the factory")
        hint = did_you_mean(name, list(parameters)) or f"it takes {', '.join(parameters)}"
        message = f"a configuration names `{name}`, which is no parameter of `{own}`"
        with told_at(*place_of(factory)):
            raise KernelError("autotune-configs", message, hint=hint)


def _tuned_factory(
    factory: Callable[..., JITKernel],
    signature: inspect.Signature,
    left: Left,
    options: TuneOptions,
) -> Callable[..., JITKernel]:
    tuned: dict[Any, JITKernel] = {}
    best: dict[Any, Config] = {}

    def made(*args: Any, **kwargs: Any) -> JITKernel:
        candidates = left(args, kwargs)
        if candidates is None:
            return factory(*args, **kwargs)
        key = memo_key(factory, args, kwargs)
        if key in tuned:
            return tuned[key]
        bound = signature.bind_partial(*args, **kwargs).arguments
        judged = {n: v for n, v in bound.items() if n not in options.do_not_specialize}
        known = memo_key(factory, (), judged)
        try:
            if options.do_not_specialize and known in best:
                tuned[key] = _made(factory, args, kwargs, best[known])
            else:
                tuned[key] = _tune(factory, args, kwargs, candidates, options, _inputs.get())
                best[known] = tuned[key].config or {}
        except TileError as error:
            raise error.with_traceback(None) from None  # our frames say nothing
        return tuned[key]

    return JitFactory(factory, made, {"compile": made})


def _made(
    factory: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], config: Config
) -> JITKernel:
    """The kernel of a configuration."""
    apart = any(name in config for name in reserved(factory))
    variant, own = chosen(factory.__jit_impl__, config) if apart else (factory, config)
    made: JITKernel = variant(*args, **kwargs, **own)
    return made


def _configurations(configs: Configs, args: Sequence[Any], kwargs: Mapping[str, Any]
                    ) -> list[Config]:  # fmt: skip
    """The list, or what the function gives: called with the key of the call if it takes one."""
    if not callable(configs):
        found = list(configs)
    elif inspect.signature(configs).parameters:
        found = list(configs(tuple(args), tuple(sorted(kwargs.items()))))
    else:
        found = list(configs())
    if not found or not all(isinstance(c, dict) for c in found):
        raise KernelError(
            "autotune-configs", "autotune has no configurations",
            hint="give configs=[dict(block_M=64, ...), ...] or a function that returns such a list",
        )  # fmt: skip
    return found


def _without(config: Config, given: Mapping[str, Any]) -> Config:
    """A configuration as it is, which may know more than its values, if nothing of it is given."""
    if not given.keys() & config:
        return config
    return {name: value for name, value in config.items() if name not in given}


def _distinct(configs: Iterator[Config]) -> list[Config]:
    kept: list[Config] = []
    for config in configs:
        if config not in kept:
            kept.append(config)
    return kept


def _tune(
    factory: Callable[..., JITKernel],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    configs: list[Config],
    options: TuneOptions,
    inputs: tuple[Any, ...] | None,
) -> JITKernel:
    found = search(ConfigCandidates(factory, args, kwargs, options, inputs), configs)
    best = found.best
    if best is None:
        call = partial(_made, factory, args, kwargs, configs[0])
        with told_at(*place_of(factory)):
            raise _nothing_usable(call, getattr(factory, "__name__", "the factory"), found)
    config = next(c for c in configs if config_text(c) == best.config)
    kernel = _made(factory, args, kwargs, config)
    kernel.config, kernel.latency = dict(config), best.milliseconds
    kernel.ref_latency = best.reference
    kernel.tuning = found
    return kernel


def _nothing_usable(call: Callable[[], JITKernel], name: str, tried: TuningResults) -> TileError:
    """Why there is no best kernel: the error all configurations share, as that of the first, or the
    reason of each."""
    slugs = {row.slug if row.state == REFUSED else "" for row in tried.rows}
    if len(slugs) == 1 and "" not in slugs:
        try:
            call()
        except TileError as error:
            return error
    reasons = (f"  {row.values}: {(row.problem or '').splitlines()[0]}" for row in tried.rows)
    return KernelError(
        "autotune-failed", f"no configuration of `{name}` can be used:\n" + "\n".join(reasons)
    )
