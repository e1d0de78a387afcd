#!/bin/sh
# What tools/test_install.py runs in a Debian system: install_checks.sh PREFIX, where promp is installed.
# Prints a line a check.
set -e
p=$1
cd "$(mktemp -d)"
export PATH="$p/bin:$PATH" OMP_NUM_THREADS=4
cp /promp-test/regions.c .
gcc -O2 -fopenmp regions.c -o regions
./regions >want
tail -n 1 want >last

check() { # check WHAT COMMANDS
    if sh -c "$2" >log 2>&1; then
        echo "ok   $1"
    else
        echo "FAIL $1: $(tail -n 3 log | tr '\n' ' ')"
    fi
}
check "promp run survives a kill" "
    promp run --replay assume --fault kill@thread=1,region=20 -- ./regions >out 2>err
    cmp out want && grep 'thread 1 failed' err"
check "a checkpoint is restarted" "
    promp run --ckpt c --fault die@region=120 -- ./regions >out
    promp restart c >rest && tail -n 1 rest | cmp - last"
check "man promp-run" "MANPATH='$p/share/man' man promp-run | grep -q ckpt"
check "completion in bash" "bash -c '
    . /usr/share/bash-completion/bash_completion; XDG_DATA_DIRS=$p/share
    _completion_loader promp || _comp_load promp
    COMP_WORDS=(promp insp); COMP_CWORD=1; _promp promp insp promp; test \$COMPREPLY = inspect'"
check "promp-cc builds a program that survives" "
    promp-cc -O2 -fopenmp regions.c -o mine
    PROMP_FAULT=kill@thread=1,region=20 ./mine >out 2>err
    cmp out want && grep 'thread 1 failed' err"
for lib in lib lib/x86_64-linux-gnu; do
    PKG_CONFIG_PATH="$p/$lib/pkgconfig:$PKG_CONFIG_PATH"
done
export PKG_CONFIG_PATH
check "pkg-config" "pkg-config --modversion promp && pkg-config --libs promp"
check "find_package" "
    cmake -S /promp-test/cmake -B b -DCMAKE_PREFIX_PATH=$p && cmake --build b && test \$(b/linked) = 100"
check "module file" "bash -c '
    . /etc/profile.d/modules.sh; module use $p/share/modulefiles; module load promp; test \$PROMP_ROOT = $p'"
