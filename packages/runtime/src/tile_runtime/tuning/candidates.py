"""From a configuration to a trial: the factory is called, inputs and what the reference gives for
them are made. Here, so that nothing of the script has to be sent anywhere.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextvars import copy_context
from dataclasses import field
from functools import partial
from typing import Any, TypeVar

from tile_ir import Func, KernelError, LaunchSequence, TileError
from tile_ir.quick_dataclasses import dataclass, replace
from tile_ir.switches import switch
from tile_runtime.cache.fingerprint import digest_of, sources_digest
from tile_runtime.jit_kernels.jit_compile import compile_func, order_of
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.jit_kernels.profiler import do_bench
from tile_runtime.jit_kernels.tensor_supply import Declared, supply_tensors
from tile_runtime.launcher.signature import KernelParam, Param, signature_of
from tile_runtime.tuning.eager_tuner import chosen
from tile_runtime.tuning.options import TuneOptions
from tile_runtime.tuning.results import TrialRow, config_text
from tile_runtime.tuning.trial import (
    REFUSED,
    RIGHT,
    TIMED_OUT,
    WRONG,
    Config,
    Trial,
    TrialOutcome,
    failed,
    pack,
    unpack,
)

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Inputs:
    """The inputs of trials for kernels with the same parameters: inputs and the reference's results
    as `Trial` has them, and milliseconds of the reference."""

    data: bytes
    reference: float | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A configuration that can be tried. `kernel` stands for all that its time depends on, `key`
    for that and for the configuration."""

    config: Config
    kernel: str
    key: str
    makes: Callable[[], JITKernel]
    declared: Declared


@dataclass(frozen=True, slots=True)
class _Traced:
    """A traced function as `Declared`."""

    prim_func: Any
    parameters: list[Param]
    out_idx: list[int]
    workspace_idx: list[int]
    device_type: str


@dataclass
class ConfigCandidates:
    """Makes candidates of the configurations of one call of a factory."""

    factory: Callable[..., JITKernel]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    options: TuneOptions
    inputs: tuple[Any, ...] | None
    labels: dict[str, str] = field(init=False)
    _made: dict[str, _Inputs] = field(default_factory=dict)

    def __post_init__(self) -> None:
        options, factory = self.options, self.factory
        device = options.device()
        self._device_type = device.device_type
        self._judged = "\0".join([options.judged(), sources_digest(), device.identity()])
        shown = [*map(repr, self.args), *(f"{k}={v!r}" for k, v in self.kwargs.items())]
        labels = {
            "factory": getattr(factory, "__qualname__", "factory").rpartition(".")[2],
            "arguments": ", ".join(shown),
            "chip": str(switch("soc")),
            "objective": "device" if options.on_device() else "modelled",
        }
        module = getattr(factory, "__module__", "")
        self.labels = {"study": digest_of(self._judged, module, *labels.values())[:16], **labels}

    def candidate(self, config: Config) -> Candidate | TrialOutcome:
        """The factory called with a configuration, for as long as a trial may take; what came of it
        if that is no kernel."""
        seconds = self.options.timeout
        try:
            makes, declared, about = within(seconds, partial(self._called, config))
        except TimeoutError:
            return TrialOutcome(
                TIMED_OUT, None, f"the factory has not returned after {seconds:g} s"
            )
        except Exception as error:  # it may refuse sizes in any way
            return failed(REFUSED, error)
        kernel = digest_of(self._judged, about, self._described(declared))
        key = digest_of(self._judged, about, self._described(declared), config_text(config))
        return Candidate(config, kernel, key, makes, declared)

    def trial(self, candidate: Candidate, apart: bool) -> Trial:
        options = self.options
        return Trial(
            candidate.makes, self._inputs_of(candidate).data, options.measuring(),
            options.switches(apart), options.timeout,
        )  # fmt: skip

    def looked_at(self, candidate: Candidate, outcome: TrialOutcome) -> TrialOutcome:
        """The outcome after the author's own check of the results that came back, if there are
        any."""
        check = self.options.manual_check_prog
        if outcome.results is None or check is None:
            return outcome
        (found,), _ = unpack(outcome.results, self._device_type)
        _, expected = unpack(self._inputs_of(candidate).data, self._device_type)
        try:
            check(found, expected)
        except (TileError, AssertionError) as error:
            return failed(WRONG, error)
        return replace(outcome, results=None)

    def row(self, config: Config, found: Candidate | None, outcome: TrialOutcome) -> TrialRow:
        """Return the stored row of an outcome."""
        text = config_text(config)
        reference = None
        if found is not None and outcome.state is RIGHT:
            reference = self._inputs_of(found).reference
        return TrialRow(
            key=found.key if found is not None else digest_of(self.labels["study"], text),
            config=text, state=outcome.state, milliseconds=outcome.milliseconds,
            reference=reference, problem=outcome.problem, slug=outcome.slug,
            seconds=outcome.seconds, given=self.options.timeout, ended=time.time(), **self.labels,
        )  # fmt: skip

    def _called(self, config: Config) -> tuple[Callable[[], JITKernel], Declared, str]:
        """Return a function that makes the kernel in any process, its declaration, and its
        dependences as text. A factory that does not come from `jit` compiles its kernel when it is
        called."""
        impl = getattr(self.factory, "__jit_impl__", None)
        if impl is None:
            found = self.factory(*self.args, **self.kwargs, **config)
            if isinstance(found, (Func, LaunchSequence)):
                raise KernelError(
                    "autotune-order", "the function returns a prim_func, and autotune times "
                    "kernels: write @T.autotune above @T.jit",
                )  # fmt: skip
            return _built(found)
        variant, own = chosen(impl, config)
        traced, options = variant.traced(*self.args, **self.kwargs, **own)
        if isinstance(traced, LaunchSequence):
            return _built(compile_func(traced, options))
        order = order_of(traced, options)
        makes, about = order.printed(options), _about(order.made_of)
        func = order.job.func
        params = list(signature_of(func, len(func.params)).params)
        declared = _Traced(
            func, params, list(order.outputs), list(order.workspaces), self._device_type
        )
        return makes, declared, about

    def _described(self, declared: Declared) -> str:
        """Inputs that were given, as far as times and results depend on them."""
        if self.inputs is None:
            return ""
        return repr([
            (str(x.dtype), tuple(x.shape)) if hasattr(x, "dtype") else x for x in self.inputs
        ])  # fmt: skip

    def _inputs_of(self, candidate: Candidate) -> _Inputs:
        """Those of kernels with the same parameters are the same."""
        declared = candidate.declared
        shapes = repr((declared.parameters, declared.out_idx, declared.workspace_idx))
        if shapes not in self._made:
            self._made[shapes] = self._make(declared)
        return self._made[shapes]

    def _make(self, declared: Declared) -> _Inputs:
        options = self.options
        if self.inputs is not None:
            inputs = list(self.inputs)
        elif options.supply_prog is not None:
            inputs = list(options.supply_prog(list(map(KernelParam.of, declared.parameters))))
        else:
            inputs = supply_tensors(declared, options.supply_type)
        bare = pack(inputs, None)
        if options.ref_prog is None:
            return _Inputs(bare, None)

        def reference() -> Any:
            """On inputs of its own, as it may write them."""
            assert options.ref_prog is not None, "asked for only if there is one"
            return options.ref_prog(*unpack(bare, self._device_type)[0])

        milliseconds = do_bench(reference, warmup=1, rep=1)
        return _Inputs(pack(inputs, reference()) if options.checks else bare, milliseconds)


def _built(kernel: JITKernel) -> tuple[Callable[[], JITKernel], Declared, str]:
    """`_called` of a kernel that is there already."""
    rebuild, made_of, _ = kernel.__reduce__()
    return partial(rebuild, *made_of), kernel, _about(made_of)


def _about(made_of: tuple[Any, ...]) -> str:
    """The identity of a printed kernel: all but the text of the files it was written in."""
    return "\0".join(repr(part) for part in made_of if not isinstance(part, dict))


def within(seconds: float, call: Callable[[], _T]) -> _T:
    """Return or raise as the call does. TimeoutError if it does not end: its thread gets the signal
    to end, and runs on."""
    found: Future[_T] = Future()

    def run() -> None:
        try:
            found.set_result(call())
        except BaseException as error:  # whatever the factory raises is its own
            found.set_exception(error)

    thread = threading.Thread(target=copy_context().run, args=(run,), daemon=True)
    thread.start()
    try:
        return found.result(seconds)
    except FutureTimeout:
        if found.done():  # the factory's own
            raise
        number = ctypes.c_ulong(thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(number, ctypes.py_object(SystemExit))
        raise TimeoutError from None
