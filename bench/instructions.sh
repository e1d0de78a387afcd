#!/usr/bin/env bash
# What fault tolerance costs in instructions: callgrind counts of the NPB kernels (class S, one thread, dynamic schedules), as ratios
# to PROMP_FT=off. Repeatable where times are not. Needs valgrind and the programs that bench/ft_cost.py builds.
set -euo pipefail
cd "$(dirname "$0")/.."
lib=$PWD/target/release/libpromp.so
count() { # count EXE VAR=VALUE
    env OMP_NUM_THREADS=1 "$2" LD_PRELOAD="$lib" valgrind --tool=callgrind --callgrind-out-file=/dev/null "$1" S 2>&1 |
        awk '/refs/ {gsub(",", "", $NF); print $NF}'
}
printf '| kernel | on/off | saving/off |\n|---|---|---|\n'
for k in ep cg is mg ft; do
    exe=target/bench/$k-dynamic
    off=$(count "$exe" PROMP_FT=off)
    on=$(count "$exe" PROMP_FT=on)
    saving=$(count "$exe" PROMP_REPLAY=assume)
    awk -v k="${k^^}" -v a="$off" -v b="$on" -v c="$saving" 'BEGIN {printf "| %s | %.5f | %.5f |\n", k, b / a, c / a}'
done
