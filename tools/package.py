#!/usr/bin/env python3
"""Makes packages of what was built, in target/dist: `make dist`, `make deb`, `make wheel`.

    tools/package.py dist     the source with all that it is built from, the binaries, checksums
    tools/package.py deb      Debian packages, for this Debian and newer ones
    tools/package.py wheel    library and command for Python
"""
import subprocess
import sys

from packing import archives, debs, wheel
from packing.problem import Problem

MAKERS = {"dist": lambda: [archives.source(), archives.binary()], "deb": debs.build,
          "wheel": lambda: [wheel.build()]}


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1] not in MAKERS:
        print(__doc__, file=sys.stderr)
        return 64
    try:
        for path in [*MAKERS[sys.argv[1]](), archives.sums()]:
            print(path.relative_to(archives.listing.ROOT))
    except (Problem, subprocess.CalledProcessError) as e:
        print(f"package: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
