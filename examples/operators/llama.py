"""A decoder of two layers as those of Llama and Qwen, by operators of ours and by torch alone.

Embedding, RMS norm, rotary positions, attention with grouped queries, a gated MLP (SwiGLU) and
cross entropy. `Ours` and `Eager` are two sets of the same functions; the model takes either. A
training step compares loss and all gradients, and that the loss falls.
"""

import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

sys.path.append(str(Path(__file__).parent))
import tile_ops

assert tile_ops.OPERATORS
LAYERS, WIDTH, HEADS, GROUPS, HEAD_DIM, HIDDEN, WORDS = 2, 128, 4, 2, 32, 256, 320
EPS = 1e-5


class Ours:
    """The functions of a decoder by `torch.ops.tile_ops`."""

    embed = staticmethod(torch.ops.tile_ops.gather_rows)
    rope = staticmethod(torch.ops.tile_ops.rope)
    product = staticmethod(torch.ops.tile_ops.gemm)
    product_and_sum = staticmethod(torch.ops.tile_ops.gemm_add)
    gated = staticmethod(torch.ops.tile_ops.gated_gemm)

    @staticmethod
    def norm(x: Tensor, weight: Tensor) -> Tensor:
        found: Tensor = torch.ops.tile_ops.rms_norm(x, weight, EPS)
        return found

    @staticmethod
    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        found: Tensor = torch.ops.tile_ops.attention(q, k, v, True)[0]
        return found

    @staticmethod
    def losses(logits: Tensor, labels: Tensor) -> Tensor:
        found: Tensor = torch.ops.tile_ops.cross_entropy(logits, labels)[0]
        return found


class Eager:
    """The same by torch, in float32 between the roundings of kernels."""

    @staticmethod
    def embed(table: Tensor, index: Tensor) -> Tensor:
        return table[index.long()]

    @staticmethod
    def rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        left, right = x.float().chunk(2, -1)
        c, s = cos[:, None], sin[:, None]
        return torch.cat([left * c - right * s, right * c + left * s], -1).to(x.dtype)

    @staticmethod
    def product(a: Tensor, b: Tensor) -> Tensor:
        return (a.float() @ b.float()).to(a.dtype)

    @staticmethod
    def product_and_sum(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        return (a.float() @ b.float() + c.float()).to(a.dtype)

    @staticmethod
    def gated(x: Tensor, gate: Tensor, up: Tensor) -> Tensor:
        wide = x.float()
        return (F.silu(wide @ gate.float()) * (wide @ up.float())).to(x.dtype)

    @staticmethod
    def norm(x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x.float(), x.shape[-1:], weight.float(), EPS).to(x.dtype)

    @staticmethod
    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k, v = (t.float().repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
        return F.scaled_dot_product_attention(q.float(), k, v, is_causal=True).to(q.dtype)

    @staticmethod
    def losses(logits: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(logits.float(), labels.long(), reduction="none")


class Layer(nn.Module):
    """Attention and gated MLP, each behind a norm and added to what it began with."""

    def __init__(self, ops: Any) -> None:
        super().__init__()
        self.ops = ops
        self.norm_attention, self.norm_mlp = _ones(WIDTH), _ones(WIDTH)
        self.query, self.output = _weight(WIDTH, WIDTH), _weight(WIDTH, WIDTH)
        self.key, self.value = (_weight(WIDTH, GROUPS * HEAD_DIM) for _ in range(2))
        self.gate, self.up = _weight(WIDTH, HIDDEN), _weight(WIDTH, HIDDEN)
        self.down = _weight(HIDDEN, WIDTH)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, batch: int) -> Tensor:
        """Of tokens [batch * length, WIDTH]."""
        ops = self.ops
        n = ops.norm(x, self.norm_attention)
        q = ops.rope(ops.product(n, self.query).view(-1, HEADS, HEAD_DIM), cos, sin)
        k = ops.rope(ops.product(n, self.key).view(-1, GROUPS, HEAD_DIM), cos, sin)
        v = ops.product(n, self.value).view(-1, GROUPS, HEAD_DIM)
        q, k, v = (t.view(batch, -1, *t.shape[1:]).transpose(1, 2) for t in (q, k, v))
        seen = ops.attention(q, k, v).transpose(1, 2).reshape(-1, WIDTH)
        x = ops.product_and_sum(seen, self.output, x)
        n = ops.norm(x, self.norm_mlp)
        return ops.product_and_sum(ops.gated(n, self.gate, self.up), self.down, x)  # type: ignore[no-any-return]


class Decoder(nn.Module):
    """Takes words [batch, length] and gives logits [batch * length, WORDS]."""

    def __init__(self, ops: Any) -> None:
        super().__init__()
        self.ops = ops
        self.table = _weight(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer(ops) for _ in range(LAYERS))
        self.norm = _ones(WIDTH)
        self.head = _weight(WIDTH, WORDS)

    def forward(self, words: Tensor) -> Tensor:
        batch, length = words.shape
        x = self.ops.embed(self.table, words.reshape(-1))
        half = HEAD_DIM // 2
        angle = torch.arange(length)[:, None] / 10000 ** (torch.arange(half) / half)
        cos, sin = (t.repeat(batch, 1) for t in (angle.cos(), angle.sin()))
        for layer in self.layers:
            x = layer(x, cos, sin, batch)
        return self.ops.product(self.ops.norm(x, self.norm), self.head)  # type: ignore[no-any-return]

    def loss(self, words: Tensor) -> Tensor:
        """The mean over all words but the first, each from those before it."""
        logits = self(words[:, :-1].contiguous())
        return self.ops.losses(logits, words[:, 1:].reshape(-1)).mean()  # type: ignore[no-any-return]


def _weight(rows: int, columns: int) -> nn.Parameter:
    return nn.Parameter((torch.randn(rows, columns) / rows**0.5).half())


def _ones(columns: int) -> nn.Parameter:
    return nn.Parameter(torch.ones(columns).half())


def both_decoders() -> tuple[Decoder, Decoder]:
    """By our operators and by torch, with the same weights."""
    ours, eager = Decoder(Ours), Decoder(Eager)
    eager.load_state_dict(ours.state_dict())
    return ours, eager


def largest_error(found: Tensor, expected: Tensor) -> float:
    """Relative to the largest value."""
    error = (found.double() - expected.double()).abs().max() / expected.double().abs().max()
    return error.item()


def train(model: Decoder, words: Tensor, rate: float) -> tuple[float, dict[str, Tensor]]:
    """A step of gradient descent; the loss before it and the gradients."""
    loss = model.loss(words)
    loss.backward()
    gradients = {}
    with torch.no_grad():
        for name, weight in model.named_parameters():
            assert weight.grad is not None, name
            gradients[name] = weight.grad
            weight -= rate * weight.grad
            weight.grad = None
    return loss.item(), gradients


def main() -> None:
    torch.manual_seed(0)
    ours, eager = both_decoders()
    words = torch.randint(0, WORDS, (2, 34), dtype=torch.int32)
    with torch.no_grad():
        error = largest_error(ours(words), eager(words))
    print(f"logits of {LAYERS} layers: error {error:.2g} of the largest")
    losses, errors = [], [error]
    for _ in range(2):
        (of_ours, gradients), (of_eager, expected) = (train(m, words, 0.5) for m in (ours, eager))
        worst = max(gradients, key=lambda name: largest_error(gradients[name], expected[name]))
        errors.append(largest_error(gradients[worst], expected[worst]))
        losses.append(of_ours)
        print(
            f"loss {of_ours:.4f}, by torch {of_eager:.4f}; largest error of a gradient: "
            f"{errors[-1]:.2g} of `{worst}`"
        )
        if abs(of_ours - of_eager) > 2e-3 * of_eager:
            sys.exit("MISMATCH")
    if max(errors) > 3e-2 or losses[1] >= losses[0]:
        sys.exit("MISMATCH")
    print("Kernel Output Match!")


if __name__ == "__main__":
    main()
