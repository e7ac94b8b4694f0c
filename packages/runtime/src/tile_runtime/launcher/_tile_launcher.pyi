"""Runs compiled kernels, on the simulator or on a device."""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

CHECKS_OFF: int
CHECKS_DEVICE: int
CHECKS_STRICT: int
DELIVERY_SEED: int
DELIVERY_PROMPT: int
DELIVERY_LATE: int

def load_simulator(path: str) -> None:
    """Loads libtile_simulator.so for the whole process; later calls do nothing."""

class LaunchError:
    """The error of a launch: of all blocks that failed, that of the first to start."""

    @property
    def kind(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def block(self) -> int: ...
    @property
    def core(self) -> str: ...
    @property
    def api(self) -> str: ...
    @property
    def hint(self) -> str: ...
    @property
    def rank(self) -> int:
        """Whose block it is, in a launch over several ranks; else -1."""

class WordHistory:
    """What launches on the same ranks have signalled, for a later one on them."""

    def __init__(self) -> None: ...
    def forget(self) -> None:
        """All ranks have met."""

class Kernel:
    """A loaded kernel library; closed when the object dies.

    `kinds` names the kind of every argument: 'ptr', 'i32', 'i64', 'f32', 'f64' or 'bool'. One that
    is not `simulated` is started on a device; it has no options, timeline, warnings or gaps.
    """

    def __init__(
        self,
        path: str,
        entry_symbol: str,
        kinds: Sequence[str],
        names: Sequence[str] = ...,
        simulated: bool = ...,
    ) -> None: ...
    def set_options(
        self,
        *,
        checks: int = ...,
        threads: int = ...,
        seed: int = ...,
        starved: int = ...,
        cube_cores: int = ...,
        vector_cores: int = ...,
        timing: dict[str, float] | None = ...,
        timeout: float = ...,
        starved_rank: int = ...,
        delivery: int = ...,
        node_ranks: int = ...,
    ) -> None:
        """Options of later runs of this kernel. threads = 0 means all host threads; `starved`
        1..3 lets aic, aiv0 or aiv1 run only when no other core can; `timing`
        holds the constants of the time model (tile_ir.timing), None leaves it off.

        Of runs over ranks: `starved_rank` r + 1 does the same with rank r, and `delivery` says when
        stores to another rank arrive: DELIVERY_SEED, DELIVERY_PROMPT or DELIVERY_LATE. `node_ranks`
        ranks make up a node, which reaches others over RoCE; 0: all are one node."""

    def timeline(self) -> tuple[dict[str, float], list[str], bytes, bytes, bytes] | None:
        """Totals, strings, events, accesses and paddings (bytes of TileTimeEvent, TileTimeAccess
        and TileBankPadding) of the latest timed run on this thread."""

    def rank_times(
        self,
    ) -> (
        tuple[
            list[tuple[int, int, dict[str, float]]],
            list[tuple[int, int, int, int, float]],
            float,
        ]
        | None
    ):
        """Of the latest timed run over ranks on this thread: the first event, the first access and
        the totals of each rank; source, target, bytes, signals and busy cycles of each link in use;
        and the cycles it would take if nothing between ranks took time."""

    def others(self) -> list[LaunchError]:
        """Further errors of the latest run on this thread; of one without an error, its warnings:
        waste, and what no document says."""

    def unwritten(self, base: int, element_bytes: int) -> tuple[int, int, int]:
        """Of the fresh buffer at `base`, what the latest run on this thread did not write: how many
        elements, and where the first run of them begins and ends; zeros without checks."""

    def run(
        self,
        values: tuple[float, ...],
        byte_sizes: tuple[int, ...] | None = None,
        fresh: tuple[int, ...] = (),
        stream: int = ...,
    ) -> tuple[LaunchError | None, str]:
        """Runs the kernel on the given values (pointers as integers): to the end, or on a device
        until it is queued on the stream.

        `byte_sizes` gives the size of the buffer behind every pointer (ignored for scalars).
        Without it no GM buffer is registered, and every GM access is an error. `fresh` are the
        positions of buffers that nothing has written, and are filled with bytes nobody expects:
        reading what the run did not write is an error.
        """

    def run_ranks(
        self,
        values: Sequence[tuple[float, ...]],
        byte_sizes: tuple[int, ...],
        fresh: Sequence[tuple[int, ...]] = (),
        allocations: Sequence[tuple[str, int, tuple[int, ...]]] = (),
        timing: dict[str, float] | None = ...,
        process: tuple[int, ...] | None = ...,
        earlier: WordHistory | None = ...,
    ) -> tuple[LaunchError | None, str]:
        """Simulates one launch over as many ranks as `values` has tuples, each with the values of
        its own; sizes are those of every rank. `allocations` is the memory that ranks reach of each
        other: its name, its bytes, and where it lies on each rank. `timing` is as in `set_options`,
        and `earlier` has what the launches before have signalled."""

class Torch:
    """What of torch a remembered call needs: types of plain tensors, the plainest first; `empty`,
    which makes one of a shape and strides; whether gradients are followed; whether a transform
    is between a tensor and its memory; `modes`, which are all false unless calls are recorded; and
    `wrote`, which tells autograd of a tensor that is about to be written."""

    def __init__(
        self,
        *,
        types: tuple[type, ...],
        empty: Callable[..., Any],
        grad_enabled: Callable[[], bool],
        wrapped: Callable[[Any], bool] | None,
        modes: tuple[Callable[[], Any], ...],
        wrote: Callable[[Any], None],
    ) -> None: ...
    def tells(self) -> bool:
        """Whether this torch tells of tensors through the C interface of DLPack."""

class Epoch:
    """The switches of a call: TILE_ variables of the environment, and context variables."""

    def __init__(self, variables: list[ContextVar[Any]]) -> None: ...
    def holds(self) -> bool:
        """Whether no variable of the environment has changed since, and every context variable has
        the object it had."""

class RememberedCall:
    """A call that went through, to be done again with arguments that are like its own.

    `like` are those; `tensors` are (argument number, position, dtype), `scalars` (argument number,
    position, least, greatest), `allocated` (position, shape, strides, dtype, bytes of an element,
    whether all of it has to be written before it is read); `returned` are places in `allocated`, `written` the arguments that the kernel
    writes, `sizes` the bytes at every position, `constants` the last values.
    """

    def __init__(
        self,
        *,
        kernel: Kernel,
        torch: Torch,
        epoch: Epoch,
        like: tuple[Any, ...],
        tensors: Sequence[tuple[int, int, Any]],
        scalars: Sequence[tuple[int, int, int, int]],
        allocated: Sequence[tuple[int, Any, Any, Any, int, bool]],
        returned: Sequence[int],
        written: Sequence[int],
        device: Any,
        sizes: Sequence[int],
        constants: Sequence[int],
        stream: Callable[[], int | None] | None,
        finish: Callable[[tuple[Any, ...], list[Any], LaunchError | None, str], None],
    ) -> None: ...
    def __call__(self, arguments: tuple[Any, ...]) -> Any:
        """The result, or a list if there is not exactly one. None: the call is not like the
        remembered one, and nothing was done."""
