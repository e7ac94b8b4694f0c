"""Families of chips, and what `lower` and `compile` accept as target."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_ir.switches import override
from tile_runtime.jit_kernels.kernel_artifact import lower
from tile_runtime.options.chip_family import determine_platform, family_of


@T.prim_func
def nothing(A: T.Tensor((16,), "float32")) -> None:
    with T.Kernel(1) as (cid, vid):
        T.barrier_all()


def test_the_family(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TL_PLATFORM", raising=False)
    assert determine_platform() == "A2" and determine_platform("A5") == "A5"
    with override(soc="Ascend910_9362"):
        assert determine_platform("auto") == "A3"
    monkeypatch.setenv("TL_PLATFORM", "A3")
    assert determine_platform() == "A3" and determine_platform("A2") == "A2"


def test_the_family_of_the_device_torch_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TL_PLATFORM", raising=False)
    device = SimpleNamespace(name="Ascend950PR")
    npu = SimpleNamespace(is_available=lambda: True, get_device_properties=lambda _: device)
    monkeypatch.setattr(torch, "npu", npu, raising=False)
    assert determine_platform() == "A5"
    monkeypatch.setattr(npu, "is_available", lambda: False)
    assert determine_platform() == "A3"


@pytest.mark.parametrize(
    ("name", "family"),
    [("Ascend910B3", "A2"), ("Ascend910_9391", "A3"), ("Ascend910C", "A3"), ("Ascend910A", "A2"),
     ("Ascend950PR_9599", "A5"), ("Ascend910_9599", "A5"), ("something", "A3")],
)  # fmt: skip
def test_names_of_devices(name: str, family: str) -> None:
    assert family_of(name) == family


def test_lower_gives_the_source() -> None:
    for target in ("auto", "ascendc", "pto"):
        artifact = lower(nothing, target=target, platform="A2")
        assert "nothing_kernel" in artifact.kernel_source and 'extern "C"' in artifact.kernel_source
        assert [p.name for p in artifact.params] == ["A"]
    with pytest.raises(KernelError):
        lower(nothing, target="metal")
    with pytest.raises(KernelError, match="expected a prim_func"):
        lower(3)  # type: ignore[arg-type]
