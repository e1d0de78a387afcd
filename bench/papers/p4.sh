#!/bin/sh
# P4's table on a GPU: run in the folder that tools/gpu_folder.sh makes, on a machine with an NVIDIA GPU; two
# minutes. Prints a line a run, "MODE SECONDS CHECKSUMS". The page shows what target/papers/p4-gpu.txt has.
# Usage: ./p4.sh [SIZE [STEPS [ROUNDS]]]
cd "$(dirname "$0")" || exit 1
size=${1:-1023} steps=${2:-300} rounds=${3:-3}
export LD_LIBRARY_PATH=lib OMP_TARGET_OFFLOAD=mandatory
export PROMP_DEVICES=nvptx PROMP_SDC_LATENCY=10m PROMP_VERBOSE=0
for _ in $(seq "$rounds"); do
    for mode in off eager lazy:calls lazy:7 lazy:auto; do
        program=bin/swim asked=$mode
        [ $mode != lazy:calls ] || program=bin/swim-calls asked=lazy
        said=$(PROMP_SDC=$asked LD_PRELOAD=lib/libpromp.so timeout 120 $program "$size" "$steps" 2>&1) || {
            echo "p4.sh: $mode: $said" >&2
            exit 70
        }
        echo "$said" | awk -v mode="$mode" '/^seconds /{s=$2; next} {sums=sums" "$0} END{print mode, s, sums}'
    done
done
