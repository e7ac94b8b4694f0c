"""Every switch of the project in one typed table. Each is an environment variable `TILE_…` and a
`with override(name=value):`; passes never read them, the driver and the runtime do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Switch:
    """One switch: its type is the type of its default; `choices` limits a string. `former` is an
    older name of the variable, `words` are older words for choices."""

    name: str
    default: Any
    doc: str
    choices: tuple[str, ...] = ()
    former: str = ""
    words: tuple[tuple[str, str], ...] = ()

    @property
    def variable(self) -> str:
        return f"TILE_{self.name.upper()}"

    @property
    def variables(self) -> tuple[str, ...]:
        """The variable, and its older name if it has one."""
        return (self.variable, self.former) if self.former else (self.variable,)


SWITCHES: dict[str, Switch] = {
    s.name: s
    for s in (
        Switch("cache_dir", "", "folder of compiled kernels; empty means ~/.cache/tile-ascend"),
        Switch("cache_limit", 4000, "MB of compiled kernels to keep; 0 means no limit"),
        Switch("cache", True, "reuse compiled kernels from disk"),
        Switch("check", "device", "what the simulator checks", ("off", "device", "strict")),
        Switch("prove", False, "prove the order and the addresses the compiler chose"),
        Switch("verify_each", False, "verify the IR after every pass, instead of at the end"),
        Switch("time", False, "model the time of every run on the simulator"),
        Switch("threads", 0, "host threads of the simulator; 0 means one per core"),
        Switch("seed", 0, "order in which the simulator schedules cores"),
        Switch(
            "starve",
            "",
            "core that runs only when no other of its block can",
            ("", "aic", "aiv0", "aiv1"),
        ),
        Switch(
            "delivery",
            "seed",
            "when what a simulated rank stores to another arrives",
            ("seed", "prompt", "late"),
        ),
        Switch(
            "transport",
            "auto",
            "how stores get to ranks that are other processes",
            ("auto", "shared", "messages"),
        ),
        Switch("first", False, "a simulated kernel ends at its first error, instead of going on"),
        Switch("timeout", 60, "seconds a kernel may run on the simulator; 0 means no limit"),
        Switch("soc", "Ascend910B2", "chip to compile for, a row of the SoC table"),
        Switch(
            "target",
            "auto",
            "where kernels run; with none they are compiled as far as their source, and never run",
            ("auto", "npu", "sim", "none"),
            "TILE_BACKEND",
            (("simulator", "sim"),),
        ),
        Switch("dump_ir", "", "folder that receives the IR after every pass"),
        Switch("stop_after", "", "name of the last pass to run"),
        Switch("auto_sync", False, "order the pipes of every kernel, as if its script asked"),
        Switch("memory_planning", False, "let buffers share bytes, as if every script asked"),
        Switch("cv_combine", False, "divide every kernel between cores, as if its script asked"),
        Switch("cv_sync", False, "order the cores of every kernel, as if its script asked"),
        Switch("skip", "", "names of passes to leave out, separated by commas"),
        Switch("debug", 0, "1 prints passes and times, 2 also the IR after each changed pass"),
        Switch("timings", "", "file for the seconds each kernel takes to trace, lower and emit"),
        Switch("keep_cpp", False, "keep the emitted source beside the cache entry"),
        Switch(
            "lax_calls",
            False,
            "accept surplus arguments, shapes not as declared, counts beyond a buffer, and tensors "
            "that want gradients where a kernel writes in place",
        ),
        Switch("tune_most", 0, "configurations that tuners try of all they have; 0 means all"),
        Switch("cxx", "", "host C++ compiler; empty means $CXX, then g++, then clang++"),
    )
}

# The overrides of this context; every `override` sets another object.
OVERRIDES: ContextVar[dict[str, Any]] = ContextVar("tile_switches", default={})  # noqa: B039


class SwitchError(ValueError):
    """A switch that does not exist, or a value it cannot take."""


def _parse(switch: Switch, text: str) -> Any:
    if isinstance(switch.default, bool):
        if text.lower() in ("1", "true", "yes", "on"):
            return True
        if text.lower() in ("0", "false", "no", "off", ""):
            return False
        raise SwitchError(f"{switch.variable}={text!r}: expected 0 or 1")
    if isinstance(switch.default, int):
        try:
            return int(text)
        except ValueError:
            raise SwitchError(f"{switch.variable}={text!r}: expected a number") from None
    text = dict(switch.words).get(text, text)
    if switch.choices and text not in switch.choices:
        raise SwitchError(f"{switch.variable}={text!r}: expected one of {switch.choices}")
    return text


def switch(name: str) -> Any:
    """The value of a switch now: an override, else the environment, else the default."""
    overrides = OVERRIDES.get()
    if name in overrides:
        return overrides[name]
    definition = SWITCHES[name]
    text = next((os.environ[v] for v in definition.variables if v in os.environ), None)
    return definition.default if text is None else _parse(definition, text)


def is_chosen(name: str) -> bool:
    """Whether an override or the environment gives the switch a value."""
    return name in OVERRIDES.get() or any(v in os.environ for v in SWITCHES[name].variables)


@contextmanager
def override(**values: Any) -> Iterator[None]:
    """Set switches for the duration of a block.

    Raises SwitchError for an unknown name or a value of the wrong type.
    """
    for name, value in values.items():
        if name not in SWITCHES:
            raise SwitchError(f"no switch is called {name!r}: {', '.join(SWITCHES)}")
        definition = SWITCHES[name]
        if not isinstance(value, type(definition.default)):
            raise SwitchError(f"{name}={value!r}: expected {type(definition.default).__name__}")
        if definition.choices and value not in definition.choices:
            raise SwitchError(f"{name}={value!r}: expected one of {definition.choices}")
    token = OVERRIDES.set({**OVERRIDES.get(), **values})
    try:
        yield
    finally:
        OVERRIDES.reset(token)
