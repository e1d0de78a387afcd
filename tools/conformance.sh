#!/usr/bin/env bash
# GCC's libgomp tests under libgomp and promp; writes docs/internals/conformance.md. The suite is kept outside
# the tree.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=${PROMP_CONFORMANCE_DIR:-${TMPDIR:-/tmp}/promp-conformance}
tool=tools/conformance.py
compgen -G "$dir/*/libgomp/testsuite" >/dev/null || $tool fetch "$dir"
$tool build "$dir"
# A copy: a build meanwhile does not disturb the runs.
lib=$dir/libpromp.so
cp target/release/libpromp.so "$lib"
$tool run "$dir" libgomp
$tool run "$dir" ft-on --preload $lib
$tool run "$dir" ft-off --preload $lib --env PROMP_FT=off
$tool run "$dir" saving --preload $lib --env PROMP_REPLAY=assume
for n in 1 3 16; do $tool run "$dir" threads-$n --preload $lib --env OMP_NUM_THREADS=$n; done
$tool run "$dir" active --preload $lib --env OMP_WAIT_POLICY=active
$tool run "$dir" passive --preload $lib --env OMP_WAIT_POLICY=passive
$tool run "$dir" tuned --preload $lib --env PROMP_TUNE=on
$tool run "$dir" tuned-fewer --preload $lib --env PROMP_TUNE=on --env PROMP_TUNE_THREADS=fewer \
    --env OMP_NUM_THREADS=3
for i in 2 3 4 5; do $tool run "$dir" ft-on-again-$i --preload $lib; done
# The OpenMP tests again, built by promp-cc, promp-c++ and promp-fc: loops with static schedules go through the runtime.
if [ -e target/release/promp_plugin.so ]; then
    $tool build "$dir" --drivers target/release
    $tool run "$dir" driven-libgomp --driven
    $tool run "$dir" driven --driven --preload $lib
    $tool run "$dir" driven-tuned --driven --preload $lib --env PROMP_TUNE=on
    driven="driven-libgomp driven driven-tuned"
fi
# Device constructs on a device with memory of its own; libgomp has one by a plugin of the tests.
$tool build "$dir" --devices
gcc -O2 -shared -fPIC -w -o "$dir/libgomp-plugin-nvptx.so.1" c-tests/device/fake_plugin.c
$tool run "$dir" native-plugin --devices --env FAKE_CAPS=14 --env LD_LIBRARY_PATH="$dir"
$tool run "$dir" separate --devices --preload $lib --env PROMP_DEVICES=separate
$tool run "$dir" separate-guard --devices --preload $lib --env PROMP_DEVICES=separate,guard
$tool run "$dir" separate-3 --devices --preload $lib --env PROMP_DEVICES=separate:3 --env OMP_DEFAULT_DEVICE=1
{
    sed '/^<!-- generated -->/q' docs/internals/conformance.md
    echo
    $tool table "$dir" libgomp ft-on ft-off saving threads-1 threads-3 threads-16 active passive tuned tuned-fewer ft-on-again-{2,3,4,5} ${driven:-}
    echo
    $tool devices "$dir" native-plugin separate separate-guard separate-3
} >docs/internals/conformance.md.new
mv docs/internals/conformance.md.new docs/internals/conformance.md
