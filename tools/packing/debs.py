"""Debian packages, of the same list: libpromp0, promp, promp-dev and promp-cc-N, the plugin for GCC N."""
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile

from . import archives, listing, tree
from .make import tool

LIB = "lib/x86_64-linux-gnu"
# Nobody answers there (RFC 2606): promp has no address, and Debian's field is never without one.
NOBODY = "The promp authors <promp@promp.invalid>"
COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: promp

Files: *
Copyright: 2026 The promp authors
License: MIT or Apache-2.0

License: Apache-2.0
 On Debian systems: /usr/share/common-licenses/Apache-2.0.

License: MIT
"""

# Plugins for other compilers were made from what promp-dev has installed, and no package has them.
DEV_POSTRM = f"""#!/bin/sh
set -e
if [ "$1" = remove ]; then
    for file in /usr/{LIB}/promp/gcc-*/promp_plugin.*; do
        if [ -e "$file" ] && ! dpkg -S "$file" >/dev/null 2>&1; then
            rm "$file"
            rmdir --ignore-fail-on-non-empty "${{file%/*}}"
        fi
    done
    if [ -d /usr/{LIB}/promp ]; then
        rmdir --ignore-fail-on-non-empty /usr/{LIB}/promp
    fi
fi
"""


def maintainer() -> str:
    """Who answers for the packages: whoever makes them, as Debian's tools are told it."""
    name, address = (os.environ.get(f"DEB{what}", "") for what in ["FULLNAME", "EMAIL"])
    if not address:
        return NOBODY
    return address if "<" in address else f"{name or address} <{address}>"


def packages() -> dict[str, tuple[set[str], str, str, str]]:
    """Each package's parts, section, dependencies and description."""
    version = listing.version()
    found = {
        "libpromp0": ({"lib"}, "libs", "libc6 (>= 2.35)",
                      "fault-tolerant OpenMP runtime in place of libgomp"),
        "promp": ({"bin", "modules", "docs"}, "utils", f"libc6 (>= 2.35), libpromp0 (= {version})",
                  "command that runs OpenMP programs so that they survive failures"),
        "promp-dev": ({"headers", "drivers"}, "libdevel",
                      f"libc6 (>= 2.35), libpromp0 (= {version}), promp (= {version}), make",
                      "headers, and compiler drivers promp-cc, promp-c++, promp-fc"),
    }
    if gcc := listing.gcc():
        major, minor = gcc.split(".")[:2]
        # A plugin works with the very compiler that it was built for.
        compiler = f"gcc-{major} (>= {gcc}), gcc-{major} (<< {major}.{int(minor) + 1})"
        found[f"promp-cc-{major}"] = ({"plugin"}, "devel",
                                      f"libc6, libstdc++6, promp-dev (= {version}), {compiler}",
                                      f"GCC {major} plugin behind promp-cc")
    return found


def text_of(path: pathlib.Path, text: str) -> None:
    """A small file with the mode of all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o644)


def changelog(name: str) -> str:
    """An entry for this version."""
    when = tool("git", "-C", listing.ROOT, "log", "-1", "--format=%cD").decode().strip()
    head = f"{name} ({listing.version()}) unstable; urgency=medium"
    return f"{head}\n\n  * CHANGELOG.md has the changes.\n\n -- {maintainer()}  {when}\n"


def tidy(root: pathlib.Path, name: str) -> None:
    """What Debian wants otherwise: compressed pages, its own folder for completions, a copyright file."""
    for page in sorted(root.glob("usr/share/man/man1/*.1")):
        if page.is_symlink():
            target = page.readlink().name + ".gz"
            page.with_name(page.name + ".gz").symlink_to(target)
        else:
            page.with_name(page.name + ".gz").write_bytes(gzip.compress(page.read_bytes(), 9, mtime=0))
        page.unlink()
    zsh = root / "usr/share/zsh/site-functions"
    if zsh.exists():
        zsh.rename(zsh.with_name("vendor-completions"))
    doc = root / "usr/share/doc" / name
    text_of(doc / "copyright", COPYRIGHT + "".join(
        f" {line or '.'}\n" for line in (listing.ROOT / "LICENSE-MIT").read_text().splitlines()))
    for license_ in doc.glob("LICENSE-*"):
        license_.unlink()
    (doc / "changelog.gz").write_bytes(gzip.compress(changelog(name).encode(), 9, mtime=0))


def control(root: pathlib.Path, name: str, section: str, depends: str, about: str) -> None:
    """DEBIAN/: the control file, and for the library what its users depend on."""
    size = sum(p.lstat().st_size for p in root.rglob("*") if p.is_file()) // 1024
    same = "Multi-Arch: same\n" if name == "libpromp0" else ""
    text_of(root / "DEBIAN/control", f"""Package: {name}
Source: promp
Version: {listing.version()}
Architecture: amd64
Maintainer: {maintainer()}
Installed-Size: {size}
Depends: {depends}
{same}Section: {section}
Priority: optional
Description: {about}
 promp replaces GCC's libgomp. Work of a thread that dies is executed again by
 the others; checkpoints bring back what cannot be.
""")
    if name == "libpromp0":
        text_of(root / "DEBIAN/shlibs", f"libpromp 0 libpromp0 (>= {listing.version()})\n")
        text_of(root / "DEBIAN/triggers", "activate-noawait ldconfig\n")
    if name == "promp-dev":
        text_of(root / "DEBIAN/postrm", DEV_POSTRM)
        (root / "DEBIAN/postrm").chmod(0o755)


def build() -> list[pathlib.Path]:
    """All packages, in OUT."""
    archives.OUT.mkdir(parents=True, exist_ok=True)
    if maintainer() == NOBODY:
        print("package: nobody answers for these packages; who hands them on sets DEBFULLNAME and DEBEMAIL",
              file=sys.stderr)
    made = []
    for name, (parts, *about) in packages().items():
        with tempfile.TemporaryDirectory() as scratch:
            root = pathlib.Path(scratch) / name
            tree.install(tree.Tree(pathlib.Path("/usr"), str(root)), LIB, parts, manifest=False)
            tidy(root, name)
            for folder in [root, *root.rglob("*")]:
                if folder.is_dir():
                    folder.chmod(0o755)
            control(root, name, *about)
            path = archives.OUT / f"{name}_{listing.version()}_amd64.deb"
            subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, path], check=True,
                           stdout=subprocess.DEVNULL)
            made.append(path)
    return made
