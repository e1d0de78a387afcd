"""Runs tests, each in a process of its own and with a hard limit, and says how they ended."""
import concurrent.futures
import contextlib
import dataclasses
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

from .build import ROOT, Test, environment

# A test that failed has to pass so often alone to be called flaky.
AGAIN = 5
# Of the output of one that failed so many lines are shown.
SHOWN = 120


@dataclasses.dataclass
class Done:
    """How one run of a test ended."""
    test: Test
    why: str  # "" if it passed
    seconds: float
    output: str


def cpus() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0))


def session(leader: int) -> list[int]:
    """The processes of a session: tests put what they start into groups of their own."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        if int(fields[3]) == leader and fields[0] not in "ZX":
            found.append(int(entry.name))
    return found


def kill_session(leader: int) -> None:
    """Ends what a test has left."""
    for _ in range(10):
        left = session(leader)
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def one(test: Test, limit: float) -> Done:
    """Runs one test. Its output goes to a file, which no process that it leaves can keep us waiting for."""
    command = [test.executable, "--exact", test.own_name, "--nocapture", "--test-threads", "1"]
    env = environment(test.executable, test.folder, test.package)
    begin = time.monotonic()
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(command, cwd=test.folder, env=env, stdin=subprocess.DEVNULL, stdout=said,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status, why = child.wait(limit), ""
        except subprocess.TimeoutExpired:
            status, why = None, f"did not end within {limit:.0f} s"
        finally:
            kill_session(child.pid)
            child.kill()
            child.wait()
        seconds = time.monotonic() - begin
        said.seek(0)
        output = said.read().decode(errors="replace")
    if status is not None and status < 0:
        why = f"killed by {signal.Signals(-status).name}"
    elif status:
        why = f"exit status {status}"
    elif status == 0 and "test result: ok. 1 passed" not in output:
        why = "ended before its test did"  # an exit(0) in the middle is not a pass
    return Done(test, why, seconds, output)


def all_of(tests: list[Test], jobs: int, limit: float) -> list[Done]:
    """Runs all, `jobs` at once, in order; a line each."""
    lock, done = threading.Lock(), []

    def work(test: Test) -> None:
        result = one(test, limit)
        with lock:
            done.append(result)
            word = "FAIL" if result.why else "ok"
            print(f"{word:4} {result.seconds:7.2f} s  {test.name}", flush=True)

    pool = concurrent.futures.ThreadPoolExecutor(jobs)
    try:
        for future in [pool.submit(work, t) for t in tests if not t.ignored]:
            future.result()
    finally:
        pool.shutdown(cancel_futures=True)
    return done + [Done(t, "", 0.0, "") for t in tests if t.ignored]


def again(done: list[Done], limit: float) -> tuple[list[Done], list[Done]]:
    """Runs what failed alone, one after the other: what fails again, and what was flaky."""
    failed, flaky = [], []
    for first in (d for d in done if d.why):
        print(f"again, alone: {first.test.name}", flush=True)
        passes = (not one(first.test, limit).why for _ in range(AGAIN))
        (flaky if all(passes) else failed).append(first)
    return failed, flaky


@contextlib.contextmanager
def busy(number: int):
    """So many processes beside what happens here that do nothing but compute."""
    def spin():
        os.nice(5)
    command = [sys.executable, "-c", "while True: pass"]
    spinners = [subprocess.Popen(command, preexec_fn=spin) for _ in range(number)]
    try:
        yield
    finally:
        for s in spinners:
            s.kill()
            s.wait()


def known_flaky() -> list[str]:
    """The names in tools/flaky.txt."""
    lines = (ROOT / "tools/flaky.txt").read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def summary(done: list[Done], failed: list[Done], flaky: list[Done], unbuilt: list[str],
            documented: bool | None) -> int:
    """Prints what failed with its output, what was flaky, and the numbers; the exit status."""
    for d in failed + flaky:
        lines = d.output.splitlines()
        print(f"\n---- {d.test.name}: {d.why}")
        if len(lines) > SHOWN:
            print(f"(the last {SHOWN} of {len(lines)} lines)")
        print("\n".join(lines[-SHOWN:]))
    faults = unbuilt + (["the examples in the documentation fail"] if documented is False else [])
    if failed or faults:
        print("\nFailed:")
    for d in failed:
        print(f"  {d.test.name:70} {d.seconds:7.2f} s  {d.why}")
    for fault in faults:
        print(f"  {fault}")
    known = known_flaky()
    for d in flaky:
        print(f"flaky: {d.test.name}")
        if d.test.name not in known:
            print("  (new: find the cause; if that has to wait, list it in tools/flaky.txt)")
    ignored = sum(d.test.ignored for d in done)
    bad = len(failed) + len(faults)
    print(f"{len(done) - ignored - len(failed)} passed, {bad} failed, {ignored} skipped")
    return 1 if bad else 0
