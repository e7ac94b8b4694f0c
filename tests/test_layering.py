"""Who may import whom (docs/internals/index.md) and declares it, names and sizes of files, and other rules
of the house.

A rule is changed here, in a commit of its own, with the reason.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import pytest

from tile_runtime.options.code_generators import GENERATORS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest brings it

ROOT = Path(__file__).parent.parent
PACKAGES = ROOT / "packages"

# import name: what its modules may import besides themselves and the standard library.
MAY_IMPORT = {
    "tile_ir": {"numpy", "lark"},
    "tile_checkers": {"tile_ir"},
    "tile_frontend": {"tile_ir"},
    "tile_passes": {"tile_ir", "networkx"},
    "tile_codegen_ascendc": {"tile_ir", "jinja2"},
    "tile_runtime": {
        "tile_ir", "tile_checkers", "tile_frontend", "tile_passes", "numpy", "torch", "torch_npu", "shmem",
        "pybind11", "jinja2", "rich", "optuna", "pygls", "lsprotocol", "mcp",
    },
}  # fmt: skip
# Packages that the distribution of another one ships.
SHIPPED_BY = {"tile_checkers": "tile_ir"}
# Extras that are declared for those who bring an object of theirs, or for a program that they ship,
# and imported by nobody here.
BROUGHT = {"dask", "ascendnpu_ir"}
# What no registry has: the vendor's installer brings it.
UNREGISTERED = {"shmem"}
# Not there where passes alone are installed.
RUNTIME = {"tile_runtime", "tile_frontend", "tile_codegen_ascendc", "torch"}
TEST_FOLDERS = [ROOT / f for f in tomllib.loads((ROOT / "pyproject.toml").read_text())
                ["tool"]["pytest"]["ini_options"]["pythonpath"]]  # fmt: skip
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
VENDOR_NAMES = "part_headers"  # holds headers under the names that the vendor gave them
LONGEST = 400
# Op records are data: a family stays in one file (style, 3.2).
RECORDS = "packages/ir/src/tile_ir/ops/"
# Other files that may be longer, with the reason.
LONG = {
    "packages/ir/src/tile_ir/expr.py": "nodes, typing rules and operators of one small language",
}
# Where any exception may come out of what is called, with the reason.
CATCHES_ALL = {
    "packages/frontend/src/tile_frontend/_evaluate/call_expressions.py": "calls functions of the script",
    "packages/frontend/src/tile_frontend/_evaluate/decorators.py": "operators of the script's own objects",
    "packages/runtime/src/tile_runtime/ahead_of_time/build_variant.py": "calls generate_source of a project's kernels",
    "packages/runtime/src/tile_runtime/ahead_of_time/find_kernels.py": "imports files of a project",
    "packages/runtime/src/tile_runtime/puzzles/judge_puzzle.py": "executes a script",
    "packages/runtime/src/tile_runtime/tools/continuous_integration/run_script_file.py": "executes a script",
    "packages/runtime/src/tile_runtime/tools/mcp_server/run_command.py": "executes a script",
    "packages/runtime/src/tile_runtime/child_processes/fork_children.py": "does a job that executes a script",
    "packages/runtime/src/tile_runtime/tools/judge/run_reference.py": "calls a function of a script",
    "packages/runtime/src/tile_runtime/tools/judge/sizes.py": "calls a factory with sizes that it may refuse",
    "packages/runtime/src/tile_runtime/tools/judge/trace_candidate.py": "executes a script",
    "packages/runtime/src/tile_runtime/tools/language_server/factory_sizes.py": "evaluates arguments of a script",
    "packages/runtime/src/tile_runtime/tools/language_server/look_at_script.py": "executes a script",
    "packages/runtime/src/tile_runtime/tuning/candidates.py": "calls a factory for so long, and hands on what it raises",
    "packages/runtime/src/tile_runtime/tuning/search.py": "ends processes whatever breaks a search off",
}
# The rooms of the runtime from below, and what each may use; `tools` are two. Whatever scripts need
# of them is in `tile_runtime`, of which the tools take their version.
ROOMS_OF_RUNTIME = {
    "options": set(),
    "child_processes": {"options"},
    "simulator": {"options"},
    "cache": {"options"},
    "launcher": {"simulator"},
    "devices": {"simulator", "cache", "launcher"},
    "jit_kernels": {"options", "simulator", "cache", "launcher", "devices"},
    "source_kernels": {"options", "simulator", "cache", "launcher", "devices"},
    "ranks": {"simulator", "launcher", "devices", "jit_kernels"},
    "tuning": {"child_processes", "cache", "launcher", "devices", "jit_kernels", "ranks"},
    "host_npu": {"launcher"},
    "scripts": {"options", "cache", "launcher", "devices", "jit_kernels", "ranks", "host_npu"},
    "ahead_of_time": {
        "options", "child_processes", "simulator", "cache", "devices", "jit_kernels",
        "source_kernels", "scripts",
    },
    "tools.report": {"simulator", "cache", "launcher", "jit_kernels", "scripts"},
    "puzzles": {
        "options", "child_processes", "simulator", "jit_kernels", "scripts", "tools.report",
    },
    "tools.command_line": {
        "options", "simulator", "cache", "launcher", "devices", "jit_kernels", "source_kernels",
        "tuning", "scripts", "ahead_of_time", "tools.report", "puzzles",
    },
    "tools.language_server": {"child_processes", "jit_kernels", "scripts", "tools.command_line"},
    "tools.judge": {
        "options", "child_processes", "simulator", "launcher", "jit_kernels", "tuning", "scripts",
        "tools.report", "tools.command_line", "tools.language_server",
    },
    "tools.continuous_integration": {
        "child_processes", "cache", "launcher", "jit_kernels", "scripts", "tools.command_line",
        "tools.language_server", "tools.judge",
    },
    "tools.mcp_server": {"child_processes", "jit_kernels", "tools.command_line", "tools.judge"},
}  # fmt: skip
# The rooms of the frontend from below: tables, the kernel being traced, calls, symbols, the text,
# and kernels made of traced ones.
ROOMS_OF_FRONTEND = {
    "_dialects": set(),
    "_tracing": {"_dialects"},
    "_advice": {"_tracing"},
    "_arguments": {"_dialects", "_tracing"},
    "_language": {"_dialects", "_tracing", "_arguments"},
    "_evaluate": {"_dialects", "_tracing", "_language", "_arguments"},
    "_megakernels": {"_tracing", "_language"},
}
ROOMS = {"tile_runtime": ROOMS_OF_RUNTIME, "tile_frontend": ROOMS_OF_FRONTEND}
# Files in no room: what scripts import, and the names behind that.
OUTSIDE = {
    "tile_runtime": {"tile_runtime", "tile_runtime.tools"},
    "tile_frontend": {"tile_frontend", "tile_frontend._symbols", "tile_frontend.tile"},
}
# Names that several unrelated classes still share. The list only becomes shorter.
SHARED_CLASS_NAMES = {
    "Access", "Choice", "Fault", "Interval",
    "Item", "Kind", "Leaf", "Meeting", "Reason", "Relations", "Rows", "Scope",
    "Touch", "_State",
}  # fmt: skip
# `import tile_frontend` must stay below 0.15 s, so it may not load any of these.
HEAVY = ("torch", "networkx", "numpy", "lark", "jinja2", "rich")


def modules() -> list[Path]:
    """Every Python file of the packages, setup scripts aside."""
    return sorted(p for p in PACKAGES.glob("*/src/**/*.py") if "build" not in p.parts)


def package_of(path: Path) -> str:
    return path.relative_to(PACKAGES).parts[2]


def place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def for_type_checkers(nodes: list[ast.AST]) -> set[int]:
    """Of the nodes of a module those that only type checkers see, by their identity."""
    return {
        id(inner)
        for node in nodes
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }


def imported(nodes: list[ast.AST], left_out: set[int]) -> Iterator[tuple[str, int]]:
    """Top-level names of every import, wherever it stands, with its line; the names handed to
    `import_module` too."""
    for node in nodes:
        if id(node) in left_out:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name.split(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield ("" if node.level else (node.module or "").split(".")[0]), node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            argument = node.args[0] if node.args else None
            if name == "import_module" and isinstance(argument, ast.Constant):
                yield str(argument.value).split(".")[0], node.lineno


class InModule(NamedTuple):
    """What these tests ask of a module: what it imports, without and with what is for type checkers
    only; the names of its import statements, each with its module; its classes, its numbers by the
    names at its top, lines that compare names of operations, and handlers of any exception."""

    imports: tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]]
    statements: tuple[tuple[str | None, tuple[str, ...]], ...]
    classes: tuple[str, ...]
    numbers: frozenset[str]
    op_names: tuple[int, ...]
    bare_handlers: tuple[int, ...]


@cache
def in_module(path: Path) -> InModule:
    """A module is parsed once: many tests ask."""
    tree = ast.parse(path.read_text())
    nodes = list(ast.walk(tree))
    statements: list[tuple[str | None, tuple[str, ...]]] = []
    classes, handlers = [], []
    for node in nodes:
        match node:
            case ast.Import(names=names):
                statements.append((None, tuple(alias.name for alias in names)))
            case ast.ImportFrom(module=module, names=names):
                statements.append((str(module), tuple(alias.name for alias in names)))
            case ast.ClassDef(name=name):
                classes.append(name)
            case ast.ExceptHandler(type=None):
                handlers.append(node.lineno)
            case ast.ExceptHandler(type=ast.Name(id="Exception" | "BaseException")):
                handlers.append(node.lineno)
    numbers = frozenset(
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value.value, (int, float))
    )
    imports = tuple(imported(nodes, for_type_checkers(nodes))), tuple(imported(nodes, set()))
    compared = tuple(op_name_comparisons(tree))
    return InModule(imports, tuple(statements), tuple(classes), numbers, compared, tuple(handlers))


def imports_in(path: Path, checked: bool = False) -> tuple[tuple[str, int], ...]:
    """What a module imports."""
    return in_module(path).imports[checked]


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGES).with_suffix("").parts[2:]).removesuffix(".__init__")


@cache
def import_graph(package: str) -> nx.DiGraph:
    """The modules of a package, each with an edge to those it imports: at its top, in a function or
    for type checkers only."""
    known = {module_name(path): path for path in modules() if package_of(path) == package}
    graph = nx.DiGraph()
    for name, path in known.items():
        for module, names in in_module(path).statements:
            inside = names if module is None else [f"{module}.{n}" for n in names]
            found = [i if i in known or module is None else module for i in inside]
            graph.add_edges_from((name, other) for other in found if other in known)
    return graph


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_no_files_import_each_other(package: str) -> None:
    circles = [sorted(c) for c in nx.strongly_connected_components(import_graph(package))]
    assert not [circle for circle in circles if len(circle) > 1]


def room_of(module: str) -> str:
    """The room of a module of a package; "" for the package itself and for that of the tools."""
    package, _, inside = f"{module}.".partition(".")
    return next((room for room in ROOMS[package] if inside.startswith(f"{room}.")), "")


@pytest.mark.parametrize("package", ROOMS)
def test_a_room_uses_what_it_may(package: str) -> None:
    """No more and no fewer."""
    rooms: dict[str, set[str]] = {room: set() for room in ROOMS[package]}
    for user, used in import_graph(package).edges:
        if room_of(user) and room_of(used) not in ("", room_of(user)):
            rooms[room_of(user)].add(room_of(used))
    assert rooms == ROOMS[package]
    below: set[str] = set()
    for room, used in ROOMS[package].items():
        assert used <= below, f"{room} uses {used - below}, which stand above it"
        below.add(room)


def test_the_memory_planner_uses_nothing_of_the_order() -> None:
    graph = import_graph("tile_passes")
    planner = [m for m in graph if m.startswith("tile_passes.memory.")]
    reached = set().union(*(nx.descendants(graph, m) for m in planner))
    assert planner and not [m for m in reached if m.startswith("tile_passes.order")]


@pytest.mark.parametrize("package", ROOMS)
def test_every_file_has_a_room_and_every_room_a_first_page(package: str) -> None:
    names = {module_name(path): path for path in modules() if package_of(path) == package}
    assert {name for name in names if not room_of(name)} == OUTSIDE[package]
    for room in ROOMS[package]:
        page = ast.get_docstring(ast.parse(names[f"{package}.{room}"].read_text())) or ""
        assert "Not here: " in page, f"{room}/__init__.py tells what lives there and what does not"


def used_by_tests(path: Path, seen: set[Path]) -> Iterator[tuple[str, Path]]:
    """What a file of the tests imports from elsewhere, itself or through other files of the tests,
    each with the file that does."""
    seen.add(path)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [".".join(filter(None, (node.module, a.name))) for a in node.names]
        else:
            continue
        level = getattr(node, "level", 0)
        roots = [path.parents[level - 1]] if level else [path.parent, *TEST_FOLDERS]
        for name in names:
            parts = name.split(".")
            places = [r.joinpath(*parts[:n]) for n in range(len(parts), 0, -1) for r in roots]
            files = [f for p in places for f in (p.with_suffix(".py"), p / "__init__.py")]
            file = next(filter(Path.is_file, files), None)
            if file is None:
                yield parts[0], path
            elif file not in seen:
                yield from used_by_tests(file, seen)


def test_pass_tests_do_without_the_runtime() -> None:
    seen: set[Path] = set()
    files = [ROOT / "tests/conftest.py", *sorted((ROOT / "tests/passes").glob("**/*.py"))]
    used = [use for path in files for use in used_by_tests(path, seen)]
    assert ROOT / "tests/fuzz/kernels/random_kernel.py" in seen, "it follows the imports of tests"
    wrong = {f"{place(file)} imports {name}" for name, file in used if name in RUNTIME}
    assert not wrong, "a test of passes and all that it imports run where only they are installed"


def test_there_are_packages_to_look_at() -> None:
    assert {package_of(p) for p in modules()} == set(MAY_IMPORT)


def imports_of(package: str) -> dict[str, str]:
    """What a package imports besides itself and the standard library, each with one place."""
    own = {package, *sys.stdlib_module_names}
    # T.jit and friends are the runtime's, loaded when a script first uses one (design, 2).
    lazily = {("tile_frontend", "__init__.py", "tile_runtime")}
    return {
        name: f"{place(path)}:{line} imports {name or 'a relative module'}"
        for path in modules()
        if package_of(path) == package
        for name, line in imports_in(path)
        if name not in own and (package, path.name, name) not in lazily
    }


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_package_imports_only_what_it_may(package: str) -> None:
    found = imports_of(package)
    wrong = [found[name] for name in found if name not in MAY_IMPORT[package]]
    assert not wrong, "\n".join(wrong)


def project_of(package: str) -> dict[str, Any]:
    package = SHIPPED_BY.get(package, package)
    file = PACKAGES / package.removeprefix("tile_") / "pyproject.toml"
    project: dict[str, Any] = tomllib.loads(file.read_text())["project"]
    return project


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_dependencies_are_declared_where_they_are_used(package: str) -> None:
    """No more and no fewer, so that each package can be installed by itself; what serves with a
    device only may be an extra. Ours are of one version."""
    project = project_of(package)
    extras = project.get("optional-dependencies", {}).values()
    declared = {
        re.split(r"[^\w.-]", requirement)[0].replace("-", "_").lower(): requirement
        for requirement in (*project["dependencies"], *(r for extra in extras for r in extra))
    }
    found = imports_of(package)
    # What the same distribution ships needs no declaration.
    shipped = {n: SHIPPED_BY.get(n, n) for n in MAY_IMPORT}
    found = {n: where for n, where in found.items() if shipped.get(n) != shipped[package]}
    # Imported by the name that the registry has for it.
    registered = set(GENERATORS.values()) if package == "tile_runtime" else set()
    missing = [found[n] for n in found if shipped.get(n, n) not in {*declared, *UNREGISTERED}]
    assert not missing, "\n".join(missing)
    # numpy is loaded by name when the IR first needs it; for type checkers it is imported.
    together = {n for n in MAY_IMPORT if shipped[n] == shipped[package]}
    files = [path for path in modules() if package_of(path) in together]
    used = {name for path in files for name, _ in imports_in(path, True)} | registered
    unused = declared.keys() - used - BROUGHT
    assert not unused, f"{package} declares what it does not import: {unused}"
    for name in declared.keys() & MAY_IMPORT.keys():
        wanted = f"{name.replace('_', '-')}=={project_of(name)['version']}"
        assert declared[name] == wanted, f"{package} declares {declared[name]}"


def constants_of(package: str) -> dict[str, str]:
    """The numbers that the modules of a package name at their top, each with one place."""
    return {
        name: place(path)
        for path in modules()
        if package_of(path) == package
        for name in in_module(path).numbers
    }


def test_checkers_share_no_constant_with_passes() -> None:
    """What a pass bounds its search by must not bound the search for its mistakes."""
    ours, theirs = constants_of("tile_checkers"), constants_of("tile_passes")
    assert ours and theirs
    shared = {f"{name}: {ours[name]}, {theirs[name]}" for name in ours.keys() & theirs.keys()}
    assert not shared


def test_what_builds_a_wheel_needs_the_standard_library_only() -> None:
    """`setup.py` loads this file by itself, before anything is installed."""
    folder = str(PACKAGES / "runtime/src/tile_runtime/simulator")
    source = f"import sys; sys.path.insert(0, {folder!r}); import build_simulator"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", source], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_registry_alone_names_code_generators() -> None:
    """The runtime asks for one by its target: another is a package and a line."""
    registry = "packages/runtime/src/tile_runtime/options/code_generators.py"
    named = [
        place(path)
        for path in modules()
        if package_of(path) == "tile_runtime" and "tile_codegen_ascendc" in path.read_text()
    ]
    assert named == [registry]


def test_importing_the_frontend_loads_nothing_heavy() -> None:
    source = ";".join(
        [f"import sys; sys.path[:0] = {[str(p) for p in PACKAGES.glob('*/src')]}",
         "import tile_frontend",
         f"print([m for m in {HEAVY} if m in sys.modules])"]
    )  # fmt: skip
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_file_names_say_what_is_inside() -> None:
    ours = (p for p in PACKAGES.glob("*/src/**/*") if VENDOR_NAMES not in p.parts)
    wrong = [place(p) for p in ours if p.stem.lower() in FORBIDDEN_NAMES]
    assert not wrong, f"find a name that says what lives there: {wrong}"


def test_class_names_are_unique() -> None:
    found: dict[str, list[str]] = {}
    for path in modules():
        for name in in_module(path).classes:
            found.setdefault(name, []).append(place(path))
    shared = {name: places for name, places in found.items() if len(places) > 1}
    new = {name: shared[name] for name in shared.keys() - SHARED_CLASS_NAMES}
    assert not new, f"no two classes share a name: {new}"
    unique = SHARED_CLASS_NAMES - shared.keys()
    assert not unique, f"take these off SHARED_CLASS_NAMES: {unique}"


def test_files_fit_one_sitting() -> None:
    sizes = {place(p): len(p.read_text().splitlines()) for p in modules()}
    wrong = {name: n for name, n in sizes.items() if n > LONGEST and name not in LONG}
    wrong = {name: n for name, n in wrong.items() if not name.startswith(RECORDS)}
    assert not wrong, f"over {LONGEST} lines: {wrong}; split them, or list them in LONG"


def test_the_list_of_long_files_is_current() -> None:
    for name in LONG:
        path = ROOT / name
        assert path.is_file(), f"{name} is gone; take it off LONG"
        assert len(path.read_text().splitlines()) > LONGEST, f"{name} is short now"


def op_name_comparisons(tree: ast.Module) -> list[int]:
    """Lines that compare the name of an operation: `op.opdef.name == "add"`, in either order,
    also with `in`, `!=` and `match`."""

    def is_op_name(node: ast.expr) -> bool:
        return (
            isinstance(node, ast.Attribute)
            and node.attr == "name"
            and (
                (isinstance(node.value, ast.Attribute) and node.value.attr == "opdef")
                or (isinstance(node.value, ast.Name) and node.value.id in ("op", "opdef"))
            )
        )

    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            # A look-up in a table of names, `name in TABLE`, is not a comparison with one name.
            if any(is_op_name(s) for s in sides) and any(
                isinstance(s, (ast.Constant, ast.Tuple, ast.Set, ast.List)) for s in sides
            ):
                found.append(node.lineno)
        elif isinstance(node, ast.Match) and is_op_name(node.subject):
            found.append(node.lineno)
    return found


@pytest.mark.parametrize("package", ["tile_passes", "tile_codegen_ascendc"])
def test_nobody_compares_op_names(package: str) -> None:
    wrong = [
        f"{place(path)}:{line}"
        for path in modules()
        if package_of(path) == package
        for line in in_module(path).op_names
    ]
    assert not wrong, f"ask the op's record instead of its name: {wrong}"


def test_the_op_name_rule_sees_comparisons() -> None:
    bad = 'if op.opdef.name == "add": pass\nif "x" != op.name: pass\nif op.name in ("a", "b"): 1\n'
    good = "if pass_.name == other.name: pass\nif op.opdef.effect is Effect.DATA: pass\n"
    assert op_name_comparisons(ast.parse(bad)) == [1, 2, 3]
    assert op_name_comparisons(ast.parse(good)) == []


def test_no_bare_exception_handlers() -> None:
    wrong = [
        f"{place(path)}:{line}"
        for path in modules()
        if place(path) not in CATCHES_ALL
        for line in in_module(path).bare_handlers
    ]
    assert not wrong, f"name the exceptions that can happen: {wrong}"
