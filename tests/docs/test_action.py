"""`action.yml`: its steps are valid shell, use the inputs it declares, and judge a sample repository."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tile_runtime.tools.command_line import ci

ROOT = Path(__file__).parents[2]
ACTION = (ROOT / "action.yml").read_text()
STEPS = re.findall(r"^      run: \|\n((?:        .*\n|\n)+)", ACTION, re.M)
WRONG = r"import tile_frontend as T\n\nassert T is None\n"
COMMAND = "import sys; from tile_runtime.tools.command_line import main; sys.exit(main())"


def test_the_steps_are_shell() -> None:
    assert len(STEPS) == 2
    for step in STEPS:
        done = subprocess.run(
            ["bash", "-n"], input=textwrap.dedent(step), text=True, capture_output=True
        )
        assert done.returncode == 0, done.stderr
    # An expression inside a script would be executed as part of it.
    assert not any("${{" in step for step in STEPS)


def test_inputs_are_declared_and_used() -> None:
    declared = ACTION[ACTION.index("inputs:") : ACTION.index("runs:")]
    names = set(re.findall(r"^  (\w+):$", declared, re.M))
    assert names == set(re.findall(r"inputs\.(\w+)", ACTION))
    assert all(step in ACTION for step in ("using: composite", "actions/cache@", "upload-sarif@"))
    # What the page tells of them.
    page = (ROOT / "docs/use/judge.md").read_text()
    assert [name for name in names if not re.search(rf"`{name}\b", page)] == []


def test_options_of_the_command_exist() -> None:
    parser = argparse.ArgumentParser()
    ci.add_arguments(parser)
    named = set(re.findall(r"(--[a-z]+)\b", STEPS[1])) - {"--quiet", "--depth"}
    assert named and named <= set(parser._option_string_actions)


def test_what_is_installed_is_there() -> None:
    listed = re.findall(r"packages/\w+", STEPS[0])
    assert listed and all((ROOT / folder / "pyproject.toml").is_file() for folder in listed)
    assert (ROOT / "constraints.txt").is_file()


def run_step(tmp_path: Path, base: str, command: str) -> subprocess.CompletedProcess[str]:
    """The step that judges, as a runner executes it: on a branch with a script that only fails an
    assertion. The program `tile-ascend` is a shell script with this command."""
    work, programs = tmp_path / "work", tmp_path / "programs"
    work.mkdir()
    programs.mkdir()
    program = programs / "tile-ascend"
    program.write_text(f"#!/bin/sh\n{command}\n")
    program.chmod(0o755)
    person = {f"GIT_{w}_{k}": "a@b" for w in ("AUTHOR", "COMMITTER") for k in ("NAME", "EMAIL")}
    environment = {
        **os.environ, **person, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "GIT_CONFIG_GLOBAL": os.devnull, "RUNNER_TEMP": str(tmp_path), "PATHS": "a b", "SLOWER": "5%",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "TIMEOUT": "300", "BASE": base,
        "ANNOTATIONS": "sarif", "TILE_CACHE": "0",
    }  # fmt: skip
    setup = "git init -q -b main; git commit -q --allow-empty -m base; git checkout -q -b change"
    script = (
        f"{setup}\nmkdir a\nprintf '{WRONG}' > a/wrong.py\ngit add -A; git commit -q -m change\n"
    )
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script + textwrap.dedent(STEPS[1])],
        cwd=work, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("base, compared", [("main", "main"), ("0" * 40, "HEAD"), ("", "HEAD")])
def test_the_step_names_base_and_files(base: str, compared: str, tmp_path: Path) -> None:
    done = run_step(tmp_path, base, 'printf "%s " "$@"')
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        f"ci --base {compared} --slower 5% --timeout 300 --summary {tmp_path}/summary.md "
        f"--sarif {tmp_path}/tile-ascend.sarif a b "
    )


def test_the_step_fails_with_the_command(tmp_path: Path) -> None:
    assert run_step(tmp_path, "main", "exit 1").returncode == 1


@pytest.mark.exhaustive
def test_the_step_judges_a_change(tmp_path: Path) -> None:
    done = run_step(tmp_path, "main", f"exec '{sys.executable}' -c '{COMMAND}' \"$@\"")
    assert done.returncode == 1, done.stdout + done.stderr
    results = json.loads((tmp_path / "tile-ascend.sarif").read_text())["runs"][0]["results"]
    (place,) = (result["locations"][0]["physicalLocation"] for result in results)
    assert place["artifactLocation"]["uri"] == "a/wrong.py" and place["region"]["startLine"] == 3
    assert (tmp_path / "summary.md").read_text().startswith("### Kernels: 1 file judged against ")
