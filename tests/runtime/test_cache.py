"""The kernel cache: what is reused, what is not, and what failures and kills leave behind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from forked_python import run_python
from kept_cases import kept

from hand_written import FAULT_LINE, SAXPY, SAXPY_CPP, SAXPY_PYTHON, HandWritten, func_of
from tile_ir import BuildError, Func
from tile_ir.switches import override, switch
from tile_runtime import JITKernel, cache, compile
from tile_runtime.cache.fingerprint import compiler_identity, sources_digest
from tile_runtime.cache.kernel_cache import (
    META,
    STALE_SECONDS,
    CacheSize,
    KernelCache,
    kernel_cache,
)
from tile_runtime.simulator.build_simulator import cpu_features
from tile_runtime.tools.command_line import main

A, B = torch.arange(8.0), torch.ones(8)


def entries() -> list[Path]:
    return sorted((Path(switch("cache_dir")) / "kernels").glob("*"))


def check(kernel: JITKernel) -> None:
    assert torch.equal(kernel(A, B, 3.0), 3 * A + B)


def test_a_kernel_is_compiled_once(saxpy: Func, hand_written: Callable[[str], HandWritten]) -> None:
    stand_in = hand_written(SAXPY_CPP)
    first, second = compile(saxpy, out_idx=2), compile(saxpy, out_idx=2)
    assert (first.cached, second.cached, stand_in.emitted) == (False, True, 1)
    assert first.timings.compile > 0 and second.timings.compile == 0
    check(first)
    check(second)
    (entry,) = entries()
    assert sorted(p.name for p in entry.iterdir()) == [
        "digests.json", "entry.cpp", "kernel.cpp", "kernel.so", "kernel.tir", "meta.json",
    ]  # fmt: skip
    assert json.loads((entry / "meta.json").read_text())["signature"]["symbols"] == ["N"]


def test_a_cached_kernel_knows_all_a_new_one_knows(saxpy: Func) -> None:
    first, second = compile(saxpy, out_idx=2), compile(saxpy, out_idx=2)
    assert first.params == second.params and first.libpath == second.libpath
    assert first.get_kernel_source() == second.get_kernel_source() == SAXPY_CPP
    assert first.get_host_source() == second.get_host_source()
    assert first.lowered.phase == second.lowered.phase
    assert [p.name for p in second.lowered.params] == ["A", "B", "C", "s"]


@pytest.mark.times
def test_reload_takes_under_ten_milliseconds(saxpy: Func) -> None:
    compile(saxpy, out_idx=2)
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        compile(saxpy, out_idx=2)
        seconds.append(time.perf_counter() - start)
    assert sorted(seconds)[2] < 0.010


@pytest.mark.parametrize(
    "change",
    [
        {"soc": "Ascend910_9391"},
        {"skip": "simplify"},
    ],
    ids=str,
)
def test_what_changes_the_key(saxpy: Func, change: dict[str, str]) -> None:
    compile(saxpy)
    with override(**change):
        assert not compile(saxpy).cached
    assert compile(saxpy).cached
    assert len(entries()) == 2


def test_another_compiler_is_another_key(saxpy: Func, tmp_path: Path) -> None:
    compile(saxpy)
    wrapper = tmp_path / "my-g++"
    wrapper.write_text('#!/bin/sh\nexec g++ "$@"\n')
    wrapper.chmod(0o755)
    with override(cxx=str(wrapper)):
        assert not compile(saxpy).cached


def test_the_printed_function_is_part_of_the_key(saxpy: Func) -> None:
    compile(saxpy)
    moved = func_of(SAXPY.replace("@0:3:1", "@0:4:1"), saxpy=SAXPY_PYTHON)
    assert not compile(moved).cached
    assert compile(replace(saxpy)).cached


def test_a_failing_compiler_leaves_no_entry(
    saxpy: Func, hand_written: Callable[[str], HandWritten]
) -> None:
    hand_written(SAXPY_CPP.replace("// FAULT", "this is no C++;"))
    with pytest.raises(BuildError) as error:
        compile(saxpy)
    assert entries() == []
    assert list((Path(switch("cache_dir")) / "building").iterdir()) == []
    kept = Path(error.value.message.rpartition("source: ")[2])
    assert "this is no C++;" in kept.read_text()
    assert kept.parent.name == "failed"
    assert f"{kept}:{FAULT_LINE}:" in error.value.message
    hand_written(SAXPY_CPP)
    check(compile(saxpy, out_idx=2))


@pytest.mark.parametrize("damage", ["meta.json", "kernel.so", "no kernel.so", "no meta.json"])
def test_a_damaged_entry_is_made_anew(saxpy: Func, damage: str) -> None:
    compile(saxpy)
    (entry,) = entries()
    path = entry / damage.removeprefix("no ")
    # The library stays mapped in this process, so its file is replaced and not overwritten.
    path.unlink()
    if not damage.startswith("no "):
        path.write_bytes(b"{")
    told = contextlib.nullcontext()
    if damage != "no meta.json":  # which is no entry at all
        told = pytest.warns(match=rf"entry of the kernel cache .* is damaged \({path.name}\)")
    with told:
        kernel = compile(saxpy, out_idx=2)
    assert not kernel.cached
    check(kernel)
    assert compile(saxpy).cached


def test_damaged_entries_are_found(saxpy: Func, capsys: pytest.CaptureFixture[str]) -> None:
    compile(saxpy)
    (entry,) = entries()
    assert main(["cache", "verify"]) == 0
    assert "1 kernels are whole" in capsys.readouterr().out
    assert main(["cache", "ls"]) == 0
    assert re.match(rf"{entry.name[:12]}  .* kB  saxpy  Ascend910B2\n", capsys.readouterr().out)
    source = entry / "kernel.cpp"
    source.write_text(source.read_text() + " ")
    assert main(["cache", "verify"]) == 1
    assert f"{entry.name[:12]}: kernel.cpp is damaged; removed" in capsys.readouterr().out
    assert entries() == []


def filled(cache: KernelCache, key: str, size: int = 10_000) -> None:
    def fill(folder: Path) -> None:
        (folder / META).write_text(key)
        (folder / "kernel.so").write_bytes(key.encode()[:1] * size)

    cache.publish(key, fill)


def test_a_limit_of_bytes(tmp_path: Path) -> None:
    """Those used last stay; one that is larger than the limit stays until the next."""
    cache = KernelCache(tmp_path, 50_000)
    for number in range(20):
        filled(cache, f"{number:02}")
        os.utime(cache.kernels / f"{number:02}" / META, (number, number))
        if number >= 3:
            assert cache.lookup("03" if number < 10 else "00") is not None or number >= 10
        assert cache.size().bytes <= 50_000
    assert [e.key for e in cache.entries()] == ["03", "19", "18", "17"]
    filled(cache, "large", 90_000)
    assert [e.key for e in cache.entries()] == ["large"]
    filled(cache, "20")
    assert [e.key for e in cache.entries()] == ["20"]
    unlimited = KernelCache(tmp_path)
    for number in range(10):
        filled(unlimited, f"{number}")
    assert unlimited.size().kernels == 11


USERS = """
import os, random, sys, traceback
from pathlib import Path
from tile_runtime.cache.kernel_cache import META, KernelCache
cache = KernelCache(Path(sys.argv[1]), int(sys.argv[2]))
def use(key):
    def fill(folder):
        (folder / META).write_text(key)
        (folder / "kernel.so").write_bytes(key.encode() * 5000)
    entry = cache.lookup(key) or cache.publish(key, fill)
    try:
        found = (entry / META).read_text(), (entry / "kernel.so").read_bytes()
    except FileNotFoundError:
        return  # another user has made room: it would be built anew
    assert found == (key, key.encode() * 5000), key
users, (start, ready) = [], os.pipe()
for seed in range(500):
    user = os.fork()
    if user == 0:
        os.close(ready)
        os.read(start, 1)  # until all are there
        try:
            for key in random.Random(seed).choices(range(20), k=3):
                use(f"{key:02}")
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    users.append(user)
os.close(ready)
sys.exit(sum(os.waitpid(user, 0)[1] != 0 for user in users) > 0)
"""


def test_entries_that_others_put_there_and_take_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Publishing succeeds however often another process was faster and lost its entry again."""
    cache, tries = KernelCache(tmp_path), iter([filled, filled, filled])
    rename = os.rename

    def after_others(source: Path, target: Path) -> None:
        if target == cache.kernels / "key" and (other := next(tries, None)) is not None:
            monkeypatch.setattr(os, "rename", rename)
            other(KernelCache(tmp_path), "key")
            monkeypatch.setattr(os, "rename", after_others)
        rename(source, target)

    monkeypatch.setattr(os, "rename", after_others)
    monkeypatch.setattr(KernelCache, "lookup", lambda self, key: None)
    filled(cache, "key")
    assert next(tries, None) is None and list(cache.building.iterdir()) == []
    # A folder that stays whatever is done is told, and not tried for ever.
    monkeypatch.setattr(KernelCache, "_remove", lambda self, folder: None)
    with pytest.raises(BuildError, match="can not be replaced"):
        filled(cache, "key")
    assert list(cache.building.iterdir()) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("limit", [0, 150_000])
@pytest.mark.parametrize("damaged", [False, True])
def test_five_hundred_users_of_twenty_kernels(tmp_path: Path, limit: int, damaged: bool) -> None:
    """Processes that read, write and make room at once: none sees another's kernel or half of one,
    what was damaged before is made anew, and nothing is left behind."""
    cache = KernelCache(tmp_path, limit)
    if damaged:
        for key in range(0, 20, 3):
            filled(cache, f"{key:02}")
            with open(cache.kernels / f"{key:02}" / "kernel.so", "r+b") as library:
                library.write(b"?")
    command = [sys.executable, "-c", USERS, str(tmp_path), str(limit)]
    done = subprocess.run(command, text=True, stderr=subprocess.PIPE, timeout=600)
    assert done.returncode == 0, done.stderr
    assert ("is damaged" in done.stderr) == damaged
    assert cache.remove_damaged() == {}
    assert list(cache.building.iterdir()) == []
    size = cache.size()
    assert size.kernels == 20 if not limit else 0 < size.bytes <= limit


@pytest.mark.exhaustive
def test_a_cache_of_a_gigabyte_stays_below_it(tmp_path: Path) -> None:
    with override(cache_dir=str(tmp_path), cache_limit=1000):
        limited = kernel_cache()
    assert limited.most_bytes == 10**9

    def fill(folder: Path) -> None:
        (folder / META).write_text("{}")
        with open(folder / "kernel.so", "wb") as library:
            library.truncate(90_000_000)  # takes no blocks of the disk

    for number in range(14):
        entry = limited.publish(f"{number:02}", fill)
        os.utime(entry / META, (number, number))
        assert limited.size().bytes < 10**9
    assert [e.key for e in limited.entries()] == [f"{n:02}" for n in range(13, 2, -1)]


def test_what_others_removed_before_it_was_loaded(
    saxpy: Func, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a cache that is too small for all its users, each has its kernel."""
    publish = KernelCache.publish

    def and_gone(self: KernelCache, key: str, fill: Callable[[Path], None]) -> Path:
        entry = publish(self, key, fill)
        self.clear()
        return entry

    with monkeypatch.context() as patched:
        patched.setattr(KernelCache, "publish", and_gone)
        check(compile(saxpy, out_idx=2))
    lookup = KernelCache.lookup

    def found_and_gone(self: KernelCache, key: str) -> Path | None:
        entry = lookup(self, key)
        self.clear()
        return entry

    compile(saxpy, out_idx=2)
    monkeypatch.setattr(KernelCache, "lookup", found_and_gone)
    check(compile(saxpy, out_idx=2))


def test_without_the_cache_nothing_is_kept(saxpy: Func) -> None:
    with override(cache=False):
        first, second = compile(saxpy, out_idx=2), compile(saxpy, out_idx=2)
    assert not first.cached and not second.cached and entries() == []
    check(first)
    folder = Path(first.libpath).parent
    assert folder.is_dir()
    del first
    assert not folder.exists()
    check(second)


def test_switching_the_cache_for_the_process(
    saxpy: Func, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TILE_CACHE", "1")
    cache.disable_cache()
    assert not compile(saxpy).cached and entries() == []
    cache.enable_cache()
    compile(saxpy)
    assert compile(saxpy).cached and len(entries()) == 1
    cache.clear_cache()
    assert entries() == []
    assert not compile(saxpy).cached
    # A `with override` of a test or a script wins over the process.
    monkeypatch.setenv("TILE_CACHE_DIR", "elsewhere")
    cache.set_cache_dir(tmp_path)
    assert os.environ["TILE_CACHE_DIR"] == str(tmp_path)
    assert cache.get_cache_dir() == Path(switch("cache_dir")) != tmp_path
    with override(cache_dir=""):
        assert cache.get_cache_dir() == Path.home() / ".cache" / "tile-ascend"


def test_a_loaded_kernel_survives_clearing(saxpy: Func) -> None:
    kernel = compile(saxpy, out_idx=2)
    cache.clear_cache()
    check(kernel)
    again = compile(saxpy, out_idx=2)
    check(again)
    check(kernel)


def test_a_cache_that_can_not_be_written(saxpy: Func, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with override(cache_dir=str(blocked)), pytest.raises(BuildError) as error:
        compile(saxpy)
    assert error.value.slug == "cache-folder"
    assert error.value.message.startswith(f"the kernel cache {blocked} can not be written: ")
    assert error.value.hint == "set TILE_CACHE_DIR to a folder that can"


CHILD = """
import sys
sys.path[:0] = {path!r}
from hand_written import *
from tile_runtime import compile
from tile_runtime.jit_kernels import build
import tile_codegen_ascendc, torch
from tile_ir.switches import override
stand_in = HandWritten(SAXPY_CPP)
build.run_pipeline = stand_in.run_pipeline
tile_codegen_ascendc.CODE_GENERATOR = stand_in
with override(cache_dir={cache!r}):
    kernel = compile(func_of(SAXPY), out_idx=2)
    print(kernel(torch.ones(2), torch.ones(2), 1.0).tolist(), flush=True)
"""


def program() -> str:
    path = [str(Path(__file__).parent), *sys.path]
    return CHILD.format(path=path, cache=switch("cache_dir"))


def child(**environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program()],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    )


def test_a_kill_during_compilation_leaves_no_entry(saxpy: Func, tmp_path: Path) -> None:
    slow, started = tmp_path / "slow-g++", tmp_path / "started"
    slow.write_text(f"#!/bin/sh\n: > {started}\nexec sleep 60\n")
    slow.chmod(0o755)
    process = child(TILE_CXX=str(slow))
    deadline = time.monotonic() + 60
    while not started.exists():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline, "the compiler was not started"
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert entries() == []
    check(compile(saxpy, out_idx=2))
    assert len(entries()) == 1


def test_processes_that_compile_the_same_kernel_at_once() -> None:
    programs = [["-c", program()] for _ in kept(range(3), least=2)]
    with ThreadPoolExecutor(len(programs)) as pool:
        ended = list(pool.map(run_python, programs))
    for process in ended:
        assert process.stdout == "[2.0, 2.0]\n", process.stderr
    assert len(entries()) == 1


def test_threads_that_compile_the_same_kernel_at_once(saxpy: Func) -> None:
    kernels: list[JITKernel] = []
    folder = switch("cache_dir")

    def work() -> None:
        with override(cache_dir=folder):
            kernels.append(compile(saxpy, out_idx=2))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kernels) == 4 and len(entries()) == 1
    for kernel in kernels:
        check(kernel)


def test_stale_builds_are_removed(tmp_path: Path) -> None:
    stale = tmp_path / "building" / "old"
    stale.mkdir(parents=True)
    fresh = tmp_path / "building" / "new"
    fresh.mkdir()
    long_ago = time.time() - STALE_SECONDS - 1
    os.utime(stale, (long_ago, long_ago))
    KernelCache(tmp_path).scratch()
    assert fresh.exists() and not stale.exists()


def test_sizes(saxpy: Func) -> None:
    store = KernelCache(cache.get_cache_dir())
    assert store.size() == CacheSize(0, 0)
    compile(saxpy)
    size = store.size()
    assert size.kernels == 1 and size.bytes > 10_000


def test_fingerprints_are_stable_and_say_something() -> None:
    assert sources_digest() == sources_digest() and len(sources_digest()) == 64
    assert "g++" in compiler_identity("g++") and compiler_identity("no-such") == "no-such"
    assert cpu_features().splitlines()[0] == os.uname().machine
