#!/usr/bin/env bash
# Makes a folder that is all a machine with an NVIDIA GPU needs to check devices and silent errors: programs
# built for the GPU, libpromp.so, GCC's plugin, libgomp for comparison, and run.sh. No compiler, registry or
# CUDA toolkit is needed there, only the driver. Here gcc, gfortran and their offload compilers are needed
# (Debian: gcc-12-offload-nvptx). Usage: tools/gpu_folder.sh [FOLDER], target/gpu by default. PLUGIN: GCC's
# plugin, if it is not where the system's libraries are.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-target/gpu}
lib=target/release/libpromp.so
[ -e "$lib" ] || { echo "gpu_folder: $lib is not there: run make build first" >&2; exit 69; }
plugin=${PLUGIN:-$(ldconfig -p | awk '/libgomp-plugin-nvptx.so.1 .*x86-64/{print $NF; exit}')}
[ -n "$plugin" ] || plugin=/usr/lib/x86_64-linux-gnu/libgomp-plugin-nvptx.so.1
[ -e "$plugin" ] || { echo "gpu_folder: no plugin (Debian: libgomp-plugin-nvptx1)" >&2; exit 69; }
rm -rf "$out"
mkdir -p "$out/lib" "$out/bin"
for so in libgomp.so.1 libgfortran.so.5 libquadmath.so.0 libstdc++.so.6; do
    cp -L "$(gcc -print-file-name=$so)" "$out/lib/"
done
cp -L "$plugin" "$out/lib/"
strip -g -o "$out/lib/libpromp.so" "$lib"
device=(-foffload=nvptx-none -foffload-options=nvptx-none=-O3 -foffload-options=nvptx-none=-lm)
build() { # NAME COMPILER SOURCE FLAGS...
    local name=$1 compiler=$2 source=$3
    shift 3
    "$compiler" -O2 -fopenmp -no-pie -w "$@" "${device[@]}" -o "$out/bin/$name" "c-tests/$source" -lm
    [ -x "$out/bin/$name" ] || { echo "gpu_folder: $source could not be built for the device" >&2; exit 70; }
}
device_fortran=(-J "$out/bin" -foffload-options=nvptx-none=-lgfortran)
for p in swim sums kinds; do build $p gcc sdc/$p.c; done
build swim-calls gcc sdc/swim.c -DCALLS
build maps gcc device/maps.c
for p in many linked routines; do build $p gcc device/$p.c; done
build openacc gcc device/openacc.c -fno-openmp -fopenacc
build swimf gfortran sdc/swim.f90 "${device_fortran[@]}"
build mapsf gfortran device/maps.f90 "${device_fortran[@]}"
cp tools/gpu_run.sh "$out/run.sh"
cp bench/papers/p4.sh "$out/"
rm -f "$out"/bin/*.mod
du -sh "$out"
