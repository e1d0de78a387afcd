#!/usr/bin/env bash
# The demonstration: OpenMP programs lose threads and print the right answer. First programs built by
# promp-cc, then unmodified ones. demo.sh [CLASS]: of the NAS benchmarks.
set -uo pipefail
cd "$(dirname "$0")/.."
out=target/demo
mkdir -p $out
bin=target/release
promp=$bin/promp
threads=4
class=${1:-A}
bold() { printf '\n\033[1m%s\033[0m\n' "$*"; }
fail() { echo "demo: $*" >&2; exit 1; }
indent() { sed 's/^/   /' "$@"; }
now() { date +%s.%N; }

# do_it COMMAND...: shows a command and runs it.
do_it() { echo "   \$ $*"; "$@" || fail "$1 failed"; }

# run NAME PROGRAM ARGUMENTS...: a run without failures.
run() {
    local name=$1 t0
    shift
    t0=$(now)
    $promp run --threads $threads -- "$@" >$out/$name.good 2>$out/$name.err || fail "$name failed without any fault"
    good=$(awk "BEGIN{printf \"%.2f\", $(now)-$t0}")
}

# survive NAME WORD FAULT OPTIONS -- PROGRAM ARGUMENTS...: the same with failures, until the messages have
# WORD in them (FAULT has the number of the try for SEED). Both outputs must be identical, each time.
survive() {
    local name=$1 word=$2 fault=$3 seed t0 bad status
    shift 3
    for seed in {1..40}; do
        t0=$(now)
        $promp run --threads $threads --report $out/$name.json --fault "${fault//SEED/$seed}" "$@" \
            >$out/$name.bad 2>$out/$name.err
        status=$?
        bad=$(awk "BEGIN{printf \"%.2f\", $(now)-$t0}")
        [ $status = 0 ] || { cat $out/$name.err; fail "$name: the run with failures ended with status $status"; }
        cmp -s $out/$name.good $out/$name.bad || fail "$name: the outputs differ"
        grep -q "$word" $out/$name.err && break
    done
    echo
    paste -d '|' <(indent $out/$name.good | awk '{printf "%-68s\n", $0}') <(sed 's/^/ /' $out/$name.bad)
    printf '   %-65s| %s\n\n' "no failure: $good s" "with failures: $bad s"
    indent $out/$name.err
    grep -q "$word" $out/$name.err || fail "$name: no failure struck work in flight in $seed tries"
    echo "   Both outputs are identical."
}

# refused NAME PROGRAM ARGUMENTS...: a run that is killed in work in flight and must be stopped, in place of a
# wrong answer.
refused() {
    local name=$1 seed status
    shift
    for seed in {1..40}; do
        $promp run --threads $threads --fault "kill@mtbf=5ms,seed=$seed,count=20" -- "$@" \
            >$out/$name.out 2>$out/$name.err
        status=$?
        [ $status = 70 ] && break
    done
    indent $out/$name.err
    echo "   exit status $status, printed: \"$(cat $out/$name.out)\""
    [ $status = 70 ] || fail "$name should have been refused"
}

[ -e $bin/promp_plugin.so ] ||
    fail "promp-cc was not built: it needs GCC's plugin headers (Debian: gcc-$(gcc -dumpversion)-plugin-dev)"

bold "1. A program of several files, built by promp-cc in place of gcc"
echo "   Random walks: the generator is in a file of its own, and may end the program with a message."
for unit in walks draw; do
    do_it $bin/promp-cc -O2 -fopenmp -c -o $out/$unit.o c-tests/many_files/$unit.c
done
do_it $bin/promp-cc -fopenmp -o $out/walks $out/walks.o $out/draw.o
echo "   Threads are killed in the middle of their work, at default settings. Nobody vouches for anything."
run walks $out/walks
survive walks recomputed "kill@mtbf=8ms,seed=SEED,count=3" -- $out/walks
echo
echo "   What is proved of it, and why:"
do_it $bin/promp-cc --explain $out/walks.json | indent

npb() { # npb NAME FAULT
    bold "$1 class $class on $threads threads, $2"
    run $1 $out/$1 $class
    survive $1 "thread" "$2" -- $out/$1 $class
    grep -q 'verification successful' $out/$1.bad || fail "$1: verification failed"
    echo
    $promp report $out/$1.json | indent
}

bold "2. Two NAS Parallel Benchmarks, built by promp-fc and promp-cc"
do_it $bin/promp-fc -cpp -O2 -fopenmp -J $out -o $out/ep c-tests/npb/ep.f90
do_it $bin/promp-cc -O2 -fopenmp -o $out/cg c-tests/npb/cg.c -lm
npb ep "kill@thread=1,nth=3,delay=20ms;kill@thread=2,nth=9,delay=10ms"
npb cg "kill@thread=1,region=3,nth=4,delay=20us;kill@thread=3,region=7,nth=30,delay=20us;kill@mtbf=150ms,seed=3,count=5"

bold "3. An unmodified binary, with checkpoints: a[i] = a[i]*c + b"
do_it gcc -O2 -fopenmp -o $out/update c-tests/ft/update.c
echo "   Half of a chunk was updated when its thread was killed: all go back to the last checkpoint, and on."
run update $out/update 100
rm -rf $out/checkpoints
survive update "rolled back" "kill@mtbf=20ms,seed=SEED,count=3" --ckpt $out/checkpoints --every 10ms -- $out/update 100
rm -rf $out/checkpoints

bold "4. The same without checkpoints"
echo "   Nobody can tell which half of the chunk was updated. There is no right answer any more, so there is none:"
refused update $out/update

bold "5. What \"assume\" means"
echo "   CG's loops write only what they do not read, so that its chunks may be executed again. Of a binary that"
echo "   gcc has built the runtime cannot know that:"
do_it gcc -O2 -fopenmp -DDYNAMIC=64 -o $out/cg-gcc c-tests/npb/cg.c -lm
refused cg-gcc $out/cg-gcc W
echo
echo "   Whoever knows it can say so, PROMP_REPLAY=assume (for a program like the one before, that would be a lie):"
run cg-gcc $out/cg-gcc W
survive cg-gcc recomputed "kill@mtbf=10ms,seed=SEED,count=5" --replay assume -- $out/cg-gcc W
bold "Done."
