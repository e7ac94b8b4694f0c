"""The kernel object a script calls (docs/language/index.md#kernel-objects)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import torch

from tile_ir import (
    Automatic,
    Diagnostic,
    For,
    Func,
    LoopKind,
    Stmt,
    Target,
    TileError,
    print_func,
    walk,
)
from tile_ir.code_generator import CodeGenerator
from tile_ir.quick_dataclasses import replace
from tile_passes import PassOptions
from tile_runtime.cache.fingerprint import source_hash
from tile_runtime.devices.device import KernelFiles, KernelLaunch
from tile_runtime.jit_kernels.build import Built, Timings
from tile_runtime.jit_kernels.factory_calls import refuse_grid, told_at
from tile_runtime.jit_kernels.kernel_adapter import CythonKernelAdapter, LibraryGenerator
from tile_runtime.jit_kernels.kernel_report import TimedKernel
from tile_runtime.jit_kernels.kernel_sources import KernelSources
from tile_runtime.jit_kernels.no_gradient import without_gradient, written_without_gradient
from tile_runtime.jit_kernels.prove import prove, wants_proof
from tile_runtime.launcher.bind_arguments import ArgumentBinder, Bound
from tile_runtime.launcher.kept_words import KeptWords
from tile_runtime.launcher.recording_modes import in_forward_mode
from tile_runtime.launcher.remember_call import Repeat
from tile_runtime.launcher.run_watchers import RECORDERS
from tile_runtime.launcher.signature import KernelParam, Param
from tile_runtime.launcher.tensor_memory import REGISTER
from tile_runtime.launcher.this_rank import THIS_RANK

if TYPE_CHECKING:
    from torch._ops import OpOverload

    from tile_passes.explain.schedules import LoopSchedule
    from tile_runtime.jit_kernels.profiler import Profiler
    from tile_runtime.jit_kernels.tensor_supply import TensorSupplyType


class JITKernel(KernelSources, TimedKernel):
    """A compiled kernel: call it with its inputs, get its outputs.

    `out_idx` and `workspace_idx` are positions in `prim_func.params`, never negative. `rebuild`
    makes the kernel anew from the values of `__reduce__`; `retrace` makes `prim_func` anew, for a
    kernel of a factory, whose `name` shows the arguments; `passes` are the options it was lowered
    with. A tuner sets `config`, `latency` and `ref_latency`, both in milliseconds, and `tuning`,
    all its results.
    """

    def __init__(
        self,
        prim_func: Func,
        target: Target,
        generator: CodeGenerator,
        built: Built,
        out_idx: tuple[int, ...],
        workspace_idx: tuple[int, ...],
        device_type: str,
        timings: Timings,
        rebuild: Callable[..., JITKernel],
        retrace: Callable[[], Func] | None = None,
        passes: PassOptions | None = None,
        name: str = "",
    ) -> None:
        self.prim_func = prim_func
        self.name = name or prim_func.name
        self.target = target
        self.generator = generator
        self.out_idx = list(out_idx)
        self.workspace_idx = list(workspace_idx)
        self.timings = timings
        self._rebuild = rebuild
        self.retrace = retrace
        self.passes = passes or PassOptions()
        self.device_type = device_type
        self.config: dict[str, Any] | None = None
        self.latency: float | None = None
        self.ref_latency: float | None = None
        self.tuning: Any = None
        self._built = built
        self._launch = built.launch
        self._proven = built.proven
        self._binder = ArgumentBinder(
            built.signature, out_idx, workspace_idx, device_type, prim_func
        )
        self._returns_one = len(out_idx) == 1
        self._kept = KeptWords(built.signature)
        self._repeat: Repeat | None = None

    def __call__(self, *inputs: Any, stream: Any = None, **named: Any) -> Any:
        """Run the kernel. Inputs fill the parameters that are neither outputs nor workspaces, by
        position or by name. With `stream`, all is as in a block `with torch.npu.stream(stream):`.

        Returns the output, or a list of them if there is not exactly one. Raises CallError when
        the arguments do not fit, SimulationError when the simulator finds a fault, and IRError if
        the first strict run of a kernel finds a mistake of the compiler's.
        """
        if stream is not None:
            with self._launch.on_stream(stream):
                return self(*inputs, **named)
        try:
            if named:
                inputs = self._binder.in_order(inputs, named)
            if self._repeat is not None:
                outputs = self._repeat(inputs)
                if outputs is not None:
                    return outputs
            stand_ins = self._binder.stand_ins(inputs)
            if stand_ins is not None:
                inputs = stand_ins.arguments
            call = self._binder.bind(inputs)
            self._tell_of_writes(inputs)
            self.run_bound(call, inputs)
            if stand_ins is not None:
                stand_ins.copy_back(self._binder.written)
        except TileError as error:
            raise error.with_traceback(None) from None  # our frames say nothing about the kernel
        if (
            call.repeated is not None
            and stand_ins is None
            and not self._kept
            and not (RECORDERS.get() or in_forward_mode())
        ):
            self._repeat = self._launch.remember(self._binder, call.repeated, inputs)
        outputs = call.outputs
        if torch.is_grad_enabled() and outputs:
            outputs = without_gradient(self.prim_func.name, outputs, inputs)
        return outputs[0] if self._returns_one else outputs

    def __getitem__(self, grid: Any) -> NoReturn:
        with told_at(self.prim_func.loc, self.prim_func.sources):
            refuse_grid(self.prim_func.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle or copy the kernel as its printed function and its options; loading builds it
        anew, or finds it in the cache."""
        made_of = printed(
            self.prim_func, self.target, self.passes, tuple(self.out_idx),
            tuple(self.workspace_idx),
        )  # fmt: skip
        return self._rebuild, made_of, self._kept_in_pickles()

    def _kept_in_pickles(self) -> dict[str, Any]:
        """Return the attributes that the function does not contain."""
        return {n: getattr(self, n) for n in ("name", "config", "latency", "ref_latency")}

    def run_bound(self, call: Bound, inputs: tuple[Any, ...]) -> None:
        """Run, and notify the observers of runs."""
        self.launch_again(call)
        for recorded in RECORDERS.get():
            recorded(self, call, inputs)

    @property
    def launcher(self) -> KernelLaunch:
        """The launcher of the kernel."""
        return self._launch

    @property
    def kept(self) -> KeptWords:
        """The state that it keeps from call to call on one device."""
        return self._kept

    @property
    def binder(self) -> ArgumentBinder:
        """The binder of its arguments."""
        return self._binder

    @property
    def files(self) -> KernelFiles:
        """Its files on disk."""
        return self._built.files

    def described(self, inputs: tuple[Any, ...]) -> list[torch.Tensor]:
        """Return the results of a call without values, for inputs of shapes, possibly symbolic
        ones."""
        return self._binder.described(inputs)

    def launch_again(self, call: Bound) -> None:
        """Run with the memory of an earlier call: the same inputs and the same outputs."""
        self._prove()
        if not self._kept:
            self._launch(call)
            return
        rank = THIS_RANK.get()
        kept = self._kept if rank is None else rank.kept(self._kept)
        try:
            self._launch(kept.next_call(call))
        except (TileError, KeyboardInterrupt):  # interrupted, words have counted some of the blocks
            if rank is None:  # those of ranks begin anew when all of them know
                kept.begin_anew()
            raise

    def tensor_bytes(self, call: Bound) -> int:
        """Of the tensors of a call, results included and workspaces not."""
        declared = call.sizes[: len(self.prim_func.params)]
        return sum(size for n, size in enumerate(declared) if n not in self.workspace_idx)

    def _tell_of_writes(self, inputs: tuple[Any, ...]) -> None:
        """Refuse to write where a gradient is wanted; autograd notices what it saved and is not
        any more. CallError as above."""
        written = self._binder.written
        if not written:
            return
        names = self._binder.names
        what = f"kernel `{self.prim_func.name}`"
        writes = [names[n] for n in written]
        written_without_gradient(what, zip(names, inputs, strict=False), writes, self.prim_func)
        for n in written:
            if not inputs[n].is_inference():
                torch.autograd.graph.increment_version(inputs[n])

    def _prove(self) -> None:
        """Prove a kernel that was built at another level of checks, before its first strict run."""
        if not self._proven and wants_proof():
            prove(self.prim_func, self.lowered, self.target)
            self._proven = True

    def get_kernel_source(self, kernel_only: bool = True) -> str:
        """The emitted source, with its caller on the host in the same file: both are compiled
        together."""
        return self._built.files.source.read_text()

    @property
    def source_hash(self) -> str:
        """The source's hash, to compare with the one that `tile-ascend`'s commands print."""
        return source_hash(self.get_kernel_source())

    def get_host_source(self) -> str:
        """The source that unpacks arguments for the kernel's `call`."""
        return self._built.files.entry.read_text()

    def explain_memory(self) -> str:
        """Where the buffers lie whose memory this kernel leaves open, and the use that decided:
        what `tile-ascend opt -p infer_memory --explain` prints."""
        from tile_passes import explain_memory

        return explain_memory(self.prim_func, self.target)

    def explain_sync(self) -> str:
        """Explain the compiler's ordering of the pipes: the inserted statements and their
        dependences, as `tile-ascend opt --explain` prints them."""
        from tile_passes import explain_sync

        return explain_sync(replace(self.prim_func, automatic=self.lowered.automatic), self.target)

    @cached_property
    def loop_schedules(self) -> tuple[LoopSchedule, ...]:
        """How the pipelined loops of this kernel are scheduled, where that is the compiler's."""
        from tile_passes import left_by
        from tile_passes.explain.schedules import loop_schedules

        func = left_by(self.prim_func, self.passes)
        pipelined = any(map(_is_pipelined, walk(func.launch.body)))
        if not pipelined and Automatic.ITERATIONS not in func.automatic:
            return ()
        return tuple(loop_schedules(func, self.target))

    @property
    def params(self) -> list[KernelParam]:
        """The parameters of the kernel, as scripts look at them."""
        return [KernelParam.of(p) for p in self.parameters[: len(self.prim_func.params)]]

    @property
    def parameters(self) -> list[Param]:
        """Parameters of the compiled kernel, workspaces added by the compiler at the end."""
        return list(self._built.signature.params)

    @property
    def remarks(self) -> tuple[Diagnostic, ...]:
        """The remarks of the passes about the kernel, also if it came from the cache."""
        return self._built.remarks

    @property
    def cached(self) -> bool:
        """Whether the kernel was on disk already."""
        return self.timings.cached

    @property
    def libpath(self) -> str:
        """The shared object."""
        return str(self._built.files.library)

    @property
    def srcpath(self) -> str:
        """The emitted source on disk."""
        return str(self._built.files.source)

    @cached_property
    def adapter(self) -> CythonKernelAdapter:
        """Where scripts look for the files of a kernel."""
        return CythonKernelAdapter(
            LibraryGenerator(self.libpath, self.srcpath), self.get_kernel_source()
        )

    def get_tuner_result(self) -> dict[str, Any]:
        """The results of the tuner; all None for a kernel that was not tuned."""
        return {"latency": self.latency, "config": self.config, "ref_latency": self.ref_latency}

    @cached_property
    def lowered(self) -> Func:
        """The function after all passes."""
        if self._built.lowered is not None:
            return self._built.lowered
        path = self._built.files.lowered
        from tile_ir import parse

        return parse(path.read_text(), str(path))

    def __repr__(self) -> str:
        return f"<kernel {self.name} for {self.target.name} at {self.libpath}>"

    @property
    def kernel(self) -> JITKernel:
        """This kernel: what a tuner finds is a kernel here, and has one in tilelang."""
        return self

    @property
    def func(self) -> Func:
        """The prim_func, as the result of a tuner of tilelang calls it."""
        return self.prim_func

    @property
    def libcode(self) -> str:
        """The emitted source, as the result of a tuner of tilelang calls it."""
        return self.get_kernel_source()

    def get_profiler(self, tensor_supply_type: TensorSupplyType | None = None) -> Profiler:
        """Runs this kernel with inputs of its own making."""
        # Most kernels are never asked for one.
        from tile_runtime.jit_kernels.profiler import Profiler
        from tile_runtime.jit_kernels.tensor_supply import TensorSupplyType

        return Profiler(self, tensor_supply_type or TensorSupplyType.Auto)

    def run_once(self, func: Callable[..., Any] | None = None) -> Any:
        """Run the kernel, or `func` in its place, on generated inputs, and return the results."""
        return self.get_profiler().run_once(func)

    def as_custom_op(
        self,
        name: str,
        mutates: Sequence[str] | None = None,
        backward: JITKernel | Callable[..., Any] | None = None,
    ) -> OpOverload:
        """Register this kernel with torch under `ns::name` and return the operator, for
        torch.compile, torch.export, autograd and vmap (docs/use/operators.md).

        `mutates` names the inputs that are written in place, by default those the kernel is seen to
        write. `backward`, a kernel or a function that calls operators, makes of the gradients of
        the floating outputs and all inputs those of the floating inputs, in order. KernelError for
        a name that is taken, and for what does not fit the kernel.
        """
        from tile_runtime.jit_kernels.torch_operator import register_operator

        return register_operator(self, name, mutates, backward)


def _outside_graphs(call: Any) -> None:
    """Have torch.compile run a call as it is, between two graphs, with all that it calls; and say
    why, where there is to be one graph only."""
    call._torchdynamo_disable = True
    call._torchdynamo_disable_msg = f"a kernel has no graph of torch: {REGISTER}"
    frames = torch._C._dynamo.eval_frame
    if hasattr(frames, "set_code_exec_strategy"):  # since torch 2.7; else it takes what it can
        skip = frames._FrameAction.SKIP
        frames.set_code_exec_strategy(call.__code__, frames._FrameExecStrategy(skip, skip))


_outside_graphs(JITKernel.__call__)


def printed(
    func: Func,
    target: Target,
    passes: PassOptions,
    outputs: tuple[int, ...],
    workspaces: tuple[int, ...],
) -> tuple[Any, ...]:
    """Return the parts of a kernel as plain data, which other processes can read."""
    options = replace(passes, dump_dir=None, after_each=None)
    return print_func(func), dict(func.sources), target.name, options, outputs, workspaces


def _is_pipelined(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and stmt.kind is LoopKind.PIPELINED
