"""Builds the tests by cargo, and asks each executable which it has."""
import dataclasses
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CARGO = os.environ.get("CARGO", "cargo").split()
# What cargo is asked to build for each group.
GROUPS = {
    "units": ["--workspace", "--exclude", "promp-checks"],
    "checks": ["--package", "promp-checks"],
}
PROFILE = ["--profile", "checks"]


@dataclasses.dataclass(frozen=True)
class Test:
    """One test: its full name, the name that its executable knows, and how that is started."""
    name: str
    own_name: str
    executable: str
    folder: str
    package: str
    ignored: bool


def environment(executable: str, folder: str, package: str) -> dict[str, str]:
    """What cargo sets for a test."""
    built = pathlib.Path(executable).parent
    libraries = [str(built), str(built.parent), os.environ.get("LD_LIBRARY_PATH", "")]
    return os.environ | {
        "CARGO": CARGO[0],
        "CARGO_MANIFEST_DIR": folder,
        "CARGO_PKG_NAME": package,
        "LD_LIBRARY_PATH": ":".join(filter(None, libraries)),
    }


def artifacts(group: str) -> list[dict] | None:
    """The executables of a group as cargo describes them; none: it does not build."""
    words = ["test", "--no-run", "--message-format=json-render-diagnostics"]
    command = [*CARGO, *words, *PROFILE, *GROUPS[group]]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if built.returncode:
        return None
    lines = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
    return [a for a in lines if a.get("executable") and a["profile"]["test"]]


def listed(executable: str, folder: str, env: dict, more: list[str]) -> list[str] | None:
    """The names of an executable's tests; none: it does not say."""
    command = [executable, "--list", "--format", "terse", *more]
    said = subprocess.run(command, cwd=folder, env=env, stdout=subprocess.PIPE, text=True, timeout=120)
    if said.returncode:
        return None
    return [line.removesuffix(": test") for line in said.stdout.splitlines() if line.endswith(": test")]


def tests_of(group: str, artifact: dict) -> list[Test] | None:
    """The tests of one executable."""
    target, executable = artifact["target"], artifact["executable"]
    folder = str(pathlib.Path(artifact["manifest_path"]).parent)
    package = package_of(artifact)
    prefix = "checks/"
    if group != "checks":
        # Programs and libraries may have the same name.
        binary = f"{package}.{target['name']}" if set(target["kind"]) & {"bin", "test"} else package
        prefix = f"{group}/{binary}::"
    env = environment(executable, folder, package)
    names = listed(executable, folder, env, [])
    ignored = listed(executable, folder, env, ["--ignored"])
    if names is None or ignored is None:
        return None
    return [Test(prefix + n, n, executable, folder, package, n in ignored) for n in names]


def package_of(artifact: dict) -> str:
    """A package's name out of its id: `path+file:///…/cli#promp-cli@0.1.0`, or `…/image#0.1.0`."""
    place, _, version = artifact["package_id"].partition("#")
    return version.split("@")[0] if "@" in version else place.rsplit("/", 1)[-1]


def tests(groups: list[str]) -> tuple[list[Test], list[str]]:
    """All tests, and what could not be built or listed."""
    found, unbuilt = [], []
    for group in groups:
        built = artifacts(group)
        if built is None:
            unbuilt.append(f"{group}: does not build (cargo's messages are above)")
        for artifact in built or []:
            some = tests_of(group, artifact)
            if some is None:
                unbuilt.append(f"{artifact['executable']}: --list fails")
            found += some or []
    return found, unbuilt


def documentation() -> bool:
    """Do the examples in the documentation hold?"""
    return subprocess.run([*CARGO, "test", "--doc", *PROFILE, *GROUPS["units"]], cwd=ROOT).returncode == 0
