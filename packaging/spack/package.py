"""For Spack: spack repo create DIR, this file as DIR/packages/promp/package.py. Then, in the folder of the
source tarball (`make dist`: target/dist): spack install --no-checksum promp.
Not tried: Spack was not in reach."""
import os

from spack.package import *


class Promp(Package):
    """An OpenMP runtime in place of GCC's libgomp that survives the death of threads."""

    # It is nowhere to be fetched from yet.
    manual_download = True
    url = f"file://{os.getcwd()}/promp-0.1.0.tar.gz"

    version("0.1.0")

    license("MIT OR Apache-2.0")

    variant("plugin", default=True, description="promp-cc, for the GCC that builds it")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build")
    depends_on("rust@1.90:", type="build")
    depends_on("python@3.11:", type="build")
    depends_on("gmake", type="build")

    requires("%gcc@12:", msg="the runtime is for programs of GCC")
    requires("target=x86_64:")
    requires("platform=linux")

    def install(self, spec, prefix):
        make("all" if spec.satisfies("+plugin") else "build")
        parts = "lib bin headers modules docs"
        if spec.satisfies("+plugin"):
            parts += " drivers plugin"
        make("install", f"PREFIX={prefix}", f"PARTS={parts}")

    def setup_run_environment(self, env):
        # Programs of GCC find it in place of libgomp, without promp run.
        env.prepend_path("LD_LIBRARY_PATH", self.prefix.lib.promp)

    @run_after("install")
    def check_install(self):
        Executable(self.prefix.bin.promp)("doctor")
