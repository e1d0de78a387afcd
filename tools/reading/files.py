"""Which files a tree has."""
import pathlib
import subprocess


def tracked(root: pathlib.Path) -> list[str]:
    """The files of the repository at `root`, new ones included."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.split("\0")
    return sorted({f for f in listed if f and (root / f).is_file() and not (root / f).is_symlink()})
