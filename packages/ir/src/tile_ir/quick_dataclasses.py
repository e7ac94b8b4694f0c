"""`dataclass` and `replace` as the standard library has them, but quick: to import the compiler
makes some 200 classes, and a compilation copies hundreds of their values.

The library compiles six functions for a frozen class. Here only `__init__` is, and it sets the
fields by the descriptors of their slots, which takes half the time of setting them by name, past
the `__setattr__` that refuses to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass, replace
else:
    import dataclasses
    import operator
    from dataclasses import MISSING, FrozenInstanceError, fields
    from functools import cache
    from reprlib import recursive_repr

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, order=False):
        def made(cls):
            return _made(cls, frozen, slots, eq, order)

        return made if cls is None else made(cls)

    def _made(cls, frozen, slots, eq, order):
        documented = cls.__doc__
        cls.__doc__ = documented or " "  # or the library spends its time on one
        cls = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=slots)
        cls.__doc__ = documented
        own = cls.__dict__
        methods = {"__repr__": _repr}
        if "__init__" not in own:
            methods["__init__"] = _init(cls, frozen, slots)
        if frozen:
            methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
            if slots:
                methods |= {"__getstate__": _state, "__setstate__": _set_state}
        if eq:
            methods["__eq__"] = _comparison(cls, operator.eq)
            if "__hash__" not in own or (own["__hash__"] is None and "__eq__" in own):
                cls.__hash__ = _hash(cls) if frozen else None
        if order:
            for name in ("lt", "le", "gt", "ge"):
                methods[f"__{name}__"] = _comparison(cls, getattr(operator, name))
        for name, method in methods.items():
            if name not in own:
                setattr(cls, name, method)
        return cls

    def _init(cls, frozen, slots):
        """Compiled from the fields; `None` has none to set."""
        scope = {"MISSING": MISSING, "set_by_name": object.__setattr__}
        parameters, named, sets = ["self"], [], []
        for f in fields(cls):
            name, value = f.name, f.name
            if f.default is not MISSING:
                scope[f"default_{name}"] = f.default
                given = f"{name}=default_{name}"
            elif f.default_factory is not MISSING:
                scope[f"new_{name}"] = f.default_factory
                given = f"{name}=MISSING"
                value = f"new_{name}() if {name} is MISSING else {name}"
            else:
                given = name
            if f.init:
                (named if f.kw_only else parameters).append(given)
            elif f.default_factory is not MISSING:
                value = f"new_{name}()"
            elif f.default is not MISSING and slots:
                value = f"default_{name}"
            else:
                continue
            if slots:
                scope[f"set_{name}"] = getattr(cls, name).__set__
                sets.append(f"set_{name}(self, {value})")
            elif frozen:
                sets.append(f"set_by_name(self, {name!r}, {value})")
            else:
                sets.append(f"self.{name} = {value}")
        if hasattr(cls, "__post_init__"):
            sets.append("self.__post_init__()")
        if named:
            parameters += ["*", *named]
        exec(f"def __init__({', '.join(parameters)}): {'; '.join(sets) or 'pass'}", scope)
        init = scope["__init__"]
        init.__annotations__ = {f.name: f.type for f in fields(cls) if f.init} | {"return": None}
        init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
        return init

    def _values(cls, wanted):
        """From a value of the class the tuple of the fields that are wanted."""
        names = [f.name for f in fields(cls) if wanted(f)]
        if len(names) > 1:
            return operator.attrgetter(*names)
        return lambda value: tuple([getattr(value, name) for name in names])

    def _comparison(cls, compare):
        values = _values(cls, lambda f: f.compare)

        def compared(self, other):
            if other.__class__ is self.__class__:
                return compare(values(self), values(other))
            return NotImplemented

        return compared

    def _hash(cls):
        values = _values(cls, lambda f: f.compare if f.hash is None else f.hash)
        return lambda self: hash(values(self))

    @recursive_repr()
    def _repr(self):
        shown = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr]
        return f"{self.__class__.__qualname__}({', '.join(shown)})"

    def _refuse_to_set(self, name, value):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def _refuse_to_delete(self, name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def _state(self):
        return [getattr(self, f.name) for f in fields(self)]

    def _set_state(self, state):
        for f, value in zip(fields(self), state, strict=True):
            object.__setattr__(self, f.name, value)

    def replace(instance, /, **changes):
        cls = instance.__class__
        places, values_of, by_name = _given(cls)
        values = values_of(instance)
        if by_name or not changes.keys() <= places.keys():
            return cls(**{**dict(zip(places, values, strict=True)), **changes})
        if changes:
            values = [*values]
            for name, value in changes.items():
                values[places[name]] = value
        return cls(*values)

    @cache
    def _given(cls):
        """The places of the fields that its `__init__` takes, their values, and whether it takes
        some of them by name only."""
        given = [f for f in fields(cls) if f.init]
        places = {f.name: place for place, f in enumerate(given)}
        return places, _values(cls, lambda f: f.init), any(f.kw_only for f in given)


__all__ = ["dataclass", "replace"]
