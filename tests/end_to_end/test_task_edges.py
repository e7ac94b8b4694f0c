"""Every wait that is emitted is needed: without it the simulator reports a race or a deadlock."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any

import example_kernels
import pytest
import torch

import tile_frontend as T
import tile_ir
from end_to_end.test_megakernels import random_tasks
from tile_ir.switches import override
from tile_passes.tasks import join
from tile_passes.tasks.edges import TaskEdge, edges_between
from tile_runtime.jit_kernels.kernel_artifact import lower

pytestmark = pytest.mark.usefixtures("strict")

SIZES = {"width": 256, "heads": 4, "keys": 2, "D": 64, "hidden": 384}
AUTOMATIC = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
# So many orders of the cores are tried before a wait counts as needless.
ORDERS: list[dict[str, Any]] = [
    {"starve": "aiv0"}, {"starve": "aic"}, {}, *({"seed": n} for n in range(1, 8)),
]  # fmt: skip


def edges_of(func: T.PrimFunc, monkeypatch: pytest.MonkeyPatch) -> list[TaskEdge]:
    """What is emitted for a megakernel; nothing is compiled."""
    found: list[TaskEdge] = []

    def noting(*given: Any) -> Any:
        edges = edges_between(*given)
        found[:] = edges
        return edges

    with monkeypatch.context() as patch:
        patch.setattr(join, "edges_between", noting)
        lower(func, pass_configs=AUTOMATIC)
    return found


def noticed(func: T.PrimFunc, edge: TaskEdge, arguments: Any, patch: pytest.MonkeyPatch) -> bool:
    """Whether some order of the cores shows that a wait is not there."""

    def without(*given: Any) -> Any:
        return tuple(e for e in edges_between(*given) if e != edge)

    with patch.context() as patched, override(cache=False):
        patched.setattr(join, "edges_between", without)
        kernel = T.compile(func, pass_configs=AUTOMATIC)
    for order in ORDERS:
        try:
            with override(**order):
                kernel(*arguments())
        except tile_ir.TileError as error:
            assert any(word in str(error) for word in ("race", "deadlock", "unwritten", "uninit"))
            return True
    return False


@pytest.mark.parametrize("seed", range(5))
def test_random_graphs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    func, _ = random_tasks(100 + seed, 8)
    edges = edges_of(func, monkeypatch)
    assert edges

    def arguments() -> list[torch.Tensor]:
        return [torch.randn(64, 64) for p in func.params if isinstance(p, tile_ir.Buffer)]

    redundant = [e for e in edges if not noticed(func, e, arguments, monkeypatch)]
    assert not redundant


@pytest.fixture(scope="module")
def example() -> ModuleType:
    script = example_kernels.EXAMPLES / "megakernel" / "decoder_block.py"
    spec = importlib.util.spec_from_file_location("edges_of_megakernel", script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["edges_of_megakernel"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("dropped", range(9))
def test_a_decoder_block(dropped: int, example: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = example.Kernels(**SIZES, block_N=64, block_K=64)
    func = example.decoder_block(kernels)
    edge = edges_of(func, monkeypatch)[dropped]
    assert (edge.first, edge.then) == (dropped, dropped + 1)

    def arguments() -> list[torch.Tensor]:
        layer = example.random_layer(16, 70, **SIZES)
        x = torch.randn(16, SIZES["width"]).half()
        return [x, *example.angles_at(69, 64), *layer.values(), torch.empty_like(x)]

    assert noticed(func, edge, arguments, monkeypatch)


def test_the_waits_of_a_decoder_block(example: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each task waits for the one before: what it needs of others is there by then."""
    func = example.decoder_block(example.Kernels(**SIZES, block_N=64, block_K=64))
    edges = edges_of(func, monkeypatch)
    assert [(e.first, e.then) for e in edges] == [(n, n + 1) for n in range(9)]
