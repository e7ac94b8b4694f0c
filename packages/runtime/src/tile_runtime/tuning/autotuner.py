"""`@autotune`: compiles a kernel in every configuration and keeps the fastest that is right.

Stands above `@jit`. A call that gives all tunable arguments is an ordinary call. Otherwise each
configuration is compiled, compared with the reference if there is one, and timed: on an NPU by its
events, else by the model of the simulator (see `profiler`). What was found is kept on disk under
everything it depends on, so the next process compiles the winner only.

A kernel is remembered under the configuration it was made with, because the configuration goes into
the call of the jitted factory: no call gets the kernel of another one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import Any, TypeAlias

from tile_ir import KernelError, TileError
from tile_runtime.jit_kernels.factory_calls import memo_key
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.jit_kernels.profiler import do_bench
from tile_runtime.jit_kernels.tensor_supply import TensorSupplyType, supply_tensors
from tile_runtime.tuning.candidates import (
    Candidate,
    Config,
    TuneOptions,
    compile_all,
    copies,
    measure,
    nothing_usable,
)
from tile_runtime.tuning.record import TuningRecord, read_record, record_key, write_record

Configs: TypeAlias = "Sequence[Config] | Callable[..., Sequence[Config]]"


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
) -> Any:
    """Make a jitted factory choose among configurations, a list of keyword arguments or a function
    that gives one for the arguments of the call."""
    options = TuneOptions(
        warmup, rep, supply_type, ref_prog, supply_prog, rtol, atol, max_mismatched_ratio,
        skip_check, manual_check_prog,
    )  # fmt: skip

    def decorate(factory: Callable[..., JITKernel]) -> Callable[..., JITKernel]:
        return _decorate(factory, configs, options)

    return decorate(func) if func is not None else decorate


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

    def run(self, warmup: float = 25, rep: float = 100, timeout: float = 100) -> JITKernel:
        """The best kernel. Raises KernelError when there is none."""
        from tile_runtime.jit_kernels.jit_compile import jit

        decorate: Any = jit(**self.compile_options)
        jitted = decorate(self.factory)
        return _decorate(jitted, self.configs, replace(self.options, warmup=warmup, rep=rep))()


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


def _decorate(
    factory: Callable[..., JITKernel], configs: Configs, options: TuneOptions
) -> Callable[..., JITKernel]:
    signature = inspect.signature(inspect.unwrap(factory))
    tuned: dict[Any, JITKernel] = {}

    @wraps(factory)
    def wrapper(*args: Any, **kwargs: Any) -> JITKernel:
        candidates = _configurations(configs, args, kwargs)
        given = signature.bind_partial(*args, **kwargs).arguments
        if all(name in given for config in candidates for name in config):
            return factory(*args, **kwargs)
        # What the call gives is not tuned.
        candidates = _distinct({k: v for k, v in c.items() if k not in given} for c in candidates)
        key = memo_key(factory, args, kwargs)
        if key not in tuned:
            try:
                tuned[key] = _tune(factory, args, kwargs, candidates, options)
            except TileError as error:
                raise error.with_traceback(None) from None  # our frames say nothing
        return tuned[key]

    return wrapper


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
) -> JITKernel:
    key = record_key(factory, args, kwargs, configs, options)
    record = read_record(key)
    if record is not None:
        kernel = factory(*args, **kwargs, **configs[record.best])
        return _told(kernel, configs[record.best], record.latency, record.ref_latency)
    tried = compile_all(factory, args, kwargs, configs)
    reference: float | None = None
    measured: list[Candidate] = []
    for candidate in tried:
        if candidate.kernel is None:
            measured.append(candidate)
            continue
        inputs = _inputs_for(candidate.kernel, options)
        if reference is None and options.ref_prog is not None:
            program = options.ref_prog
            reference = do_bench(partial(program, *copies(inputs)), warmup=1, rep=1)
        measured.append(measure(candidate, inputs, options))
    right = [c for c in measured if c.latency is not None]
    if not right:
        raise nothing_usable(factory, measured)
    best = min(right, key=lambda c: c.latency or 0.0)
    assert best.kernel is not None and best.latency is not None, "chosen among measured ones"
    write_record(key, TuningRecord(configs.index(best.config), best.latency, reference))
    return _told(best.kernel, best.config, best.latency, reference)


def _told(kernel: JITKernel, config: Config, latency: float, reference: float | None) -> JITKernel:
    kernel.config, kernel.latency, kernel.ref_latency = dict(config), latency, reference
    return kernel


def _inputs_for(kernel: JITKernel, options: TuneOptions) -> list[Any]:
    given = _inputs.get()
    if given is not None:
        return list(given)
    if options.supply_prog is not None:
        return list(options.supply_prog(kernel.params))
    return supply_tensors(kernel, options.supply_type)
