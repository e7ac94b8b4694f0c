"""A test double of `torch.npu`: streams, events, graphs and memory over the double of the runtime
library. What is not here no test needs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any


class RuntimeDouble:
    """The double of libascendcl.so."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        self._library.npu_double_calls.restype = ctypes.c_char_p

    def __getattr__(self, name: str) -> Callable[..., None]:
        """A call of the library. RuntimeError if it fails, as torch_npu has it."""
        function = getattr(self._library, name)

        def checked(*arguments: Any) -> None:
            code = function(*arguments)
            if code != 0:
                raise RuntimeError(f"{name}: error code is {code}")

        return checked

    def calls(self) -> list[str]:
        """The calls since this was last asked."""
        return list(self._library.npu_double_calls().decode().splitlines())

    def fail_next(self, call: str, code: int) -> None:
        """Let a call of the library fail once."""
        self._library.npu_double_fail(call.encode(), code)


class Stream:
    def __init__(self, runtime: RuntimeDouble) -> None:
        self._runtime = runtime
        self.handle = ctypes.c_void_p()
        runtime.aclrtCreateStream(ctypes.byref(self.handle))

    @property
    def npu_stream(self) -> int:
        assert self.handle.value is not None
        return self.handle.value

    def synchronize(self) -> None:
        self._runtime.aclrtSynchronizeStream(self.handle)


class Memory:
    """The caching allocator: memory belongs to the stream that was current when it was allocated,
    and is there until the work of that stream is done, whoever drops it."""

    def __init__(self, current: Callable[[], Stream]) -> None:
        self._current = current
        self.held: list[tuple[Stream, Any]] = []

    def recording(self, allocate: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(*arguments: Any, **options: Any) -> Any:
            tensor = allocate(*arguments, **options)
            self.held.append((self._current(), tensor))
            return tensor

        return recorded

    def streams(self) -> list[Stream]:
        """Of what was allocated, oldest first."""
        return [stream for stream, _ in self.held]


class TorchNpu(SimpleNamespace):
    """One device, which answers for all numbers of devices."""

    def __init__(self, runtime: RuntimeDouble) -> None:
        super().__init__()
        self._runtime = runtime
        self._stream = Stream(runtime)
        self.chosen_device = 0
        self.memory = Memory(self.current_stream)

    def is_available(self) -> bool:
        return True

    def device_count(self) -> int:
        return 1

    def current_device(self) -> int:
        return self.chosen_device

    @contextmanager
    def device(self, chosen: Any) -> Iterator[None]:
        before, self.chosen_device = self.chosen_device, chosen.index
        try:
            yield
        finally:
            self.chosen_device = before

    def get_device_name(self, device: Any = None) -> str:
        return "Ascend910B3"

    def get_device_properties(self, device: Any = None) -> Any:
        return SimpleNamespace(name="Ascend910B3", cube_core_num=20, vector_core_num=40)

    def current_stream(self, device: Any = None) -> Stream:
        return self._stream

    def Stream(self, device: Any = None) -> Stream:
        return Stream(self._runtime)

    @contextmanager
    def stream(self, chosen: Stream) -> Iterator[Stream]:
        before, self._stream = self._stream, chosen
        try:
            yield chosen
        finally:
            self._stream = before

    def synchronize(self, device: Any = None) -> None:
        self._runtime.aclrtSynchronizeDevice()
        self.memory.held.clear()

    def Event(self, enable_timing: bool = False) -> Event:
        return Event(self)

    def NPUGraph(self) -> Graph:
        return Graph(self)

    @contextmanager
    def graph(self, graph: Graph) -> Iterator[None]:
        """Captures on a stream of its own, as torch_npu does."""
        with self.stream(Stream(self._runtime)) as stream:
            self._runtime.aclmdlRICaptureBegin(stream.handle, 0)
            try:
                yield
            finally:
                self._runtime.aclmdlRICaptureEnd(stream.handle, ctypes.byref(graph.handle))
                # What is allocated meanwhile is the graph's for as long as it lives.
                graph.pool = [tensor for owner, tensor in self.memory.held if owner is stream]


class Event:
    def __init__(self, npu: TorchNpu) -> None:
        self._npu = npu
        self.handle = ctypes.c_void_p()
        npu._runtime.aclrtCreateEvent(ctypes.byref(self.handle))

    def record(self, stream: Stream | None = None) -> None:
        queue = stream or self._npu.current_stream()
        self._npu._runtime.aclrtRecordEvent(self.handle, queue.handle)

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds."""
        found = ctypes.c_float()
        self._npu._runtime.aclrtEventElapsedTime(ctypes.byref(found), self.handle, end.handle)
        return found.value


class Graph:
    def __init__(self, npu: TorchNpu) -> None:
        self._npu = npu
        self.handle = ctypes.c_void_p()
        self.pool: list[Any] = []

    def replay(self) -> None:
        stream = self._npu.current_stream()
        self._npu._runtime.aclmdlRIExecuteAsync(self.handle, stream.handle)
