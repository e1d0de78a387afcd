#!/usr/bin/env python3
"""Runs the tests, each in a process of its own: a table of what failed, and a line with the numbers.

Both groups are run even if one fails: unit tests (units) and integration tests (checks), all with the
compiler's checks of overflow, alignment and preconditions; then the examples in the documentation. As
many tests run at once as there are CPUs. A test that takes longer than its limit has
failed, and its processes are killed. A test that failed is run up to five times more, alone: if all five
pass, it is said to be flaky and the run is green. tools/flaky.txt lists those that are known.

    tools/test.py                       everything
    tools/test.py cli:: who_has_it      the tests in whose names one of these is
    tools/test.py --group checks cli::
    tools/test.py --list                names only
    tools/test.py --busy 20 recovery::  beside 20 processes that do nothing but compute

What PROMP_TEST_… say goes on to the tests. The last line is "N passed, N failed, N skipped"; the exit status
is 1 if something failed or was not built.
"""
import argparse
import sys

from runner import build, run


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    options.add_argument("names", nargs="*", help="parts of names; none: all tests")
    options.add_argument("--group", action="append", choices=build.GROUPS, help="only this group")
    options.add_argument("--jobs", type=int, default=0, help="tests at once; otherwise as many as CPUs")
    options.add_argument("--limit", type=int, default=1200, help="seconds for one test (1200)")
    options.add_argument("--busy", type=int, default=0, help="processes beside it that compute")
    options.add_argument("--list", action="store_true", help="print the names only")
    given = options.parse_args()
    tests, unbuilt = build.tests(given.group or build.GROUPS)
    asked = [t for t in tests if not given.names or any(n in t.name for n in given.names)]
    if given.list:
        print("\n".join(t.name for t in asked))
        return 1 if unbuilt else 0
    if not asked and not unbuilt:
        print(f"test.py: no test's name has {' or '.join(given.names)} in it; --list prints the names")
        return 1
    with run.busy(given.busy):
        done = run.all_of(asked, given.jobs or run.cpus(), given.limit)
        failed, flaky = run.again(done, given.limit)
    documented = None if given.names or given.group else build.documentation()
    return run.summary(done, failed, flaky, unbuilt, documented)


if __name__ == "__main__":
    sys.exit(main())
