"""torch.npu and torch_npu where there is no NPU. They are installed for good, so all of it happens
in another process, once."""

from __future__ import annotations

import pytest
from forked_python import run_python

PROGRAM = """
import threading, traceback
import torch
from tile_ir import TARGETS
from tile_runtime.devices.choose_device import npu_available

assert not npu_available()
from tile_runtime import host_npu

host_npu.install(TARGETS["Ascend910B2"])
import torch_npu
from torch.nn import functional as F


def factories_take_the_device():
    for device in (0, "npu", "npu:0", torch.device("npu"), torch.device("npu:0")):
        for tensor in (
            torch.zeros(3, device=device), torch.arange(3, device=device),
            torch.tensor([1, 2], device=device), torch.randperm(4, device=device),
            torch.zeros_like(torch.ones(2), device=device), torch.fft.fftfreq(4, device=device),
            torch.ones(2).new_zeros(3, device=device), torch.as_tensor([1], device=device),
            torch.randint(0, 4, (2,), device=device), torch.ones(2).to(device),
            torch.ones(2).to(device, torch.half), torch.ones(2).to(device=device),
            torch.nn.Linear(2, 2).to(device).weight, torch.empty((2, 2), device=device),
        ):
            assert tensor.device.type == "cpu"
    assert torch.ones(2).to("npu", torch.half).dtype is torch.half
    assert torch.ones(2).to(torch.half).dtype is torch.half
    assert torch.empty(2, device="meta").device.type == "meta"


def whole_numbers_wrap_when_they_are_stored():
    x = torch.zeros(3, dtype=torch.int8)
    x[1] = 255
    x[2:] = -129
    assert x.tolist() == [0, -1, 127]
    y = torch.zeros(2, dtype=torch.uint8)
    y[0] = -1
    assert y.tolist() == [255, 0]


def the_default_device():
    torch.set_default_device("npu")
    assert torch.ones(2).device.type == "cpu"
    with torch.device("npu"):
        assert torch.ones(2).device.type == "cpu"
    with torch.device("meta"):
        assert torch.ones(2).device.type == "meta"
    torch.set_default_device(None)


def moving_copies():
    host = torch.ones(3)
    for move in (torch.Tensor.npu, torch.Tensor.cpu, lambda x: x.to("npu"), lambda x: x.to("cpu"),
                 lambda x: x.to(device="npu:0")):
        there = move(host)
        there += 1
        assert host.tolist() == [1, 1, 1]
    assert host.to(torch.float32) is host
    leaf = torch.ones(3, requires_grad=True)
    (leaf.npu() * 2).sum().backward()
    assert leaf.grad.tolist() == [2, 2, 2]
    strided = torch.zeros(4, 6).T.npu()
    assert strided.stride() == (1, 6)


def what_is_there_stays_itself():
    made = (torch.ones(3, device="npu"), torch.ones(3).npu(), torch.ones(3).to("npu"),
            torch.zeros(3, device="npu").clone(), torch.empty_like(torch.ones(3), device="npu"))
    for there in made:
        for again in (there.npu(), there.to("npu"), there.view(1, 3).to(device="npu:0").view(-1)):
            again.fill_(7)
            assert there.tolist() == [7, 7, 7]
        back = there.cpu()
        back.fill_(8), there.to("cpu").fill_(8), there.npu().to("npu", copy=True).fill_(8)
        assert there.tolist() == [7, 7, 7]
        host = back.npu()
        host.fill_(9)
        assert back.tolist() == [8, 8, 8]
    half = torch.ones(3, device="npu").half()
    half.npu().fill_(2)  # who knows where that is
    assert half.tolist() == [1, 1, 1]
    sparse = torch.ones(3, 3).to_sparse().to("npu")
    assert sparse.clone().to_dense().sum() == 9


def a_tensor_is_stored_where_it_came_from():
    x = torch.arange(6.0).view(1, 6)
    x[:, 1:4] = x[:, 1:4].contiguous().view(1, -1).view(1, 3)
    assert x.tolist() == [[0, 1, 2, 3, 4, 5]]
    x[0, 1:] = x[0, :5]
    assert x.tolist() == [[0, 0, 1, 2, 3, 4]]
    try:
        x[0, 9] = 1.0
    except IndexError:
        return
    raise AssertionError("an index is checked")


def other_threads_too():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(torch.ones(2, device="npu").npu()))
    thread.start(), thread.join()
    assert seen


def generators():
    a = torch.Generator(device="npu").manual_seed(5)
    b = torch.Generator().manual_seed(5)
    assert isinstance(a, torch.Generator) and isinstance(torch.default_generator, torch.Generator)
    assert torch.equal(torch.rand(4, generator=a, device="npu"), torch.rand(4, generator=b))
    torch.manual_seed(3)
    first = torch.rand(2)
    torch.npu.manual_seed(3)
    assert torch.equal(first, torch.rand(2))


def functions_round_once():
    x = torch.linspace(-80, 80, 100_001)
    assert torch.equal(x.exp(), x.double().exp().float())
    assert torch.equal(torch.log(x.abs() + 1e-3), (x.abs() + 1e-3).double().log().float())
    half = torch.randn(8).half()
    assert half.exp().dtype is torch.half and torch.exp(half.double()).dtype is torch.double
    y = torch.ones(3, requires_grad=True)
    y.exp().sum().backward()
    torch.testing.assert_close(y.grad, torch.ones(3).exp())


def half_products_round_once():
    a, b = torch.randn(2, 8, 16).half(), torch.randn(2, 16, 4).half()
    exact = (a.double() @ b.double()).half()
    for found in (a @ b, torch.matmul(a, b), torch.bmm(a, b), a.bmm(b),
                  torch.einsum("bik,bkj->bij", a, b), torch.einsum("bik,bkj->bij", [a, b]),
                  torch.baddbmm(torch.zeros(2, 8, 4).half(), a, b)):
        assert found.dtype is torch.half
        assert torch.allclose(found, exact, rtol=1e-3, atol=1e-3)
    assert torch.equal(a[0].mm(b[0]), (a @ b)[0])
    assert (a.float() @ b.float()).dtype is torch.float32
    assert (a.to(torch.bfloat16) @ b.to(torch.bfloat16)).dtype is torch.bfloat16
    a.requires_grad_(True)
    (a @ b).sum().backward()
    assert a.grad.dtype is torch.half and a.grad.shape == a.shape
    classes = torch.tensor([1, 0], dtype=torch.int32)
    assert torch.nn.CrossEntropyLoss()(torch.randn(2, 3), classes).isfinite()


def marks_for_tools_are_taken():
    torch.cuda.profiler.start()
    with torch.cuda.nvtx.range("part"):
        torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start("inside"))
    torch.cuda.profiler.stop()


def the_device():
    npu = torch.npu
    properties = npu.get_device_properties("npu")
    assert (properties.name, properties.cube_core_num, properties.vector_core_num) == (
        "Ascend910B2", 24, 48)
    assert npu.is_available() and npu.device_count() == 1 and npu.current_device() == 0
    npu.set_device(0), npu.synchronize(), npu.empty_cache()
    assert npu.memory_allocated() == 0 and npu.current_stream()._as_parameter_.value is None
    start, end = npu.Event(enable_timing=True), npu.Event(enable_timing=True)
    start.record()
    with npu.stream(npu.Stream()):
        end.record()
    assert start.elapsed_time(end) >= 0
    assert torch_npu.npu is npu and torch.get_device_module("npu") is npu
    try:
        npu.is_avaliable()
    except AttributeError as error:
        assert "torch.npu.is_avaliable" in str(error) and "is_available" in str(error)
    try:
        npu.Event().elapsed_time(npu.Event())
    except RuntimeError as error:
        assert "recorded" in str(error)
    torch.npu.config.allow_internal_format = True


def a_graph_replays():
    x, y = torch.ones(3), torch.zeros(3)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        z = x * 2
        y += z.view(3)
    assert y.tolist() == [2, 2, 2]
    x.fill_(5)
    graph.replay()
    assert z.tolist() == [10, 10, 10] and y.tolist() == [12, 12, 12]
    graph.replay()
    assert y.tolist() == [22, 22, 22]


def activations():
    x, dy = torch.randn(4, 8, requires_grad=True), torch.randn(4, 8)
    F.gelu(x, approximate="tanh").backward(dy)
    assert torch.allclose(x.grad, torch_npu.npu_gelu_backward(dy, x.detach(), approximate="tanh"))
    x.grad = None
    half = torch.randn(4, 4)
    swiglu = torch.ops.npu.npu_swiglu(x)
    assert torch.allclose(swiglu, F.silu(x[:, :4]) * x[:, 4:])
    swiglu.backward(half)
    assert torch.allclose(
        x.grad, torch.ops.npu.npu_swiglu_backward(half, x.detach()), atol=1e-6)


def losses_and_norms():
    x, y = torch.randn(5, 7), torch.randint(0, 7, (5,))
    loss, logarithms, _, _ = torch_npu.npu_cross_entropy_loss(x, y, reduction="none")
    assert torch.allclose(loss, F.cross_entropy(x, y, reduction="none"))
    assert torch.allclose(logarithms, F.log_softmax(x, -1))
    gamma = torch.randn(7)
    assert torch.allclose(torch_npu.npu_rms_norm(x, gamma)[0], F.rms_norm(x, (7,), gamma, 1e-6))


def tokens_go_to_experts_and_back():
    tokens, experts = torch.randn(6, 3, requires_grad=True), torch.randint(0, 4, (6, 2))
    permuted, places = torch_npu.npu_moe_token_permute(tokens, experts)
    order = sorted(range(12), key=lambda i: (experts.flatten()[i].item(), i))
    assert torch.equal(permuted, tokens[torch.tensor(order) // 2])
    assert [int(places[i]) for i in order] == list(range(12)) and places.dtype is torch.int32
    weights = torch.full((6, 2), 0.5)
    back = torch_npu.npu_moe_token_unpermute(permuted, places, weights)
    assert torch.allclose(back, tokens)
    back.sum().backward()
    assert torch.allclose(tokens.grad, torch.ones(6, 3))
    cut, places = torch_npu.npu_moe_token_permute(tokens, experts, num_out_tokens=5)
    assert torch.equal(cut, permuted[:5])
    rest = torch_npu.npu_moe_token_unpermute(cut, places)
    assert rest.shape == (12, 3) and (rest[places >= 5] == 0).all()


def attention():
    x, angle = torch.randn(2, 3, 4, 8), torch.randn(1, 3, 1, 4)
    half = torch.cat([angle, angle], -1)
    turned = torch_npu.npu_rotary_mul(x, half.cos(), half.sin())
    pairs = torch.complex(x[..., :4], x[..., 4:]) * torch.polar(torch.ones(1), angle)
    assert torch.allclose(turned, torch.cat([pairs.real, pairs.imag], -1), atol=1e-6)
    both = angle.repeat_interleave(2, -1)
    turned = torch_npu.npu_rotary_mul(x, both.cos(), both.sin(), rotary_mode="interleave")
    pairs = torch.view_as_complex(x.unflatten(-1, (4, 2)).contiguous()) \\
        * torch.polar(torch.ones(1), angle)
    assert torch.allclose(turned, torch.view_as_real(pairs).flatten(-2), atol=1e-6)
    q, k, v = (torch.randn(2, heads, 5, 8) for heads in (4, 2, 2))
    expected = F.scaled_dot_product_attention(q, k, v, scale=0.3, enable_gqa=True)
    for layout, to in (("BNSD", lambda t: t), ("BSND", lambda t: t.transpose(1, 2)),
                       ("BSH", lambda t: t.transpose(1, 2).flatten(2)),
                       ("SBH", lambda t: t.permute(2, 0, 1, 3).flatten(2))):
        found = torch_npu.npu_fusion_attention(
            to(q), to(k), to(v), 4, input_layout=layout, scale=0.3)[0]
        assert torch.allclose(found, to(expected), atol=1e-5)
    causal = torch_npu.npu_fusion_attention(q, k, v, 4, "BNSD", scale=0.3, sparse_mode=3)[0]
    expected = F.scaled_dot_product_attention(q, k, v, scale=0.3, enable_gqa=True, is_causal=True)
    assert torch.allclose(causal, expected, atol=1e-5)


def sparse_attention():
    q, keys = torch.randn(2, 4, 8), torch.randn(3, 16, 1, 8)
    table = torch.tensor([[2, 0]])
    chosen = torch.stack([torch.randperm(32)[:6] for _ in range(2)])[:, None].int()
    chosen[1, 0, 4:] = -1
    found = torch_npu.npu_sparse_flash_attention(
        q, keys, keys, chosen, 0.5, block_table=table, layout_query="TND", layout_kv="PA_BSND",
        actual_seq_lengths_query=torch.tensor([2]), actual_seq_lengths_kv=torch.tensor([32]),
        sparse_mode=0)[0]
    rows = torch.cat([keys[2], keys[0]])[:, 0]
    for t in range(2):
        at = rows[chosen[t, 0][chosen[t, 0] >= 0].long()]
        assert torch.allclose(found[t], torch.softmax(q[t] @ at.T * 0.5, -1) @ at, atol=1e-5)


for check in (factories_take_the_device, marks_for_tools_are_taken, the_default_device,
              moving_copies, what_is_there_stays_itself,
              a_tensor_is_stored_where_it_came_from, whole_numbers_wrap_when_they_are_stored,
              other_threads_too,
              generators, functions_round_once, half_products_round_once, the_device, a_graph_replays, activations, losses_and_norms,
              tokens_go_to_experts_and_back, attention, sparse_attention):
    try:
        torch.manual_seed(0)
        check()
        print(check.__name__, "ok", flush=True)
    except Exception:
        print(check.__name__, traceback.format_exc().replace("\\n", " | "), flush=True)
"""
CHECKS = (
    "factories_take_the_device", "marks_for_tools_are_taken", "the_default_device", "moving_copies",
    "what_is_there_stays_itself",
    "a_tensor_is_stored_where_it_came_from", "whole_numbers_wrap_when_they_are_stored",
    "other_threads_too",
    "generators", "functions_round_once", "half_products_round_once", "the_device", "a_graph_replays", "activations", "losses_and_norms",
    "tokens_go_to_experts_and_back", "attention", "sparse_attention",
)  # fmt: skip


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    done = run_python(["-c", PROGRAM])
    assert done.returncode == 0, done.stderr
    lines = (line.partition(" ") for line in done.stdout.splitlines())
    return {name: outcome for name, _, outcome in lines}


@pytest.mark.parametrize("check", CHECKS)
def test_shim(check: str, outcomes: dict[str, str]) -> None:
    assert outcomes[check] == "ok"


def test_every_check_is_listed(outcomes: dict[str, str]) -> None:
    assert set(outcomes) == set(CHECKS)
