#!/usr/bin/env bash
# The demonstration: unmodified OpenMP programs lose threads and print the right answer.
set -uo pipefail
cd "$(dirname "$0")/.."
out=target/demo
mkdir -p $out
promp=target/release/promp
threads=4
bold() { printf '\n\033[1m%s\033[0m\n' "$*"; }
fail() { echo "demo: $*" >&2; exit 1; }

bold "1. Building two NAS Parallel Benchmarks with the ordinary compilers"
echo '   gfortran -cpp -DDYNAMIC=4 -O2 -fopenmp c-tests/npb/ep.f90;  gcc -O2 -fopenmp -DDYNAMIC=64 c-tests/npb/cg.c'
gfortran -cpp -DDYNAMIC=4 -O2 -fopenmp -J $out -o $out/ep c-tests/npb/ep.f90 || fail "gfortran failed"
gcc -O2 -fopenmp -DDYNAMIC=64 -o $out/cg c-tests/npb/cg.c -lm || fail "gcc failed"
gcc -O2 -fopenmp -o $out/update c-tests/ft/update.c || fail "gcc failed"

show() { # show NAME FAULT
    local name=$1 fault=$2
    local t0 t1 good bad
    bold "$name class A on $threads threads, $fault"
    cat <<EOF
   In this program's loops every iteration writes only what it does not read: executing a chunk again gives the same
   result. The runtime cannot know that of an unmodified binary, so we say it: PROMP_REPLAY=assume.
EOF
    t0=$(date +%s.%N)
    $promp run --threads $threads -- $out/$name A >$out/$name.good 2>$out/$name.good.err || fail "$name failed without any fault"
    t1=$(date +%s.%N)
    good=$(awk "BEGIN{printf \"%.2f\", $t1-$t0}")
    t0=$(date +%s.%N)
    $promp run --threads $threads --replay assume --fault "$fault" --report $out/$name.json -- $out/$name A >$out/$name.bad 2>$out/$name.bad.err
    status=$?
    t1=$(date +%s.%N)
    bad=$(awk "BEGIN{printf \"%.2f\", $t1-$t0}")
    [ $status = 0 ] || { cat $out/$name.bad.err; fail "the run with failures ended with status $status"; }
    echo
    paste -d '|' <(sed 's/^/   /' $out/$name.good | awk '{printf "%-68s\n", $0}') <(sed 's/^/ /' $out/$name.bad)
    printf '   %-65s| %s\n' "no failure: $good s" "with failures: $bad s"
    echo; sed 's/^/   /' $out/$name.bad.err
    grep -q 'verification successful' $out/$name.bad || fail "verification failed"
    cmp -s $out/$name.good $out/$name.bad && echo "   Both outputs are identical." || fail "the outputs differ"
    echo; $promp report $out/$name.json | sed 's/^/   /'
}

show ep "kill@thread=1,nth=3,delay=20ms;kill@thread=2,nth=9,delay=10ms"
show cg "kill@thread=1,region=3,nth=40,delay=20us;kill@thread=3,region=7,nth=300,delay=20us;kill@mtbf=150ms,seed=3,count=5"

bold "A program whose work must not be repeated: a[i] = a[i]*c + b"
echo "   Killed in mid-chunk at default settings, it is stopped: half of the chunk was updated already, and nobody can tell which half."
for us in 20 40 60 80 100 150; do
    $promp run --threads $threads --fault "kill@thread=1,region=3,delay=${us}us" -- $out/update >$out/update.out 2>$out/update.err
    status=$?
    [ $status = 70 ] && break
done
sed 's/^/   /' $out/update.err
echo "   exit status $status, printed: \"$(cat $out/update.out)\""
[ $status = 70 ] && [ ! -s $out/update.out ] || fail "it should have been refused"
bold "Done."
