"""Parse functions from text: the inverse of `printer`. The grammar stands in `grammar.lark`.

Names resolve as they are read: a scalar or buffer must be defined above its use.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from tile_ir.diagnostics.errors import IRError, did_you_mean
from tile_ir.dtypes import BOOL, DTYPES, INT32, DType
from tile_ir.expr import (
    BINARY_FUNCTIONS,
    COMPARISONS,
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    Var,
    computed_in,
    unfit,
)
from tile_ir.location import Loc
from tile_ir.machine import Core, Layout, Memory
from tile_ir.nodes import (
    Alloc,
    AttrValue,
    Automatic,
    Body,
    Break,
    Buffer,
    For,
    Func,
    Given,
    If,
    Launch,
    Let,
    LoopKind,
    Op,
    Operand,
    Phase,
    Region,
    Section,
    Slice,
    Stmt,
    Store,
    TaskKernel,
    While,
)
from tile_ir.ops import OPS
from tile_ir.ranks import NUMBERS_OF_LAUNCH
from tile_ir.scalars.arithmetic import UNARY_FUNCTIONS
from tile_ir.text.parse_limits import beyond_limits

Node = Tree[Token] | Token


@lru_cache(maxsize=1)
def _lark() -> Lark:
    grammar = Path(__file__).with_name("grammar.lark").read_text()
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=True)


def parse(text: str, file: str = "<text>") -> Func:
    """Read one function.

    Raises IRError at the line and column of the text where it is malformed or names something
    unknown.
    """
    try:
        tree = _lark().parse(text)
    except UnexpectedInput as error:
        found = error.get_context(text).strip().splitlines()[0] if text.strip() else "nothing"
        raise IRError(
            "ir-syntax",
            f"cannot read the ir here: {found}",
            Loc(file, max(error.line, 1), max(error.column, 1)),
            "docs/internals/index.md#the-ir has the grammar",
            sources={file: text},
        ) from None
    reader = _Reader(text, file)
    if (beyond := beyond_limits(tree)) is not None:
        raise reader.fail(beyond[0], "ir-syntax", beyond[1])
    return reader.func(tree)


def _children(node: Node) -> list[Node]:
    assert isinstance(node, Tree)
    return list(node.children)


def _threads(node: Node) -> int | None:
    return None if str(node) == "any" else int(str(node))


class _Reader:
    """Definitions seen so far while the tree is turned into nodes."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.files: dict[int, str] = {}
        self.scalars: dict[str, Var] = {v.name: v for v in NUMBERS_OF_LAUNCH}
        self.buffers: dict[str, Buffer] = {}

    def fail(self, node: Node, slug: str, message: str, hint: str | None = None) -> IRError:
        meta: Any = node if isinstance(node, Token) else node.meta
        loc = Loc(self.file, getattr(meta, "line", 1), getattr(meta, "column", 1))
        return IRError(slug, message, loc, hint, sources={self.file: self.text})

    def func(self, tree: Tree[Token]) -> Func:
        nodes = list(tree.children)
        while isinstance(nodes[0], Tree) and nodes[0].data == "file":
            number, name = nodes.pop(0).children  # type: ignore[union-attr]
            self.files[int(str(number))] = json.loads(str(name))
        name, phase, automatic, loc, *rest = nodes
        params = tuple(self.param(node) for node in rest[:-1])
        called: str = json.loads(str(name))
        if not called.isidentifier():
            raise self.fail(name, "ir-syntax", f"{called!r} is no name of a function")
        return Func(
            called,
            params,
            self.launch(rest[-1]),
            self.word(phase, Phase, upper=True),
            self.loc(loc),
            frozenset(self.word(n, Automatic) for n in _children(automatic)),
        )

    def word(self, node: Node, enum: Any, upper: bool = False) -> Any:
        members = {m.name if upper else m.value: m for m in enum}
        key = str(node).upper() if upper else str(node)
        if key not in members:
            hint = did_you_mean(key, map(str, members))
            raise self.fail(node, "ir-word", f"unknown {enum.__name__.lower()} `{node}`", hint)
        return members[key]

    def dtype(self, node: Node, name: str | None = None) -> DType:
        name = name or str(node)
        if name not in DTYPES:
            raise self.fail(node, "ir-word", f"unknown type `{name}`", did_you_mean(name, DTYPES))
        return DTYPES[name]

    def loc(self, node: Node) -> Loc:
        number, line, column = (int(str(t)) for t in _children(node)[:3])
        if number not in self.files:
            raise self.fail(node, "ir-file", f"file {number} is not declared")
        return Loc(self.files[number], line, column, generated=len(_children(node)) > 3)

    def define(self, node: Node, dtype: DType) -> Var:
        var = Var(str(node)[1:], dtype)
        self.scalars[var.name] = var
        return var

    def param(self, node: Node) -> Buffer | Var:
        assert isinstance(node, Tree)
        if node.data == "scalar":
            name, dtype = node.children
            return self.define(name, self.dtype(dtype))
        name, dtype, shape, loc = node.children
        return self.buffer(name, Memory.GM, self.dtype(dtype), shape, self.loc(loc))

    def buffer(self, name: Node, memory: Memory, dtype: DType, shape: Node, loc: Loc) -> Buffer:
        dims = tuple(self.shape_dim(d) for d in _children(shape) if d is not None)
        key = str(name)[1:]
        if key in self.buffers:
            raise self.fail(name, "ir-name", f"buffer `{key}` is declared twice")
        self.buffers[key] = Buffer(key, memory, dtype, dims, loc)
        return self.buffers[key]

    def shape_dim(self, node: Node) -> Expr:
        """A dimension; an unknown scalar in it is a symbolic dimension, declared by its use."""
        for token in [node] if isinstance(node, Token) else node.scan_values(lambda _: True):
            if token.type == "SCALAR" and token[1:] not in self.scalars:
                self.define(token, INT32)
        return self.expr(node)

    def launch(self, node: Node) -> Launch:
        blocks, block, lane, threads, loc, *rest = _children(node)
        extent = self.expr(blocks)
        block_var, lane_var = self.define(block, INT32), self.define(lane, INT32)
        allocs = tuple(self.alloc(n) for n in rest if isinstance(n, Tree) and n.data == "alloc")
        stmts = [n for n in rest if not (isinstance(n, Tree) and n.data == "alloc")]
        body = self.body(stmts)
        return Launch(extent, block_var, lane_var, _threads(threads), allocs, body, self.loc(loc))

    def alloc(self, node: Node) -> Alloc:
        name, memory, dtype, shape, *placements, loc = _children(node)
        place = self.loc(loc)
        buffer = self.buffer(name, self.word(memory, Memory), self.dtype(dtype), shape, place)
        address: int | None = None
        layout: Layout | None = None
        scratch = False
        alias_of: Buffer | None = None
        for p in placements:
            assert isinstance(p, Tree)
            match p.data:
                case "address":
                    address = int(str(p.children[0]))
                case "layout":
                    layout = self.word(p.children[0], Layout)
                case "scratch":
                    scratch = True
                case "alias":
                    alias_of = self.find(p.children[0])
        return Alloc(buffer, place, address, layout, scratch, alias_of)

    def body(self, nodes: Sequence[Node]) -> Body:
        return tuple(self.stmt(n) for n in nodes)

    def block(self, node: Node | None) -> Body:
        return self.body(_children(node)) if node is not None else ()

    def stmt(self, node: Node) -> Stmt:
        assert isinstance(node, Tree)
        parts = list(node.children)
        match node.data:
            case "let":
                name, dtype, value, loc = parts
                bound = self.expr(value)
                return Let(self.define(name, self.dtype(dtype)), bound, self.loc(loc))
            case "for_":
                name, dtype, kind, start, stop, stages, given, task, at, block = parts
                first, last = self.expr(start), self.expr(stop)
                var = self.define(name, self.dtype(dtype))
                count = int(str(*_children(stages)) or 0)
                said = tuple(self.given(*_children(g)) for g in _children(given))
                of, body = self.word(kind, LoopKind), self.block(block)
                part = self.task(*_children(task)) if _children(task) else None
                return For(var, first, last, of, body, self.loc(at), count, said, part)
            case "while_":
                return While(self.expr(parts[0]), self.block(parts[2]), self.loc(parts[1]))
            case "if_":
                test, rare, at, then, other = parts
                sides = self.block(then), self.block(other)
                return If(self.expr(test), *sides, self.loc(at), rare is not None)
            case "section":
                return Section(self.word(parts[0], Core), self.block(parts[2]), self.loc(parts[1]))
            case "store":
                name, *indices, value, loc = parts
                places = tuple(self.expr(i) for i in indices if i is not None)
                return Store(self.find(name), places, self.expr(value), self.loc(loc))
            case "break_":
                return Break(self.loc(parts[0]))
        return self.op(node)

    def given(self, at: Node, order: Node, stage: Node) -> Given:
        return Given(self.loc(at), int(str(order)), int(str(stage)))

    def task(
        self, name: Node, threads: Node, after: Node, ahead: Node | None, automatic: Node
    ) -> TaskKernel:
        left = frozenset(self.word(n, Automatic) for n in _children(automatic))
        before = tuple(json.loads(str(n)) for n in _children(after))
        return TaskKernel(json.loads(str(name)), _threads(threads), left, before, ahead is not None)

    def op(self, node: Tree[Token]) -> Op:
        name, *operands, attrs, loc = node.children
        if str(name) not in OPS:
            hint = did_you_mean(str(name), OPS)
            raise self.fail(name, "unknown-op", f"unknown operation `{name}`", hint)
        opdef = OPS[str(name)]
        given = {}
        for attr in _children(attrs) if attrs is not None else []:
            key, value = _children(attr)
            if str(key) not in {a.name for a in opdef.attrs}:
                raise self.fail(attr, "unknown-attribute", f"{opdef.name} has no attribute `{key}`")
            given[str(key)] = self.value(value)
        missing = [a.name for a in opdef.attrs if a.name not in given]
        if missing:
            raise self.fail(node, "missing-attribute", f"{opdef.name} lacks `{missing[0]}`")
        values = tuple(
            float(given[a.name])  # type: ignore[arg-type]
            if a.type is float and isinstance(given[a.name], int)
            else given[a.name]
            for a in opdef.attrs
        )
        named = tuple(self.operand(o) for o in operands if o is not None)
        return Op(opdef, named, values, self.loc(loc))

    def value(self, node: Node) -> AttrValue:
        assert isinstance(node, Tree)
        text = str(node.children[0])
        if node.data == "string":
            return str(json.loads(text))
        if node.data == "word":
            words: dict[str, AttrValue] = {"true": True, "false": False, "none": None}
            if text not in words:
                raise self.fail(node, "ir-word", f"unknown attribute value `{text}`")
            return words[text]
        return int(text) if text.lstrip("-").isdigit() else float(text)

    def operand(self, node: Node) -> Operand:
        if isinstance(node, Tree):
            match node.data:
                case "whole":
                    return Region.whole(self.find(node.children[0]))
                case "none":
                    return None
                case "region":
                    name, *slices = node.children
                    buffer = self.find(name)
                    if len(slices) != buffer.rank:
                        raise self.fail(node, "ir-rank", f"`{buffer.name}` has rank {buffer.rank}")
                    return Region(buffer, tuple(self.slice(s) for s in slices))
        return self.expr(node)

    def slice(self, node: Node) -> Slice:
        offset, extent, step = _children(node)
        stride = 1 if step is None else int(str(step))
        return Slice(self.expr(offset), self.expr(extent), stride)

    def find(self, node: Node) -> Buffer:
        name = str(node)[1:]
        if name not in self.buffers:
            hint = did_you_mean(name, self.buffers)
            raise self.fail(node, "ir-name", f"unknown buffer `{name}`", hint)
        return self.buffers[name]

    def expr(self, node: Node) -> Expr:
        assert isinstance(node, Tree)
        parts = list(node.children)
        match node.data:
            case "var":
                name = str(parts[0])[1:]
                if name not in self.scalars:
                    hint = did_you_mean(name, self.scalars)
                    raise self.fail(parts[0], "ir-name", f"unknown scalar `{name}`", hint)
                return self.scalars[name]
            case "constant":
                return self.constant(parts[0])
            case "load":
                name_token, *indices = parts
                places = tuple(self.expr(i) for i in indices if i is not None)
                return Load(self.find(name_token), places)
            case "or_" | "and_":
                word = str(node.data)[:-1]
                return Binary(word, self.expr(parts[0]), self.expr(parts[1]), BOOL)
            case "not_":
                return Unary("not", self.expr(parts[0]), BOOL)
            case "binary" | "compare":
                a, b = self.expr(parts[0]), self.expr(parts[2])
                return self.binary(node, str(parts[1]), a, b)
            case "minus":
                if str(parts[0]) != "-":
                    raise self.fail(node, "ir-syntax", "unary + is not part of the ir")
                inner = self.expr(parts[1])
                if isinstance(inner, Const):
                    return Const(-inner.value, inner.dtype)
                return Unary("-", inner, inner.dtype)
            case "invert":
                return Unary("~", inner := self.expr(parts[0]), inner.dtype)
            case "convert":
                # The keyword is anonymous, so it is read from the text.
                word = self.text[node.meta.start_pos : node.meta.start_pos + 4]
                return Cast(self.expr(parts[1]), self.dtype(parts[0]), word == "bits")
            case "function":
                return self.function(node)
        raise self.fail(node, "ir-syntax", f"`{node.data}` is not an expression")

    def function(self, node: Tree[Token]) -> Expr:
        word, values = str(node.children[0]), [self.expr(a) for a in node.children[1:]]
        if word in BINARY_FUNCTIONS and len(values) == 2:
            return self.binary(node, word, values[0], values[1])
        if word == "select" and len(values) == 3:
            return Select(values[0], values[1], values[2], values[1].dtype)
        if word in UNARY_FUNCTIONS and len(values) == 1:
            return Unary(word, values[0], values[0].dtype)
        message = "ir-function"
        hint = did_you_mean(word, (*BINARY_FUNCTIONS, "select", *UNARY_FUNCTIONS))
        raise self.fail(node, message, f"no function `{word}` of {len(values)} arguments", hint)

    def constant(self, node: Node) -> Const:
        body, _, suffix = str(node).partition(":")
        if body in ("true", "false"):
            return Const(body == "true", BOOL)
        dtype = self.dtype(node, suffix or ("int32" if body.isdigit() else "float32"))
        if not (dtype.is_float or body.isdigit()):
            raise self.fail(node, "ir-word", f"`{body}` is no {dtype}")
        return Const(float(body) if dtype.is_float else int(body), dtype)

    def binary(self, node: Node, op: str, a: Expr, b: Expr) -> Expr:
        dtype = computed_in(op, a.dtype, b.dtype)
        result = BOOL if op in COMPARISONS else dtype
        if (problem := unfit(op, a, b, dtype)) is not None:
            raise self.fail(node, "ir-operands", str(problem))
        return Binary(op, a, b, result)
