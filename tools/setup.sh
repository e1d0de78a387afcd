#!/usr/bin/env bash
# Installs what is missing, by package name: `setup.sh compilers` (gcc, g++, gfortran, cargo), `setup.sh packages` (the
# software of others that the tests run), `setup.sh long` (larger packages for the long tests) or `setup.sh bench` (what speed
# is measured against). As root on Debian it uses apt-get; otherwise it says what to install.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
need() { # need COMMAND PACKAGE
    command -v "$1" >/dev/null 2>&1 || missing+=("$2")
}
need_file() { # need_file GLOB PACKAGE
    compgen -G "$1" >/dev/null || missing+=("$2")
}

install_missing() { # install_missing required|optional
    [ ${#missing[@]} -eq 0 ] && return 0
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "setup: installing ${missing[*]}" >&2
        if (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}") >/tmp/promp-setup.log 2>&1; then
            return 0
        fi
        echo "setup: apt-get could not install ${missing[*]}; see /tmp/promp-setup.log" >&2
    else
        echo "setup: please install these packages: ${missing[*]} (on Debian, as root: apt-get install ${missing[*]})" >&2
    fi
    [ "$1" = optional ]
}

case "${1:-}" in
compilers)
    need gcc gcc
    need g++ g++
    need gfortran gfortran
    need make make
    need python3 python3
    install_missing required
    missing=()
    # The compile side is built where the compiler's plugin headers are.
    need_file "$(gcc -print-file-name=plugin)/include/gcc-plugin.h" "gcc-$(gcc -dumpversion | cut -d. -f1)-plugin-dev"
    install_missing optional
    # Debian's own cargo is too old; Rust's installer is the way, and not ours to run.
    have=$(cargo --version 2>/dev/null | awk '{print $2}' || true)
    if [ -z "$have" ] || [ "$(printf '1.90.0\n%s\n' "$have" | sort -V | head -n 1)" != 1.90.0 ]; then
        echo "setup: Rust 1.90 or later is needed (found: ${have:-none}); install it with rustup, https://rustup.rs" >&2
        exit 1
    fi
    ;;
bench)
    need_file '/usr/lib/*-linux-gnu/libomp.so.5' libomp5-14
    python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
    install_missing optional
    [ -x .venv/bin/python ] || python3 -m venv .venv >/tmp/promp-venv.log 2>&1 || exit 0
    .venv/bin/python -c 'import matplotlib' 2>/dev/null || .venv/bin/pip install -q matplotlib >/tmp/promp-venv.log 2>&1 ||
        echo "setup: no matplotlib from PyPI (/tmp/promp-venv.log): plots are left out" >&2
    ;;
packages)
    need rpmspec rpm
    gcc=gcc-$(gcc -dumpversion | cut -d. -f1)
    need_file '/usr/lib/gcc/*/*/accel/nvptx-none/mkoffload' "$gcc-offload-nvptx"
    need_file '/usr/lib/*-linux-gnu/openblas-openmp/libopenblas.so' libopenblas-openmp-dev
    need_file '/usr/include/fftw3.h' libfftw3-dev
    need_file '/usr/include/uv.h' libuv1-dev
    need_file '/usr/include/zmq.h' libzmq3-dev
    need_file '/usr/include/gc.h' libgc-dev
    need_file '/usr/bin/convert*' imagemagick
    need valgrind valgrind
    need gdb gdb
    need perf linux-perf
    need chromium chromium
    need tmux tmux
    need numactl numactl
    need cmake cmake
    need pkg-config pkg-config
    need musl-gcc musl-tools
    need eztrace eztrace
    need otf2-print otf2-tools
    need_file '/usr/lib/llvm-*/lib/libarcher.so' libomp-14-dev
    need fasttreeMP fasttree
    need clustalo clustalo
    need muscle muscle
    need_file '/usr/lib/python3/dist-packages/threadpoolctl.py' python3-threadpoolctl
    python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
    need_file '/usr/lib/*-linux-gnu/libomp.so.5' libomp5-14
    install_missing optional
    if [ ! -x .venv/bin/python ]; then
        python3 -m venv .venv >/tmp/promp-venv.log 2>&1 || { rm -rf .venv; echo "setup: no Python venv (apt-get install python3-venv)" >&2; exit 0; }
    fi
    # Each alone if they cannot be had together.
    python_packages="joblib scikit-learn numba tqdm"
    if ! .venv/bin/python -c 'import joblib, sklearn, numba, tqdm' 2>/dev/null; then
        echo "setup: installing $python_packages into .venv" >&2
        .venv/bin/pip install -q --disable-pip-version-check $python_packages >/tmp/promp-pip.log 2>&1 ||
            for package in $python_packages; do
                .venv/bin/pip install -q --disable-pip-version-check $package >/tmp/promp-pip.log 2>&1 || echo "setup: pip could not install $package; see /tmp/promp-pip.log" >&2
            done
    fi
    ;;
long)
    need gmx gromacs
    need iqtree2-omp iqtree
    need gmic gmic
    need_file '/usr/lib/R/site-library/data.table/DESCRIPTION' r-cran-data.table
    need slurmd slurmd
    need slurmctld slurmctld
    need sbatch slurm-client
    need perl perl
    need octave-cli octave
    install_missing optional
    for module in xgboost lightgbm; do
        if [ -x .venv/bin/pip ] && ! .venv/bin/python -c "import $module" 2>/dev/null; then
            echo "setup: installing $module into .venv" >&2
            # Without what it needs for devices only; narwhals is LightGBM's.
            .venv/bin/pip install -q --disable-pip-version-check --no-deps $module narwhals >/tmp/promp-pip.log 2>&1 || echo "setup: pip could not install $module; see /tmp/promp-pip.log" >&2
        fi
    done
    ;;
*)
    echo "usage: tools/setup.sh compilers|packages|long|bench" >&2
    exit 64
    ;;
esac
