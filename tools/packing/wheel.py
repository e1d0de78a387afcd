"""The wheel: library and command, for every Python 3 on x86-64 Linux with a new enough glibc."""
import base64
import hashlib
import pathlib
import re
import tempfile
import zipfile

from . import archives, listing, tree
from .make import tool

FOLDER = listing.ROOT / "packaging/wheel"
NOT_IN_IT = ("share/", "lib/promp/libpromp.so.0")


def oldest_glibc(files) -> tuple[int, int]:
    """The glibc that these files need."""
    needed = {(2, 17)}
    for file in files:
        symbols = tool("objdump", "-T", file).decode()
        needed |= {tuple(map(int, v)) for v in re.findall(r"\(GLIBC_(\d+)\.(\d+)", symbols)}
    return max(needed)


def contents(folder: pathlib.Path) -> dict[str, tuple[bytes, int]]:
    """Files of the package by their names in the wheel. A wheel has no links."""
    tree.install(tree.Tree(folder, ""), "lib", {"lib", "bin"}, manifest=False)
    found = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()):
        name = str(path.relative_to(folder))
        if not name.startswith(NOT_IN_IT):
            # The library by the name that the loader and the command know.
            name = name.replace("libpromp.so." + listing.version(), "libpromp.so.0")
            found["promp/" + name] = (path.read_bytes(), path.stat().st_mode & 0o777)
    for path in sorted(FOLDER.glob("*.py")):
        text = path.read_text()
        if path.name == "__init__.py":
            text = listing.put_in(text, listing.names("lib"))
        found["promp/" + path.name] = (text.encode(), 0o644)
    return found


def about(info: str, tag: str) -> dict[str, tuple[bytes, int]]:
    """The wheel's description."""
    files = {
        "METADATA": f"Metadata-Version: 2.1\nName: promp\nVersion: {listing.version()}\n"
                    "Summary: A fault-tolerant OpenMP runtime\nLicense: MIT OR Apache-2.0\n"
                    "Requires-Python: >=3.8\n",
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: promp\nRoot-Is-Purelib: false\nTag: {tag}\n",
        "entry_points.txt": "[console_scripts]\npromp = promp.__main__:main\n",
    }
    found = {f"{info}/{name}": (text.encode(), 0o644) for name, text in files.items()}
    for path in sorted(listing.ROOT.glob("LICENSE-*")):
        found[f"{info}/{path.name}"] = (path.read_bytes(), 0o644)
    return found


def build() -> pathlib.Path:
    """The wheel, in OUT."""
    archives.OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "promp"
        files = contents(folder)
        glibc = oldest_glibc([folder / "bin/promp", folder / "lib/promp/libgomp.so.1"])
    tag = f"py3-none-manylinux_{glibc[0]}_{glibc[1]}_x86_64"
    info = f"promp-{listing.version()}.dist-info"
    files |= about(info, tag)
    record = ""
    path = archives.OUT / f"promp-{listing.version()}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, (data, mode) in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(data)}\n"
        wheel.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    return path
