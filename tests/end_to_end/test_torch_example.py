"""The decoder block of examples/torch: one graph, compiled once for all lengths, equal to torch."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any

import example_kernels
import pytest
import torch

SCRIPT = example_kernels.EXAMPLES / "torch" / "decoder_block.py"
# One token, less than a tile, just a tile, ragged tiles and more tiles than one core has.
LENGTHS = (1, 5, 64, 100, 193)


@pytest.fixture(scope="module")
def example() -> ModuleType:
    """Registered once: a process has one operator of a name."""
    spec = importlib.util.spec_from_file_location("decoder_block", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["decoder_block"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def block(example: ModuleType) -> Any:
    torch.manual_seed(0)
    return example.DecoderBlock()


def close(found: torch.Tensor, expected: torch.Tensor) -> bool:
    return (found - expected).abs().max().item() <= 8e-3 * expected.abs().max().item()


def test_block_equals_torch_and_is_compiled_once(example: ModuleType, block: Any) -> None:
    from torch._dynamo.testing import CompileCounter  # a second, for who collects this

    counter = CompileCounter()
    compiled = torch.compile(block, fullgraph=True, dynamic=True, backend=counter)
    for tokens in LENGTHS[1:]:
        given = example.inputs(tokens)
        found = compiled(*given)
        assert torch.equal(found, block(*given))
        assert close(found, example.in_torch(block, *given)), tokens
    assert counter.frame_count == 1
    given = example.inputs(1)  # which torch takes for a size of its own
    assert close(block(*given), example.in_torch(block, *given))


def test_block_is_exported_for_all_lengths(example: ModuleType, block: Any) -> None:
    tokens = {0: torch.export.Dim("tokens", min=2, max=4096)}
    shapes = dict.fromkeys(("x", "cos", "sin"), tokens)
    exported = torch.export.export(block, example.inputs(64), dynamic_shapes=shapes).module()
    for length in LENGTHS[1:]:
        given = example.inputs(length)
        assert torch.equal(exported(*given), block(*given))


@pytest.mark.parametrize("name", ["rms_norm", "rope_of_keys", "attention", "gated"])
def test_operators_pass_opcheck(example: ModuleType, name: str) -> None:
    x, cos, sin = example.inputs(33)
    heads, keys = x.view(-1, 4, 64), x[:, :128].reshape(-1, 2, 64)
    weights = torch.randn(2, 256, 384).half()
    given = {
        "rms_norm": (x, x[:1].clone()),
        "rope_of_keys": (keys, cos, sin),
        "attention": (heads, keys, keys.clone()),
        "gated": (x, weights[0], weights[1]),
    }
    torch.library.opcheck(getattr(example, name), given[name])


def test_block_by_the_compiler_of_torch(
    example: ModuleType, block: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose own kernels round elsewhere."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    compiled = torch.compile(block, fullgraph=True, dynamic=True)
    for tokens in LENGTHS[1:]:
        given = example.inputs(tokens)
        assert close(compiled(*given), example.in_torch(block, *given))
