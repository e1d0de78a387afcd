"""Tarballs: what was built, to be unpacked anywhere, and the source with all that it is built from."""
import hashlib
import os
import pathlib
import subprocess
import tempfile

from . import listing, tree
from .make import tool

OUT = listing.ROOT / "target/dist"
ALL = {"lib", "bin", "drivers", "plugin", "headers", "modules", "docs"}
CONFIG = '[source.crates-io]\nreplace-with = "vendored"\n[source.vendored]\ndirectory = "vendor"\n'


def parts() -> set[str]:
    """Those that can be installed here."""
    return ALL if listing.gcc() else ALL - {"plugin"}


def archive(folder: pathlib.Path, name: str) -> pathlib.Path:
    """`folder` as OUT/name.tar.gz, the same from the same files."""
    OUT.mkdir(parents=True, exist_ok=True)
    when = tool("git", "-C", listing.ROOT, "log", "-1", "--format=%ct").decode().strip()
    path = OUT / (name + ".tar.gz")
    subprocess.run(["tar", "-C", folder.parent, "--sort=name", f"--mtime=@{when}", "--owner=0", "--group=0",
                    "--numeric-owner", "-cf", path, "-I", "gzip -n", folder.name], check=True)
    return path


def binary() -> pathlib.Path:
    """bin/, lib/ and so on in one folder."""
    with tempfile.TemporaryDirectory() as scratch:
        name = f"promp-{listing.version()}-x86_64-linux"
        folder = pathlib.Path(scratch) / name
        tree.install(tree.Tree(folder, ""), "lib", parts(), manifest=False)
        return archive(folder, name)


def source() -> pathlib.Path:
    """What git has, with the crates: it is built without a network."""
    with tempfile.TemporaryDirectory() as scratch:
        name = f"promp-{listing.version()}"
        folder = pathlib.Path(scratch) / name
        folder.mkdir()
        subprocess.run(f"git -C '{listing.ROOT}' archive HEAD | tar -C '{folder}' -x", shell=True, check=True)
        subprocess.run(["cargo", "vendor", "--locked", "-q", "vendor"], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
        (folder / ".cargo").mkdir(exist_ok=True)
        (folder / ".cargo/config.toml").write_text(CONFIG)
        return archive(folder, name)


def sums() -> pathlib.Path:
    """SHA256SUMS of all that is in OUT, as sha256sum -c reads it."""
    files = sorted(p for p in OUT.iterdir() if p.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in files]
    path = OUT / "SHA256SUMS"
    path.write_text("".join(lines))
    os.chmod(path, 0o644)
    return path
