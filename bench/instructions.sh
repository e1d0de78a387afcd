#!/usr/bin/env bash
# Instructions, counted by callgrind: repeatable where times are not. Needs valgrind.
#   instructions.sh          what fault tolerance costs: the NPB kernels that bench/ft_cost.py builds (class S, one thread, dynamic
#                            schedules), as ratios to PROMP_FT=off
#   instructions.sh drivers  what being built by the drivers costs: the kernels that bench/compile_cost.py builds (static schedules, class
#                            W, one thread), as ratios to GCC's builds; minutes
#   instructions.sh shapes   the same for c-tests/cost, loops as other people write them, and what saving old
#                            values costs whatever it takes (PROMP_SAVE_BUDGET=all); [SIZE] for all of them
#   instructions.sh constructs [LIBRARY]  what a synchronisation construct costs, likewise: 6,000 less 1,000
#   instructions.sh calls    what a construct costs, under libgomp and promp: 11,000 less 1,000 of them, by one thread
#   instructions.sh start [LIBRARY]  what being there costs: instructions from a program's start to its end,
#                            page faults, relocations and kilobytes, under libgomp, promp preloaded, and promp
#                            in libgomp's place; threads that wait sleep, so that waiting is not counted
#   instructions.sh devices  what a device construct costs, likewise, with the tests' plugin and its work
set -euo pipefail
cd "$(dirname "$0")/.."
lib=$PWD/target/release/libpromp.so
count() { # count EXE VAR=VALUE [CLASS]
    env OMP_NUM_THREADS=1 "$2" LD_PRELOAD="$lib" \
        valgrind --tool=callgrind --callgrind-out-file=/dev/null "$1" ${3-S} 2>&1 |
        awk '/refs/ {gsub(",", "", $NF); print $NF}'
}
flags=() least=1000
# What each case of bench/programs/PROGRAM.c costs under libgomp and LIBRARY: TIMES and `least` less `least` of it.
table() { # table PROGRAM LIBRARY TIMES NAME...
    local exe=target/bench/$1 with=$2 times=$3 which=0 name preload
    mkdir -p target/bench
    gcc -O2 -fopenmp "${flags[@]}" -o "$exe" "bench/programs/$1.c"
    refs() { # refs PRELOAD N
        OMP_NUM_THREADS=1 LD_PRELOAD=$1 valgrind --tool=callgrind --callgrind-out-file=/dev/null \
            "$exe" "$2" $which 2>&1 | awk '/refs/ {gsub(",", "", $NF); print $NF}'
    }
    printf '| | libgomp | promp |\n|---|---|---|\n'
    for name in "${@:4}"; do
        printf '| %s ' "$name"
        for preload in '' "$with"; do
            printf '| %s ' $((($(refs "$preload" $((times + least))) - $(refs "$preload" $least)) / times))
        done
        echo '|'
        which=$((which + 1))
    done
}
if [ "${1:-}" = calls ]; then
    table calls "$lib" 10000 'undeferred task' 'task' 'iteration of a taskloop with grainsize(1)' \
        'taskwait without children' 'region of one thread'
    exit
fi
if [ "${1:-}" = constructs ]; then
    table constructs "${2:-$lib}" 5000 barrier single for 'taskgroup of one task' ordered 'nest lock' region \
        lock 'dynamic loop of one chunk' '… of four' '… of four, monotonic' 'guided loop' 'two sections' \
        critical 'final task below a final one' 'doacross, an iteration' '… dynamic'
    exit
fi
if [ "${1:-}" = start ]; then
    with=${2:-$lib} exe=target/bench/first place=target/bench/in-place
    mkdir -p $place
    gcc -O2 -fopenmp -o $exe bench/programs/first.c
    cp "$with" $place/libgomp.so.1
    PYTHONPATH=tools python3 -c 'from packing import soname, make
soname.rename(make.pathlib.Path("'$place/libgomp.so.1'"), "libgomp.so.1")'
    system=$(gcc -print-file-name=libgomp.so.1)
    ways=("" "LD_PRELOAD=$with" "LD_LIBRARY_PATH=$PWD/$place")
    row() { # row NAME COMMAND...: what the command prints, under each way
        printf '| %s ' "$1"
        for way in "${ways[@]}"; do
            printf '| %s ' "$(env $way OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive "${@:2}" | tail -1)"
        done
        echo '|'
    }
    refs() {
        valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 |
            awk '/refs/ {gsub(",", "", $NF); print $NF}'
    }
    faults() { # the least of nine
        for _ in 1 2 3 4 5 6 7 8 9; do /usr/bin/time -f %R "$@" 2>&1 >/dev/null; done | sort -n | head -1
    }
    export -f refs faults
    printf '| | libgomp | promp, preloaded | promp in its place |\n|---|---|---|---|\n'
    for what in end region task; do row "instructions to the end: $what" bash -c "refs $exe $what"; done
    for what in end region task; do row "page faults: $what" bash -c "faults $exe $what"; done
    row 'KB of files in memory, KB of its own, behind a region' $exe mapped
    printf '| relocations '
    for file in "$system" "$with" "$with"; do printf '| %s ' "$(readelf -rW "$file" | grep -c R_X86_64)"; done
    printf '|\n| KB of code, constants and data '
    for file in "$system" "$with" "$with"; do
        size=0
        while read -r kind bytes; do
            [ "$kind" != LOAD ] || size=$((size + bytes))
        done < <(readelf -lW "$file" | awk '{print $1, $5}')
        printf '| %s ' $((size / 1024))
    done
    echo '|'
    exit
fi
if [ "${1:-}" = devices ]; then
    mkdir -p target/bench
    gcc -O2 -shared -fPIC -w -o target/bench/libgomp-plugin-nvptx.so.1 c-tests/device/fake_plugin.c
    flags=(-w -foffload=disable -include c-tests/device/image.h) least=1024
    export LD_LIBRARY_PATH=$PWD/target/bench
    table devices "${2:-$lib}" 5120 'target region without data' 'one that maps one variable' \
        'one that maps 16 variables' '256 variables, each' '256 enter data and 256 exit data, each' \
        'one whose 16 variables are there' 'update of one variable'
    exit
fi
if [ "${1:-}" = drivers ]; then
    printf '| kernel | instructions, GCC | drivers | ratio |\n|---|---|---|---|\n'
    for k in ep cg is mg ft; do
        for built in c-gcc:c-promp-cc f90-gfortran:f90-promp-fc; do
            gcc=$(count "target/bench/$k-${built%:*}" PROMP_FT=on W)
            drivers=$(count "target/bench/$k-${built#*:}" PROMP_FT=on W)
            awk -v k="${k^^}.${built%%-*}" -v a="$gcc" -v b="$drivers" 'BEGIN {printf "| %s | %.4g | %.4g | %.4f |\n", k, a, b, b / a}'
        done
    done
    exit
fi
if [ "${1:-}" = shapes ]; then
    mkdir -p target/bench/shapes
    printf '| kernel | instructions, GCC | drivers | ratio | whatever it takes |\n|---|---|---|---|---|\n'
    for source in c-tests/cost/*; do
        k=$(basename "$source")
        case $k in
        *.c) pair='gcc promp-cc' ;;
        *.cpp) pair='g++ promp-c++' ;;
        *) pair='gfortran promp-fc' ;;
        esac
        read -r gcc driver <<<"$pair"
        modules=()
        [ "$gcc" = gfortran ] && modules=(-J target/bench/shapes)
        "$gcc" -O2 -fopenmp "${modules[@]}" -o "target/bench/shapes/$k.gcc" "$source" -lm
        "target/release/$driver" -O2 -fopenmp -fno-promp-runtime "${modules[@]}" \
            -o "target/bench/shapes/$k.promp" "$source" -lm
        a=$(count "target/bench/shapes/$k.gcc" PROMP_FT=on "${2:-}")
        b=$(count "target/bench/shapes/$k.promp" PROMP_FT=on "${2:-}")
        c=$(count "target/bench/shapes/$k.promp" PROMP_SAVE_BUDGET=all "${2:-}")
        awk -v k="$k" -v a="$a" -v b="$b" -v c="$c" \
            'BEGIN {printf "| %s | %.4g | %.4g | %.3f | %.2f |\n", k, a, b, b / a, c / a}'
    done
    exit
fi
printf '| kernel | on/off | saving/off |\n|---|---|---|\n'
for k in ep cg is mg ft; do
    exe=target/bench/$k-dynamic
    off=$(count "$exe" PROMP_FT=off)
    on=$(count "$exe" PROMP_FT=on)
    saving=$(count "$exe" PROMP_REPLAY=assume)
    awk -v k="${k^^}" -v a="$off" -v b="$on" -v c="$saving" 'BEGIN {printf "| %s | %.5f | %.5f |\n", k, b / a, c / a}'
done
