"""The operators of examples/operators: manifests, values, gradients, and what torch asks of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import example_kernels
import pytest
import torch

FOLDER = example_kernels.EXAMPLES / "operators"
sys.path.append(str(FOLDER))
import tile_ops  # noqa: E402
from tile_ops.manifest import Case, Operator  # noqa: E402
from tile_ops.register import call_sizes  # noqa: E402
from tile_ops.signature import ScalarParameter, match_arguments, parse_signature  # noqa: E402
from tile_ops.trial import (  # noqa: E402
    errors,
    make_arguments,
    referred,
    relative,
    type_choices,
)

OPERATORS = tile_ops.OPERATORS
DIFFERENTIABLE = [o.name for o in OPERATORS.values() if o.backward is not None]
# Those whose gradient exists in float32, and is that of a smooth function.
SMOOTH = ("gelu", "silu_mul", "rms_norm", "layer_norm", "softmax", "log_softmax", "gemm_bias_silu")
# A relative error of gradients of float16, which pass through roundings of results between.
GRADIENT = {"float16": 1e-2, "bfloat16": 6e-2, "float32": 1e-4}

# Compiled from several large kernels, gradients with them.
SLOW = ("attention", "window_attention", "gated_gemm", "gemm_bias")


def quick_first(names: Iterable[str]) -> list[Any]:
    """The names as cases; slow ones run with `--all` only."""
    return [
        pytest.param(n, marks=[pytest.mark.exhaustive] if n.startswith(SLOW) else []) for n in names
    ]


def called(name: str, *arguments: Any) -> Any:
    return getattr(torch.ops.tile_ops, name)(*arguments)


def small(name: str) -> tuple[Operator, list[Any]]:
    """The arguments of an operator's second case, in its first types."""
    torch.manual_seed(0)
    operator = OPERATORS[name]
    return operator, make_arguments(operator, operator.cases[1], next(type_choices(operator)))


def value_cases() -> Iterator[Any]:
    for operator in OPERATORS.values():
        for types in type_choices(operator):
            for number, case in enumerate(operator.cases):
                parts = (operator.name, *types.values(), str(number))
                yield pytest.param(operator, case, types, id="-".join(parts))


@pytest.mark.parametrize(("operator", "case", "types"), list(value_cases()))
def test_values(operator: Operator, case: Case, types: dict[str, str]) -> None:
    torch.manual_seed(0)
    arguments = make_arguments(operator, case, types)
    allowed = operator.tolerance[types.get("T", "float32")]
    assert max(errors(operator, arguments)) <= allowed


def floating_results(name: str, results: Any) -> list[torch.Tensor]:
    """Those that a gradient can pass through."""
    several = list(results) if isinstance(results, (tuple, list)) else [results]
    without = OPERATORS[name].without_gradient
    several = [r for i, r in enumerate(several) if i not in without]
    return [r for r in several if r.is_floating_point()]


@pytest.mark.parametrize("name", quick_first(DIFFERENTIABLE))
def test_gradients_are_those_of_torch(name: str) -> None:
    """Of the reference in float32, in the types of the operator's first case and its widest."""
    torch.manual_seed(0)
    operator = OPERATORS[name]
    types = list(type_choices(operator))[-1]
    given = make_arguments(operator, operator.cases[1], types)

    def wanted(wide: bool) -> list[Any]:
        return [
            (a.float() if wide else a).detach().clone().requires_grad_()
            if isinstance(a, torch.Tensor) and a.is_floating_point()
            else a
            for a in given
        ]

    ours, theirs = wanted(False), wanted(True)
    found = floating_results(name, called(name, *ours))
    expected = floating_results(name, operator.reference(*theirs))
    weights = [torch.randn(f.shape).to(f.dtype) for f in found]
    torch.autograd.backward(found, weights)
    wide = [w.to(e.dtype) for w, e in zip(weights, expected, strict=True)]
    torch.autograd.backward(expected, wide)
    compared = 0
    for ours_one, theirs_one in zip(ours, theirs, strict=True):
        if isinstance(ours_one, torch.Tensor) and ours_one.grad is not None:
            compared += 1
            assert relative(ours_one.grad, theirs_one.grad) <= GRADIENT[types["T"]]
    assert compared


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("queries", "keys"), [(40, 150), (150, 40)], ids=["more keys", "more queries"]
)
def test_gradients_of_attention_where_tiles_meet_no_other(queries: int, keys: int) -> None:
    """Under a causal mask, keys behind the last query have gradients of 0."""
    torch.manual_seed(0)
    shapes = ((queries, 2), (keys, 1), (keys, 1))
    given = [torch.randn(1, heads, count, 32).half() for count, heads in shapes]
    ours = [x.clone().requires_grad_() for x in given]
    theirs = [x.float().requires_grad_() for x in given]
    found, _ = called("attention", *ours, True)
    expected, _ = OPERATORS["attention"].reference(*theirs, True)
    weight = torch.randn(found.shape).half()
    found.backward(weight)
    expected.backward(weight.float())
    for x, y in zip(ours, theirs, strict=True):
        assert relative(x.grad, y.grad) <= GRADIENT["float16"]


def test_index_outside_of_the_rows_adds_zeros() -> None:
    x, index = torch.randn(5, 40), torch.tensor([[0, -1], [7, 4], [2, 2]], dtype=torch.int32)
    found = called("combine_rows", x, index, torch.ones(3, 2))
    assert torch.equal(found, torch.stack([x[0], x[4], x[2] + x[2]]))


def test_no_gradient_passes_through_the_sums_of_cross_entropy() -> None:
    """They require none, so that nobody takes zeros for one."""
    _, arguments = small("cross_entropy")
    losses, sums = called("cross_entropy", arguments[0].requires_grad_(), arguments[1])
    assert losses.requires_grad and not sums.requires_grad


@pytest.mark.parametrize("name", quick_first(SMOOTH))
def test_gradients_are_slopes(name: str) -> None:
    """By differences, as torch's gradcheck computes them; its usual step is one of float64."""
    operator = OPERATORS[name]
    torch.manual_seed(0)
    arguments = make_arguments(operator, operator.cases[1], {"T": "float32"})
    inputs = tuple(a.requires_grad_() if isinstance(a, torch.Tensor) else a for a in arguments)
    with pytest.warns(UserWarning, match="double precision"):
        assert torch.autograd.gradcheck(
            getattr(torch.ops.tile_ops, name), inputs, eps=1e-2, atol=2e-2, rtol=2e-2,
            fast_mode=True, nondet_tol=0.0,
        )  # fmt: skip


@pytest.mark.parametrize("name", quick_first(OPERATORS))
def test_torch_takes_the_operator(name: str) -> None:
    """Its schema, shapes without values, gradients and traces agree with what it does."""
    operator, arguments = small(name)
    if operator.backward is not None:
        arguments = [
            a.requires_grad_() if isinstance(a, torch.Tensor) and a.is_floating_point() else a
            for a in arguments
        ]
    torch.library.opcheck(
        getattr(torch.ops.tile_ops, name).default, tuple(arguments),
        rtol=3e-2, atol=3e-2,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["rms_norm", "gelu_mul", "softmax", "gemm", "quantise_rows"])
def test_strided_tensors(name: str) -> None:
    """Every other column of a wider tensor, turned."""
    operator, arguments = small(name)
    strided = [
        torch.stack([a, a], -1)[..., 0] if isinstance(a, torch.Tensor) else a for a in arguments
    ]
    assert not strided[0].is_contiguous()
    both = zip(_listed(called(name, *strided)), _listed(called(name, *arguments)), strict=True)
    for found, expected in both:
        assert torch.equal(found, expected)


def _listed(results: Any) -> list[torch.Tensor]:
    return list(results) if isinstance(results, (tuple, list)) else [results]


EMPTY = {
    "gelu": ("rest", 0), "rms_norm": ("rest", 0), "softmax": ("rest", 0), "gemm": ("M", 0),
    "transpose": ("M", 0), "gather_rows": ("R", 0), "attention": ("S", 0), "grouped_gemm": ("M", 0),
    "quantise_rows": ("rest", 0), "cross_entropy": ("rest", 0),
}  # fmt: skip


@pytest.mark.whole
@pytest.mark.parametrize("name", EMPTY)
def test_empty_tensors(name: str) -> None:
    """No kernel is compiled for a result without elements."""
    operator = OPERATORS[name]
    size, count = EMPTY[name]
    case = operator.cases[1]
    case = (
        Case((count, *case.rest), case.sizes)
        if size == "rest"
        else Case(case.rest, {**case.sizes, size: count})
    )
    arguments = make_arguments(operator, case, next(type_choices(operator)))
    both = zip(_listed(called(name, *arguments)), referred(operator, arguments), strict=True)
    for found, expected in both:
        assert found.shape == expected.shape


REFUSED = {
    "type": ("rms_norm", (torch.ones(2, 8, dtype=torch.int32), torch.ones(8)),
             "tile_ops::rms_norm: x is int32, expected float16 or bfloat16 or float32; "
             "hint: convert it: x.to(torch.float16)"),
    "other-type": ("rms_norm", (torch.ones(2, 8), torch.ones(8).half()),
                   "tile_ops::rms_norm: weight is float16, but another tensor of type T is "
                   "float32; hint: convert it: weight.to(torch.float32)"),
    "shape": ("rms_norm", (torch.ones(2, 8), torch.ones(9)),
              "tile_ops::rms_norm: weight has 9 where T[N] has N = 8; "
              "hint: its shape must be [8]"),
    "rank": ("gemm", (torch.ones(2, 2, 8), torch.ones(8, 2)),
             "tile_ops::gemm: a has 3 dimensions, [2, 2, 8], expected T[M, K]; "
             "hint: add or drop dimensions: unsqueeze, squeeze or reshape"),
    "leading": ("silu_mul", (torch.ones(2, 8), torch.ones(8)),
                "tile_ops::silu_mul: up begins with sizes [8], not [2, 8]; "
                "hint: give both the same leading sizes: expand or reshape one"),
    "rule": ("attention",
             (torch.ones(1, 3, 4, 16).half(), *[torch.ones(1, 2, 4, 16).half()] * 2, True),
             "tile_ops::attention: H = 3, G = 2 does not fulfil H % G == 0; hint: each head of "
             "keys has as many heads of queries: give H a multiple of G"),
    "width": ("softmax", (torch.ones(1, 20000),),
              "tile_ops::softmax: N = 20000 does not fulfil N <= 10240; "
              "hint: a tile holds whole rows: give at most 10240 columns"),
    "heads": ("attention",
              (torch.ones(1, 2, 4, 16).half(), *[torch.ones(1, 0, 4, 16).half()] * 2, True),
              "tile_ops::attention: G = 0 does not fulfil G >= 1; hint: there must be a head of keys"),
    "no-width": ("attention", (*[torch.ones(1, 1, 4, 0).half()] * 3, True),
                 "tile_ops::attention: D = 0 does not fulfil D >= 16; "
                 "hint: a head must have elements"),
    "derived": ("rope", (torch.ones(2, 1, 32), torch.ones(2, 15), torch.ones(2, 16)),
                "tile_ops::rope: cos has 15 where float32[S, D // 2] has D // 2 = 16; "
                "hint: its shape must be [2, 16]"),
}  # fmt: skip


@pytest.mark.whole
@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_fit_is_refused(what: str) -> None:
    """With values and without: a trace meets the same error."""
    name, arguments, message = REFUSED[what]
    with pytest.raises(ValueError) as found:
        called(name, *arguments)
    assert str(found.value) == message
    with pytest.raises(ValueError, match="hint"):
        called(name, *(a.to("meta") if isinstance(a, torch.Tensor) else a for a in arguments))


def test_operators_without_a_gradient_say_so() -> None:
    x = torch.randn(4, 32).half().requires_grad_()
    assert OPERATORS["quantise_rows"].backward is None
    with pytest.raises(RuntimeError):
        called("quantise_rows", x)[1].sum().backward()


@pytest.mark.parametrize("kind", ["norm", "mlp"])
def test_traced_graphs_have_any_number_of_rows(kind: str) -> None:
    from torch._dynamo.testing import CompileCounterWithBackend

    def norm(x: torch.Tensor) -> Any:
        return called("softmax", called("rms_norm", x, weight)) + 1

    def mlp(x: torch.Tensor) -> Any:
        return called("silu_mul", called("gemm", x, matrix), called("gemm", x, matrix))

    torch.manual_seed(0)
    weight, matrix = torch.randn(64), torch.randn(64, 96)
    counter = CompileCounterWithBackend("aot_eager")
    function = {"norm": norm, "mlp": mlp}[kind]
    compiled = torch.compile(function, fullgraph=True, dynamic=True, backend=counter)
    for rows in (3, 8, 50):
        x = torch.randn(rows, 64, requires_grad=True)
        found = compiled(x)
        assert torch.equal(found, function(x))
        found.sum().backward()
        assert x.grad is not None
    assert counter.frame_count == 1


@pytest.mark.exhaustive
def test_decoder_example() -> None:
    lines = example_kernels.lines_at_strict(FOLDER / "llama.py")
    assert lines[-1] == "Kernel Output Match!", lines


def test_manifests_are_complete() -> None:
    """Names, types, rules and workloads fit together, without a run."""
    forward = [o for o in OPERATORS.values() if not o.gradient_of]
    assert len(forward) >= 30
    for operator in OPERATORS.values():
        assert operator.gradient_of in ("", *OPERATORS), operator.name
        assert operator.summary and len(operator.cases) >= 2, operator.name
        assert operator.bound in ("HBM", "matrix units", "vector units"), operator.name
        assert set(operator.make) <= {p.name for p in operator.signature.parameters}
        for case in (*operator.cases, operator.workload):
            types = next(type_choices(operator))
            given = meta_arguments(operator, case, types)
            sizes = call_sizes(operator, given)
            assert all(n > 0 for n in operator.tiles(sizes)), operator.name
            results = _listed(called(operator.name, *given))
            assert [tuple(r.shape) for r in results] == [
                sizes.shape(r) for r in operator.signature.results
            ]
        assert operator.choices(sizes), operator.name


def test_every_operator_is_on_the_page() -> None:
    page = (example_kernels.EXAMPLES.parent / "docs" / "use" / "operators.md").read_text()
    for name, operator in OPERATORS.items():
        assert f"| `{operator.signature}` |" in page, f"{name}: run `docs/generate.py`"
        assert f"| `{name}` |" in page, f"{name}: run `docs/generate.py 'tables of operators.md'`"


def meta_arguments(operator: Operator, case: Case, types: dict[str, str]) -> list[Any]:
    """The arguments of a case without values."""
    with torch.device("meta"):
        bare = Operator(**{**fields_of(operator), "make": {}})
        return make_arguments(bare, case, types)


def fields_of(operator: Operator) -> dict[str, Any]:
    return {name: getattr(operator, name) for name in operator.__dataclass_fields__}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("f x -> T[N]", "not a signature"),
        ("f(x) -> T[N]", "not a parameter"),
        ("f(x: T[N], n: float) -> T[N]", "not a parameter"),
        ("f(x: T[N]) -> T", "not a tensor"),
    ],
)
def test_signatures_that_are_none(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_signature(text)


def test_signature_in_words_of_torch() -> None:
    signature = parse_signature(
        "f(x: T[..., N], k: int = 3, b: bool = True) -> T[..., N], int32[k]"
    )
    assert signature.schema() == "(Tensor x, int k=3, bool b=True) -> (Tensor, Tensor)"
    assert [p.value for p in signature.parameters if isinstance(p, ScalarParameter)] == [3, True]
    sizes = match_arguments(signature, {"T": ("float32",)}, [torch.ones(2, 3, 5), 4, False])
    assert (sizes.rest, sizes.rows, sizes.N) == ((2, 3), 6, 5)
    assert [sizes.shape(r) for r in signature.results] == [(2, 3, 5), (4,)]
