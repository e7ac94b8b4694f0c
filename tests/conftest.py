"""Shared by all tests: a cache of their own, and no environment switches of the developer; and which
of them `make test` runs.

With `--all` (`make test-all`) that is every test. Kernels are compiled quickly, with
`--optimised` as a user's are (kernel_compiler.py). Without `--all`, a test with many cases keeps the same few
of them, unless it is marked `whole`, tests marked `exhaustive` stay away, and tests that go through
many cases themselves ask kept_cases.py.

Tests of properties draw the same examples at every run, from this one profile of hypothesis. With
TILE_TEST_PROPERTIES (`make nightly-properties`) they draw others at every run, and failures are kept.
"""

from __future__ import annotations

import gc
import hashlib
import os
import re
import shlex
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from cached_compiler import COUNTED, HIT, Compiler, compiled_folder
from kept_cases import OPTIMISED, PART, PROPERTIES, examples
from remember_compilation import forget_old, kernel_headers, remembering, shared_copies

try:
    from hypothesis import settings
    from hypothesis.database import DirectoryBasedExampleDatabase
except ModuleNotFoundError:  # the tests of one package may run without it
    settings = None

from tile_ir.switches import SWITCHES, override

HOST = os.environ.get("CXX") or next(filter(shutil.which, ("g++", "clang++")), "g++")
CACHING = remembering(Compiler(tuple(shlex.split(HOST)), shared_copies(kernel_headers())))
# The collector looks after so many objects, and collections, of a younger generation: tests make
# much garbage that goes by itself, and looking for the rest took a twentieth of their time.
GARBAGE = (20_000, 20, 20)
# So many cases of a test are kept, and of one in these folders, which compiles and simulates.
KEPT, KEPT_COMPILED = 2, 1
COMPILED = frozenset(("conformance", "end_to_end", "runtime", "timing"))


# What failed at night: what it printed, and the examples, which the next night tries first.
FAILED_PROPERTIES = Path(__file__).parents[1] / "build" / "properties"

if settings is not None:
    settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
    settings.register_profile(
        "nightly",
        max_examples=examples(100),
        database=DirectoryBasedExampleDatabase(FAILED_PROPERTIES / "examples"),
        deadline=None,
        print_blob=True,
    )
    settings.load_profile("nightly" if PROPERTIES in os.environ else "fixed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="every case of every test")
    parser.addoption("--optimised", action="store_true", help="compile kernels as a user's are")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        forget_old(compiled_folder())
        os.environ[COUNTED] = tempfile.mkstemp(prefix="compilations-")[1]
    os.environ[SWITCHES["cxx"].variable] = CACHING
    for name, wanted in ((PART, _part(config)), (OPTIMISED, config.getoption("--optimised"))):
        os.environ.pop(name, None)
        if wanted:
            os.environ[name] = "1"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not _part(config):
        return
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    kept = {item for found in cases.values() for item in _kept(found)}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def pytest_collection() -> None:
    """Modules and test items stay until the end: to look for garbage among them takes a third of
    the time to collect them."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Every full collection of garbage would walk all test items, some seconds in a run."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(*GARBAGE)


def _part(config: pytest.Config) -> bool:
    """Whoever names cases or files gets what he names."""
    named = config.getoption("-k") or not all(Path(argument).is_dir() for argument in config.args)
    return not (config.getoption("--all") or named)


def _kept(cases: list[pytest.Item]) -> list[pytest.Item]:
    """The same ones at every run, whatever else there is."""
    cases = [case for case in cases if not case.get_closest_marker("exhaustive")]
    if cases and cases[0].get_closest_marker("whole"):
        return cases
    compiled = cases and not COMPILED.isdisjoint(cases[0].nodeid.split("/"))
    number = KEPT_COMPILED if compiled else KEPT
    return sorted(cases, key=lambda item: hashlib.sha256(item.nodeid.encode()).digest())[:number]


@pytest.fixture(scope="session", autouse=True)
def kernels_of_fixtures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What fixtures of modules compile goes to no developer's cache either. Every pass is verified
    in all tests."""
    with override(cache_dir=str(tmp_path_factory.mktemp("cache")), verify_each=True):
        yield


@pytest.fixture(autouse=True)
def fresh_switches(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    """Every switch at its default but for the C++ compiler, which remembers what it made, and an
    empty kernel cache for this test. What the compiler chose is proven for every kernel that a test
    builds.

    Only kernels go there: the simulator itself is built once, in the usual place, which
    TILE_CACHE_DIR names if the developer has moved it.
    """
    for switch in SWITCHES.values():
        if switch.name not in ("cache_dir", "cxx"):
            monkeypatch.delenv(switch.variable, raising=False)
    with override(cache_dir=str(tmp_path_factory.mktemp("cache")), prove=True):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """At night what a failing property prints is kept, with the example and how to run it again."""
    report = yield
    if report.failed and PROPERTIES in os.environ:
        FAILED_PROPERTIES.mkdir(parents=True, exist_ok=True)
        kept = FAILED_PROPERTIES / f"{re.sub('[^a-zA-Z0-9]+', '-', item.nodeid)}.txt"
        kept.write_text(f"{item.nodeid}\n\n{report.longreprtext}\n")
        report.sections.append(("kept", f"{kept}"))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if hasattr(terminalreporter.config, "workerinput"):
        return
    file = Path(os.environ[COUNTED])
    counted = file.read_bytes()
    file.unlink()
    terminalreporter.write_line(
        f"C++ compilations: {len(counted)}, of which {counted.count(HIT)} were remembered"
    )


def pytest_report_header() -> str:
    cache = os.environ.get("TILE_CACHE_DIR") or str(Path.home() / ".cache" / "tile-ascend")
    return f"simulator: {cache}"
