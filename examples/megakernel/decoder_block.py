"""A step of a decoder block in one launch: ten kernels in developer style are its tasks.

Each kernel stands for itself and runs as a launch of its own too; `decoder_block` makes tasks of
them. Batch and length of the cache are symbols, so that one binary serves every step of all
sequences. The newest key and value are appended to the cache by the task that turns them. With
TILE_TIME=1 it also prints what the time model says of ten launches and of one.
"""

import math
import os
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

import tile_frontend as T
from tile_runtime import gain_over, task_times

# Rows of a tile of the cube: no batch is larger.
ROWS = 16
CORES = 24
BATCH, LENGTH = T.symbolic("batch"), T.symbolic("length")
F16, F32 = "float16", "float32"


def rms_norm(width: int, eps: float = 1e-6) -> T.PrimFunc:
    @T.prim_func
    def norm(
        X: T.Tensor((BATCH, width), F16), W: T.Tensor((1, width), F16),
        Y: T.Tensor((BATCH, width), F16),
    ) -> None:  # fmt: skip
        with T.Kernel(ROWS, threads=1, is_npu=True) as cid:
            raw = T.alloc_shared((1, width), F16)
            raw_weight = T.alloc_shared((1, width), F16)
            x = T.alloc_shared((1, width), F32)
            square = T.alloc_shared((1, width), F32)
            weight = T.alloc_shared((1, width), F32)
            total = T.alloc_shared((1,), F32)
            for _ in T.serial(T.ceildiv(BATCH - cid, ROWS)):
                T.copy(W[0, 0], raw_weight)
                T.copy(X[cid, 0], raw)
                T.copy(raw_weight, weight)
                T.copy(raw, x)
                for i, j in T.Parallel(1, width):
                    square[i, j] = x[i, j] * x[i, j]
                T.reduce_sum(square, total, dim=-1)
                for i, j in T.Parallel(1, width):
                    x[i, j] = x[i, j] / T.sqrt(total[i] * (1.0 / width) + eps) * weight[i, j]
                T.copy(x, raw)
                T.copy(raw, Y[cid, 0])

    return norm


def product(K: int, N: int, block_N: int, block_K: int) -> T.PrimFunc:
    """Y = X @ W for one tile of rows; a block for each tile of columns."""

    @T.prim_func
    def gemm(
        X: T.Tensor((BATCH, K), F16), W: T.Tensor((K, N), F16), Y: T.Tensor((BATCH, N), F16)
    ) -> None:
        with T.Kernel(N // block_N, threads=2, is_npu=True) as cid:
            x = T.alloc_shared((ROWS, block_K), F16)
            w = T.alloc_shared((block_K, block_N), F16)
            y = T.alloc_fragment((ROWS, block_N), F32)
            for k in T.Pipelined(K // block_K, num_stages=2):
                T.copy(X[0, k * block_K], x)
                T.copy(W[k * block_K, cid * block_N], w)
                T.gemm_v0(x, w, y, init=(k == 0))
            T.copy(y, Y[0, cid * block_N])

    return gemm


def turn_and_append(heads: int, keys: int, D: int) -> T.PrimFunc:
    """Turn queries and the newest key of each sequence, and put key and value into the cache."""
    half, every = D // 2, heads + 2 * keys

    @T.prim_func
    def rope(
        QKV: T.Tensor((BATCH, every, D), F16),
        cos: T.Tensor((1, half), F16), sin: T.Tensor((1, half), F16),
        Q: T.Tensor((BATCH, heads, D), F16),
        K: T.Tensor((BATCH, LENGTH, keys, D), F16), V: T.Tensor((BATCH, LENGTH, keys, D), F16),
    ) -> None:  # fmt: skip
        with T.Kernel(ROWS, threads=1, is_npu=True) as cid:
            left = T.alloc_shared((heads + keys, half), F16)
            right = T.alloc_shared((heads + keys, half), F16)
            turned = T.alloc_shared((heads + keys, half), F16)
            v = T.alloc_shared((keys, D), F16)
            c = T.alloc_shared((1, half), F16)
            s = T.alloc_shared((1, half), F16)
            for _ in T.serial(T.ceildiv(BATCH - cid, ROWS)):
                T.copy(QKV[cid, 0 : heads + keys, 0:half], left)
                T.copy(QKV[cid, 0 : heads + keys, half:D], right)
                T.copy(cos[0, 0], c)
                T.copy(sin[0, 0], s)
                for h, j in T.Parallel(heads + keys, half):
                    turned[h, j] = left[h, j] * c[0, j] - right[h, j] * s[0, j]
                T.copy(turned[0:heads, :], Q[cid, :, 0:half])
                T.copy(turned[heads : heads + keys, :], K[cid, LENGTH - 1, :, 0:half])
                for h, j in T.Parallel(heads + keys, half):
                    right[h, j] = right[h, j] * c[0, j] + left[h, j] * s[0, j]
                T.copy(right[0:heads, :], Q[cid, :, half:D])
                T.copy(right[heads : heads + keys, :], K[cid, LENGTH - 1, :, half:D])
                T.copy(QKV[cid, heads + keys : every, :], v)
                T.copy(v, V[cid, LENGTH - 1, :, :])

    return rope


def attention(heads: int, keys: int, D: int, block: int = 64) -> T.PrimFunc:
    """All queries of a head of keys against the cache, `block` keys at a time."""
    scale, group = 1.0 / math.sqrt(D), heads // keys

    @T.prim_func
    def attend(
        Q: T.Tensor((BATCH, heads, D), F16),
        K: T.Tensor((BATCH, LENGTH, keys, D), F16), V: T.Tensor((BATCH, LENGTH, keys, D), F16),
        Output: T.Tensor((BATCH, heads, D), F16),
    ) -> None:  # fmt: skip
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            q = T.alloc_shared((ROWS, D), F16)
            k = T.alloc_shared((block, D), F16)
            v = T.alloc_shared((block, D), F16)
            weights = T.alloc_shared((ROWS, block), F16)
            scores = T.alloc_fragment((ROWS, block), F32)
            part = T.alloc_fragment((ROWS, D), F32)
            s = T.alloc_shared((ROWS, block), F32)
            p = T.alloc_shared((ROWS, block), F16)
            new = T.alloc_shared((ROWS, D), F32)
            o = T.alloc_shared((ROWS, D), F32)
            out = T.alloc_shared((ROWS, D), F16)
            before = T.alloc_shared((ROWS,), F32)
            peak = T.alloc_shared((ROWS,), F32)
            shrink = T.alloc_shared((ROWS,), F32)
            total = T.alloc_shared((ROWS,), F32)
            fresh = T.alloc_shared((ROWS,), F32)
            for t in T.serial(T.ceildiv(BATCH * keys - cid, CORES)):
                b, g = (t * CORES + cid) // keys, (t * CORES + cid) % keys
                T.copy(Q[b, g * group : (g + 1) * group, :], q[0:group, :])
                T.tile.fill(o, 0.0)
                T.tile.fill(total, 0.0)
                T.tile.fill(peak, -1e30)
                for n in T.serial(T.ceildiv(LENGTH, block)):
                    T.copy(K[b, n * block : (n + 1) * block, g, :], k)
                    T.gemm_v0(q, k, scores, transpose_B=True, init=True)
                    T.copy(scores, s)
                    if (n + 1) * block > LENGTH:
                        for i, j in T.Parallel(ROWS, block):
                            s[i, j] = T.if_then_else(n * block + j >= LENGTH, -1e30, s[i, j])
                    T.copy(peak, before)
                    T.reduce_max(s, peak, dim=-1)
                    for i in T.Parallel(ROWS):
                        peak[i] = T.max(peak[i], before[i])
                        shrink[i] = T.exp((before[i] - peak[i]) * scale)
                    for i, j in T.Parallel(ROWS, block):
                        s[i, j] = T.exp((s[i, j] - peak[i]) * scale)
                    T.copy(s, p)
                    T.copy(p, weights)
                    T.reduce_sum(s, fresh, dim=-1)
                    for i in T.Parallel(ROWS):
                        total[i] = total[i] * shrink[i] + fresh[i]
                    T.copy(V[b, n * block : (n + 1) * block, g, :], v)
                    T.gemm_v0(weights, v, part, init=True)
                    T.copy(part, new)
                    for i, j in T.Parallel(ROWS, D):
                        o[i, j] = o[i, j] * shrink[i] + new[i, j]
                for i, j in T.Parallel(ROWS, D):
                    o[i, j] = o[i, j] / total[i]
                T.copy(o, out)
                T.copy(out[0:group, :], Output[b, g * group : (g + 1) * group, :])

    return attend


def add_and_norm(width: int, eps: float = 1e-6) -> T.PrimFunc:
    """S = X + H, and Y = S / rms(S) * W."""

    @T.prim_func
    def residual_norm(
        X: T.Tensor((BATCH, width), F16), H: T.Tensor((BATCH, width), F16),
        W: T.Tensor((1, width), F16),
        S: T.Tensor((BATCH, width), F16), Y: T.Tensor((BATCH, width), F16),
    ) -> None:  # fmt: skip
        with T.Kernel(ROWS, threads=1, is_npu=True) as cid:
            raw = T.alloc_shared((1, width), F16)
            other = T.alloc_shared((1, width), F16)
            raw_weight = T.alloc_shared((1, width), F16)
            x = T.alloc_shared((1, width), F32)
            square = T.alloc_shared((1, width), F32)
            weight = T.alloc_shared((1, width), F32)
            total = T.alloc_shared((1,), F32)
            for _ in T.serial(T.ceildiv(BATCH - cid, ROWS)):
                T.copy(W[0, 0], raw_weight)
                T.copy(raw_weight, weight)
                T.copy(X[cid, 0], raw)
                T.copy(H[cid, 0], other)
                for i, j in T.Parallel(1, width):
                    raw[i, j] = raw[i, j] + other[i, j]
                T.copy(raw, S[cid, 0])
                T.copy(raw, x)
                for i, j in T.Parallel(1, width):
                    square[i, j] = x[i, j] * x[i, j]
                T.reduce_sum(square, total, dim=-1)
                for i, j in T.Parallel(1, width):
                    x[i, j] = x[i, j] / T.sqrt(total[i] * (1.0 / width) + eps) * weight[i, j]
                T.copy(x, other)
                T.copy(other, Y[cid, 0])

    return residual_norm


def gated(width: int) -> T.PrimFunc:
    """Y = silu(gate) * up, of the two halves of G."""

    @T.prim_func
    def silu_mul(G: T.Tensor((BATCH, 2 * width), F16), Y: T.Tensor((BATCH, width), F16)) -> None:
        with T.Kernel(ROWS, threads=2, is_npu=True) as cid:
            raw = T.alloc_shared((1, width), F16)
            raw_up = T.alloc_shared((1, width), F16)
            gate = T.alloc_shared((1, width), F32)
            up = T.alloc_shared((1, width), F32)
            for _ in T.serial(T.ceildiv(BATCH - cid, ROWS)):
                T.copy(G[cid, 0:width], raw)
                T.copy(G[cid, width : 2 * width], raw_up)
                T.copy(raw, gate)
                T.copy(raw_up, up)
                for i, j in T.Parallel(1, width):
                    gate[i, j] = gate[i, j] / (1.0 + T.exp(-gate[i, j])) * up[i, j]
                T.copy(gate, raw)
                T.copy(raw, Y[cid, 0:width])

    return silu_mul


def add(width: int) -> T.PrimFunc:
    @T.prim_func
    def residual(
        X: T.Tensor((BATCH, width), F16), H: T.Tensor((BATCH, width), F16),
        Y: T.Tensor((BATCH, width), F16),
    ) -> None:  # fmt: skip
        with T.Kernel(ROWS, threads=2, is_npu=True) as cid:
            x = T.alloc_shared((1, width), F16)
            h = T.alloc_shared((1, width), F16)
            for _ in T.serial(T.ceildiv(BATCH - cid, ROWS)):
                T.copy(X[cid, 0], x)
                T.copy(H[cid, 0], h)
                for i, j in T.Parallel(1, width):
                    x[i, j] = x[i, j] + h[i, j]
                T.copy(x, Y[cid, 0])

    return residual


class Kernels:
    """The ten kernels of a block of these sizes, in the order they run one by one."""

    def __init__(
        self, width: int, heads: int, keys: int, D: int, hidden: int, block_N: int, block_K: int
    ) -> None:
        every = (heads + 2 * keys) * D
        self.norm = rms_norm(width)
        self.qkv = product(width, every, block_N, block_K)
        self.rope = turn_and_append(heads, keys, D)
        self.attend = attention(heads, keys, D)
        self.out = product(heads * D, width, block_N, block_K)
        self.residual_norm = add_and_norm(width)
        self.gate_up = product(width, 2 * hidden, block_N, block_K)
        self.silu_mul = gated(hidden)
        self.down = product(hidden, width, block_N, block_K)
        self.residual = add(width)


# What a layer has of its own, in the order of the parameters of the launch.
WEIGHTS = ("norm_1", "w_qkv", "w_out", "norm_2", "w_gate_up", "w_down")


def decoder_block(kernels: Kernels, layers: int = 1) -> T.PrimFunc:
    """So many layers in one launch."""
    tasks = {name: T.Task(kernel, name=name) for name, kernel in vars(kernels).items()}
    calls, inputs = [], ["x_0", "cos", "sin"]
    for n in range(layers):

        def own(name: str, n: int = n) -> str:
            return f"{name}_{n}"

        x, after = own("x"), f"x_{n + 1}"
        inputs += [own(name) for name in (*WEIGHTS, "K", "V")]
        calls += [
            tasks["norm"](x, own("norm_1"), own("n")),
            tasks["qkv"](own("n"), own("w_qkv"), own("qkv")),
            tasks["rope"](own("qkv"), "cos", "sin", own("q"), own("K"), own("V")),
            tasks["attend"](own("q"), own("K"), own("V"), own("o")),
            tasks["out"](own("o"), own("w_out"), own("h")),
            tasks["residual_norm"](x, own("h"), own("norm_2"), own("s"), own("m")),
            tasks["gate_up"](own("m"), own("w_gate_up"), own("g")),
            tasks["silu_mul"](own("g"), own("u")),
            tasks["down"](own("u"), own("w_down"), own("d")),
            tasks["residual"](own("s"), own("d"), after),
        ]
    return T.megakernel(calls, inputs=inputs, outputs=[f"x_{layers}"], name="decoder_block")


def one_by_one(compiled: dict[str, T.JITKernel], x: Tensor, angles: tuple[Tensor, Tensor],
               layer: dict[str, Tensor]) -> Tensor:  # fmt: skip
    """The same layer in ten launches, with the same caches."""
    batch = x.shape[0]
    K, V = layer["K"], layer["V"]
    _, _, keys, D = K.shape
    n = compiled["norm"](x, layer["norm_1"])
    qkv = compiled["qkv"](n, layer["w_qkv"]).view(batch, -1, D)
    q = torch.empty(batch, qkv.shape[1] - 2 * keys, D, dtype=torch.float16)
    compiled["rope"](qkv, *angles, q, K, V)
    o = compiled["attend"](q, K, V).view(batch, -1)
    h = compiled["out"](o, layer["w_out"])
    s, m = compiled["residual_norm"](x, h, layer["norm_2"])
    g = compiled["gate_up"](m, layer["w_gate_up"])
    d = compiled["down"](compiled["silu_mul"](g), layer["w_down"])
    return compiled["residual"](s, d)


OUTPUTS = {"rope": None, "residual_norm": [3, 4]}
AUTOMATIC = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}


def compile_each(kernels: Kernels) -> dict[str, T.JITKernel]:
    return {
        name: T.compile(kernel, out_idx=OUTPUTS.get(name, [-1]), pass_configs=AUTOMATIC)
        for name, kernel in vars(kernels).items()
    }


class Times:
    """Kernels that note the modelled timeline of their latest run."""

    def __init__(self, kernels: dict[str, T.JITKernel]) -> None:
        self.taken: dict[str, Any] = {}
        self.kernels = {name: self._timed(name, kernel) for name, kernel in kernels.items()}

    def _timed(self, name: str, kernel: T.JITKernel) -> Callable[..., Any]:
        def call(*arguments: Tensor) -> Any:
            result = kernel(*arguments)
            self.taken[name] = kernel.timeline()
            return result

        return call

    def sums(self) -> tuple[float, float]:
        """Microseconds of all launches, with and without what each takes to begin."""
        lines = self.taken.values()
        return sum(t.microseconds for t in lines), sum(t.body_microseconds for t in lines)


def show_times() -> None:
    """A layer of a model of 1B parameters, batch 1, 512 keys: 61 million weights."""
    sizes = {"width": 2048, "heads": 32, "keys": 8, "D": 64, "hidden": 8192}
    kernels = Kernels(**sizes, block_N=128, block_K=128)
    launch = T.compile(decoder_block(kernels), out_idx=[-1], pass_configs=AUTOMATIC)
    layer = random_layer(1, 512, **sizes)
    x, angles = torch.randn(1, 2048).half(), angles_at(511, 64)
    each = Times(compile_each(kernels))
    one_by_one(each.kernels, x, angles, layer)
    launch(x, *angles, *layer.values())
    total, bodies = each.sums()
    line = launch.timeline()
    print(
        f"modelled: ten launches {total:.1f} us, one {line.microseconds:.1f} us; without what "
        f"launches take to begin {bodies:.1f} us and {line.body_microseconds:.1f} us"
    )
    source = launch.get_kernel_source()
    for task in task_times(line, source):
        print(
            f"{task.name:14} waits {task.waited:5.2f} us, takes {task.own:6.2f} us "
            f"(alone {each.taken[task.name].body_microseconds:.2f})"
        )
    print(gain_over(list(each.taken.values()), line, source))


def random_layer(batch: int, length: int, width: int, heads: int, keys: int, D: int,
                 hidden: int) -> dict[str, Tensor]:  # fmt: skip
    """Weights and caches of a layer; the newest place of a cache holds nothing yet."""

    def weight(rows: int, columns: int) -> Tensor:
        return (torch.randn(rows, columns) / rows**0.5).half()

    def cache() -> Tensor:
        kept = torch.randn(batch, length, keys, D).half()
        kept[:, -1] = 0
        return kept

    return {
        "norm_1": torch.randn(1, width).half(), "w_qkv": weight(width, (heads + 2 * keys) * D),
        "w_out": weight(heads * D, width), "norm_2": torch.randn(1, width).half(),
        "w_gate_up": weight(width, 2 * hidden), "w_down": weight(hidden, width),
        "K": cache(), "V": cache(),
    }  # fmt: skip


def angles_at(position: int, D: int) -> tuple[Tensor, Tensor]:
    angle = position / 10000 ** (torch.arange(D // 2) / (D // 2))
    return angle.cos().half()[None], angle.sin().half()[None]


def in_torch(x: Tensor, angles: tuple[Tensor, Tensor], layer: dict[str, Tensor]) -> Tensor:
    """The same layer by operators of torch, in float32 between the roundings of kernels."""
    batch, (_, _, keys, D) = x.shape[0], layer["K"].shape
    cos, sin = (a.float() for a in angles)

    def norm(t: Tensor, weight: Tensor) -> Tensor:
        wide = t.float()
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return (wide * scale * weight.float()).half()

    def times(t: Tensor, weight: Tensor) -> Tensor:
        return (t.float() @ weight.float()).half()

    def turn(t: Tensor) -> Tensor:
        left, right = t.float().chunk(2, -1)
        return torch.cat([left * cos - right * sin, right * cos + left * sin], -1).half()

    qkv = times(norm(x, layer["norm_1"]), layer["w_qkv"]).view(batch, -1, D)
    heads = qkv.shape[1] - 2 * keys
    q, k, v = turn(qkv[:, :heads]), turn(qkv[:, heads:-keys]), qkv[:, -keys:]
    K = torch.cat([layer["K"][:, :-1], k[:, None]], 1).float()
    V = torch.cat([layer["V"][:, :-1], v[:, None]], 1).float()
    scores = torch.einsum("bghd,blgd->bghl", q.float().view(batch, keys, -1, D), K) / D**0.5
    o = torch.einsum("bghl,blgd->bghd", scores.softmax(-1), V).reshape(batch, heads * D).half()
    s = x + times(o, layer["w_out"])
    gate, up = times(norm(s, layer["norm_2"]), layer["w_gate_up"]).float().chunk(2, -1)
    return s + times((torch.nn.functional.silu(gate) * up).half(), layer["w_down"])


def main() -> None:
    torch.manual_seed(0)
    sizes = {"width": 256, "heads": 4, "keys": 2, "D": 64, "hidden": 384}
    kernels = Kernels(**sizes, block_N=64, block_K=64)
    launch = T.compile(decoder_block(kernels), out_idx=[-1], pass_configs=AUTOMATIC)
    each = compile_each(kernels)
    for batch, length in ((1, 1), (1, 65), (16, 100), (3, 512)):
        layer = random_layer(batch, length, **sizes)
        x, angles = torch.randn(batch, 256).half(), angles_at(length - 1, 64)
        expected = in_torch(x, angles, layer)
        caches = {name: layer[name].clone() for name in ("K", "V")}
        separate = one_by_one(each, x, angles, {**layer, **caches})
        found = launch(x, *angles, *layer.values())
        error = (found - expected).abs().max().item()
        print(
            f"batch {batch}, {length} keys: max error {error:.3g} "
            f"(largest value {expected.abs().max():.3g})"
        )
        same = torch.equal(found, separate) and torch.equal(layer["K"], caches["K"])
        if not same or error > 8e-3 * expected.abs().max():
            sys.exit("MISMATCH")
    print("Kernel Output Match!")
    if os.environ.get("TILE_TIME"):
        show_times()


if __name__ == "__main__":
    main()
