#!/bin/sh
# What tools/test_install.py runs in a Debian system: install_checks.sh PREFIX GROUP..., where promp is
# installed, and which groups of checks are made. Prints a line a check: what it is; and behind a tab, where
# it fails, why.
set -e
p=$1
shift
cd "$(mktemp -d)"
export PATH="$p/bin:$PATH" OMP_NUM_THREADS=4
for lib in lib lib/x86_64-linux-gnu; do
    PKG_CONFIG_PATH="$p/$lib/pkgconfig:$PKG_CONFIG_PATH"
done
export PKG_CONFIG_PATH
gcc -O2 -fopenmp /promp-test/regions.c -o regions
./regions >want

check() { # check WHAT COMMANDS
    if timeout 120 sh -ec "$2" >log 2>&1; then
        echo "$1"
    else
        printf '%s\t%s\n' "$1" "status $?: $(tail -n 3 log | tr '\n\t' '/ ')"
    fi
}
killed="cmp out want; grep 'thread 1 failed' err || { cat err; false; }"

run() {
    check "promp run survives a kill" "
        promp run --replay assume --fault kill@thread=1,region=20 -- ./regions >out 2>err; $killed"
    check "a checkpoint is restarted" "
        promp run --ckpt c --every 10ms --fault die@region=120 -- ./regions >out || test \$? = 137
        promp restart c >>out; cmp out want"
}
cc() {
    check "promp-cc builds a program that survives one" "
        promp-cc -O2 -fopenmp /promp-test/regions.c -o mine
        PROMP_FAULT=kill@thread=1,region=20 ./mine >out 2>err; $killed"
}
found() {
    check "pkg-config" "pkg-config --modversion promp; pkg-config --libs promp"
    check "find_package" "
        cmake -S /promp-test/cmake -B b -DCMAKE_PREFIX_PATH=$p; cmake --build b; test \$(b/linked) = 100"
}
pages() {
    check "man promp-run" "MANPATH='$p/share/man' man promp-run | grep -q ckpt"
    # What loads it has another name in each version, and a status that says that it has.
    check "completion in bash" "bash -c '
        . /usr/share/bash-completion/bash_completion; XDG_DATA_DIRS=$p/share
        \$(compgen -A function | grep -xE \"_completion_loader|_comp_load\" | head -n 1) promp
        COMP_WORDS=(promp insp); COMP_CWORD=1; _promp promp insp promp; test \$COMPREPLY = inspect'"
    check "module file" "bash -c '
        . /etc/profile.d/modules.sh; module use $p/share/modulefiles; module load promp
        test \$PROMP_ROOT = $p'"
}
python() {
    check "import promp" "
        echo 'import promp; promp.checkpoint(); print(promp.stats())' >s.py
        python -m promp run s.py >out; grep regions out; python s.py >out; grep None out"
}
for group in "$@"; do
    $group
done
