"""Bind the operations of the op table to functions: a call to the parts of its record.

One binder serves all: names, order, defaults, lists and arguments without effect are fields of the
record (`OpDef.parameters`). An adapter stands beside it only where something is computed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter, Signature, getdoc, signature
from itertools import takewhile
from typing import Any, ClassVar, TypeAlias

from tile_frontend._arguments.build_op import build_op, only_element
from tile_frontend._arguments.working_memory import (
    KEYWORD,
    lend_working_memory,
    takes_working_memory,
    working_in,
)
from tile_frontend._dialects.known import WORKING_MEMORY, argument_here, with_spellings
from tile_frontend._dialects.triton_names import argument_of_triton
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import python_number, unexpected
from tile_frontend._tracing.values import Tile, View
from tile_ir import (
    REQUIRED,
    ArgumentDef,
    AttrDef,
    OpDef,
    OperandDef,
    Region,
    call_arguments,
    did_you_mean,
)
from tile_ir.opdef import words
from tile_ir.quick_dataclasses import dataclass

_ACCESS = {"r": "read", "w": "written", "rw": "read and written"}


@dataclass(frozen=True, slots=True)
class Arguments:
    """A call without its working memory. `dropped` is the position of that among the arguments, if
    it had one; `memory` is the buffer."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    dropped: int | None = None
    memory: Region | None = None

    @contextmanager
    def placing_faults(
        self, parameters: Sequence[str], argument_of: Mapping[Any, str] | None = None
    ) -> Iterator[None]:
        """Faults inside that blame an operand blame its argument. Those that blame a parameter
        behind the working memory blame its place in the text, which is one further."""
        try:
            yield
        except Fault as fault:
            blamed = fault.argument = (argument_of or {}).get(fault.argument, fault.argument)
            if isinstance(blamed, str) and blamed in parameters and blamed not in self.kwargs:
                blamed = parameters.index(blamed)
            if self.dropped is not None and isinstance(blamed, int):
                fault.argument = blamed + (blamed >= self.dropped)
            raise


class OpFunction:
    """One operation as a callable of the language. An `adapter` builds the operation from the
    arguments by name; `arguments`, `name` and `doc` are those of the record unless given."""

    returns: ClassVar[Any] = Signature.empty

    def __init__(
        self, opdef: OpDef, adapter: Callable[..., Any] | None = None,
        arguments: tuple[ArgumentDef, ...] = (), name: str = "", doc: str = "",
        buffers: int | None = None,
    ) -> None:  # fmt: skip
        self.opdef, self.adapter = opdef, adapter
        self.arguments = arguments or call_arguments(opdef)
        self.parameters = tuple(a.name for a in self.arguments)
        self.argument_of = {part: a.name for a in self.arguments for part in a.parts}
        lists = [o.name for o in opdef.operands if o.variadic and o.name == self.parameters[-1]]
        self.variadic = lists[0] if lists else ""
        with_memory = {o.name for o in opdef.operands if o.memories}
        front = takewhile(lambda a: with_memory.issuperset(a.parts or ("",)), self.arguments)
        # How many arguments at the front may be buffers: all, if the last ones are a list of them.
        listed = bool(opdef.operands) and opdef.operands[-1].variadic
        found = sys.maxsize if listed else sum(1 for _ in front)
        self.buffers = found if buffers is None else buffers
        scalars = {o.name for o in opdef.operands if not o.memories}
        self.numbers = {i for i, a in enumerate(self.arguments) if scalars & {*a.parts[:1]}}
        self.takes_memory = takes_working_memory(opdef) and KEYWORD not in opdef.call_order()
        own = f"{opdef.namespace}.{opdef.name}" if opdef.namespace else opdef.name
        self.__name__ = name or own
        self.__doc__ = self._help(doc or (adapter and getdoc(adapter)) or f"{opdef.doc}.")

    def default(self, name: str) -> Any:
        """The default of an argument; REQUIRED if there is none."""
        return next(a.default for a in self.arguments if a.name == name)

    @property
    def __signature__(self) -> Signature:
        kinds = Parameter.POSITIONAL_OR_KEYWORD, Parameter.VAR_POSITIONAL
        parameters = [
            Parameter(
                a.name,
                kinds[a.name == self.variadic],
                default=Parameter.empty
                if a.default is REQUIRED or a.name == self.variadic
                else a.default,
            )
            for a in self.arguments
        ]
        return Signature(parameters, return_annotation=self.returns)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = self.without_memory(args, kwargs)
        with call.placing_faults(self.parameters, self.argument_of):
            return working_in(self.build(bind(self, call.args, call.kwargs)), call.memory)

    def without_memory(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """The arguments that mean something. Behind the `buffers` at the front a buffer is working
        memory, but one of a single element in the place of a number: it may be meant as the value.

        Raises Fault for a `tmp` that is no buffer of UB.
        """
        if not self.takes_memory:
            return Arguments(args, kwargs)
        keyword = next((key for key in WORKING_MEMORY if key in kwargs), None)
        if keyword is not None:
            rest = {key: value for key, value in kwargs.items() if key != keyword}
            memory = lend_working_memory(self.__name__, kwargs[keyword])
            return Arguments(args, rest, memory=memory)
        places = (i for i in range(self.buffers, len(args)) if isinstance(args[i], (Tile, View)))
        found = [i for i in places if i not in self.numbers or only_element(args[i]) is None]
        if len(found) != 1:
            return Arguments(args, kwargs)
        place = found[0]
        memory = lend_working_memory(self.__name__, args[place])
        return Arguments((*args[:place], *args[place + 1 :]), kwargs, place, memory)

    def build(self, given: dict[str, Any]) -> Any:
        """The operation of these arguments by name."""
        filled = self.filled(given)
        if self.adapter is not None:
            return self.adapter(**filled)
        return build_op(self.opdef, self.parts(filled), self.__name__)

    def filled(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments, with defaults for those that the call omits."""
        return {
            a.name: given[a.name]
            if a.name in given
            else given[a.same_as]
            if a.same_as
            else a.default
            for a in self.arguments
        }

    def parts(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Operands and attributes by name. Raises Fault for a list of another length, and for a
        value of an argument without effect that has a meaning elsewhere."""
        found: dict[str, Any] = {}
        for a in self.arguments:
            value = given[a.name]
            if len(a.parts) == 1:
                found[a.parts[0]] = value
            elif a.parts:
                if not isinstance(value, (tuple, list)) or len(value) != len(a.parts):
                    wanted = f"a list of {len(a.parts)} numbers: {', '.join(a.parts)}"
                    raise unexpected(f"{self.opdef.name}: {a.name}", value, wanted)
                found.update(zip(a.parts, value, strict=True))
            else:
                self.check_without_effect(a, value)
        return found

    def check_without_effect(self, a: ArgumentDef, value: Any) -> None:
        if a.choices is None or value is a.default or python_number(value) in a.choices:
            return
        what = f"{self.opdef.name}: {a.name}"
        raise unexpected(what, value, a.expected, a.hint, slug="attribute-value")

    def _help(self, text: str) -> str:
        """The description of the operation, then a line on the values of each argument."""
        known = {o.name: _operand(o) for o in self.opdef.operands}
        known.update({a.name: _attribute(a) for a in self.opdef.attrs})
        lines = [
            f"{a.name}: {known[a.parts[0]] if len(a.parts) == 1 else _list(a)}"
            for a in self.arguments
            if a.parts
        ]
        return "\n".join([text, *([""] if lines else []), *lines])

    def __repr__(self) -> str:
        return f"<T.{self.__name__}({', '.join(self.parameters)})>"


def bind(function: OpFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name, without those that are left out. A last variadic operand takes the rest
    as a tuple."""
    names, called = function.parameters, f"T.{function.__name__}"
    given: dict[str, Any] = {}
    if function.variadic:
        fixed = names[:-1]
        given[function.variadic] = args[len(fixed) :]
        args = args[: len(fixed)]
    elif len(args) > len(names):
        message = f"{called} takes {len(names)} {'argument' if len(names) == 1 else 'arguments'} "
        message += f"({', '.join(names)}), found {len(args)}"
        raise Fault("arity", message, "leave out the arguments behind these", len(names))
    given.update(zip(names, args, strict=False))
    for written, value in kwargs.items():
        name = argument_here(written, names, given)
        if name not in names:
            hint = argument_of_triton(function.__name__, written) or did_you_mean(written, names)
            hint = hint or f"it takes {', '.join(names)}"
            message = f"{called} has no argument `{written}`"
            raise Fault("unknown-argument", message, hint, written)
        if name in given:
            ways = "" if written == name else f", as {name} and as {written}"
            message = f"{called} got `{name}` twice{ways}"
            raise Fault("arity", message, "leave one of them out", written)
        given[name] = value
    missing = [a.name for a in function.arguments if a.name not in given and a.default is REQUIRED]
    if missing:
        stores = ", and stores its result in dst" if "dst" in names else ""
        message = f"{called} misses {', '.join(f'`{n}`' for n in missing)}"
        raise Fault("arity", message, f"it takes {', '.join(names)}{stores}")
    return given


def _operand(o: OperandDef) -> str:
    place = f"a buffer in {words(o.memories)}" if o.memories else "a scalar"
    place += ", or a scalar" if o.memories and o.scalar else ""
    types = f"; {', '.join(d.name for d in o.dtypes)}" if o.dtypes else ""
    return f"{place}, {_ACCESS[o.access.value]}{types}{' (optional)' if o.optional else ''}"


def _list(a: ArgumentDef) -> str:
    return f"a list of {', '.join(a.parts)}"


def _attribute(a: AttrDef) -> str:
    choices = f", one of {', '.join(map(repr, a.choices))}" if a.choices else ""
    default = "" if a.default is REQUIRED else f" ({a.default!r})"
    return f"a Python {a.type.__name__}{choices}{default}"


def table_functions(namespace: str, ops: Mapping[str, OpDef]) -> dict[str, Callable[..., Any]]:
    """The functions of one namespace of the language."""
    return {name: OpFunction(opdef) for name, opdef in ops.items() if opdef.namespace == namespace}


Function: TypeAlias = "Callable[..., Any]"


def with_operations(names: Mapping[str, Any], tile: Any) -> dict[str, Any]:
    """The names of `T`, and behind them those of the module `tile`."""
    operations: dict[str, Any] = {
        name: getattr(tile, name)
        for name in with_spellings({name: name for name in tile.__all__}, "tile")
    }
    shared = {
        name: _beside_numbers(names[name], operation)
        for name, operation in operations.items()
        if name in names and operation is not names[name]
    }
    return {**operations, **names, **shared}


def _beside_numbers(numbers: Function, operation: OpFunction) -> Function:
    """A function of numbers that is the operation where it gets all that one needs, or more than
    the function of numbers takes."""
    least = sum(operation.default(name) is REQUIRED for name in operation.parameters)
    parameters = signature(numbers).parameters.values()
    most = least if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(parameters)

    @wraps(numbers)
    def chosen(*args: Any, **kwargs: Any) -> Any:
        enough = bool(args) and len(args) + len(kwargs) >= min(least, most + 1)
        is_operation = enough and isinstance(args[0], (Tile, View))
        return (operation if is_operation else numbers)(*args, **kwargs)

    return chosen
