# promp: every target does its own set-up (tools/setup.sh installs missing Debian packages when run as root).
CARGO ?= cargo
RUN   := target/release/promp
# The integration tests, which are built without the runtime (checks/Cargo.toml).
CHECKS := $(CARGO) test --profile checks --package promp-checks
.PHONY: licences notices test-busy test-compilers help check plugin bench-ckpt papers setup-long docs conformance all build setup setup-tests demo test test-long lint loom bench bench-ft bench-scale clean layers style house install uninstall dist deb wheel test-install

all: build plugin

# What can be made.
help:
	@awk '/^# /{if(!c)c=substr($$0,3)} /^[a-z][a-z-]*:/{split($$1,n,":"); sub(/[.:;] .*/, "", c); if(c) printf "%-16s %s\n", n[1], c; c=""} /^$$/{c=""}' $(MAKEFILE_LIST)

build:
	$(CARGO) build --release --workspace
	@$(CC) -O2 -fPIC -c include/promp_stubs.c -o target/release/promp_stubs.o
	@$(AR) rcs target/release/libpromp-stubs.a target/release/promp_stubs.o

# The GCC plugin behind promp-cc, promp-c++ and promp-fc. Without the compiler's plugin headers it is left out, with a message.
plugin: build
	@if [ -e "$$(gcc -print-file-name=plugin)/include/gcc-plugin.h" ]; then $(MAKE) -s $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc)) -C plugin; \
	else echo "plugin: no headers for GCC plugins (Debian: gcc-$$(gcc -dumpversion)-plugin-dev): promp-cc is left out" >&2; fi

setup:
	@tools/setup.sh compilers

setup-tests: setup
	@tools/setup.sh packages

# Builds everything and shows a failure being survived, step by step.
demo: setup plugin
	@tools/demo.sh

# Everything that must hold: formatting, lints, unit tests, loom
# models, programs, sweeps, other people's software. TESTS=cli:: names some of the tests (tools/test.py).
test: setup-tests lint build plugin loom
	@CARGO="$(CARGO)" tools/test.py $(TESTS)

setup-long: setup-tests
	@tools/setup.sh long

# The same sweeps with twelve times the samples, larger classes, XGBoost, LightGBM and GROMACS. More than an hour on two cores.
test-long: setup-long build plugin loom
	@CARGO="$(CARGO)" PROMP_TEST_LONG=1 tools/test.py --jobs 1 --limit 21600 $(TESTS)

# The tests beside 20 processes that compute all the time, as on a machine that others use: TESTS=checks/recovery names some.
test-busy: setup-tests build plugin
	@CARGO="$(CARGO)" tools/test.py --busy 20 --limit 3600 $(TESTS)

# The test programs built by GCC 14, 16 and 17, in Debian systems made under target/compilers (as root, with
# mmdebstrap), under their own libgomp and under promp; threads killed in kernels of GCC 17. 6 GB.
test-compilers: setup build
	@tools/compilers.py

# GCC's own libgomp test suite under libgomp and promp; writes docs/internals/conformance.md. About half an hour.
conformance: setup build
	@tools/conformance.sh

# The documents that are made from tables, and what commands print in the pages for users. Not beside other work.
docs: build plugin
	PROMP_WRITE_DOCS=1 $(CHECKS) abi::the_documents_list
	PROMP_WRITE_DOCS=1 $(CHECKS) documents:: -- --test-threads 1
	PROMP_WRITE_DOCS=1 $(CARGO) test --profile checks -p promp-settings the_document
	test ! -e target/papers/results.json || python3 bench/papers/make.py --write-only

lint: layers style house
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings
	@tools/licences.py

# Which folder may name which (layers.toml); widths of lines, links and names of files in texts (style.toml).
layers:
	@tools/layers.py

style:
	@tools/style.py

# Sizes, circles, names and words against the ceilings in house.toml, which only fall.
house:
	@tools/house.py

# Licences, sources and versions of the packages that promp is built from; their notices, to be packed with it.
licences:
	@tools/licences.py

notices:
	@tools/licences.py --notices > target/THIRD-PARTY
	@echo target/THIRD-PARTY

# What can be said in a minute where all is built, without being root: formatting, lints, layers, widths, links, ceilings, unit tests.
check: lint
	$(CARGO) test -q --profile checks --workspace --exclude promp-checks --lib --bins

loom:
	$(CARGO) test --release --manifest-path tests/loom/Cargo.toml

# The papers' programs and tables, measured in some 25 minutes: docs/papers.md. FULL=1: class B, all CPUs; RESUME=1
# goes on where an interrupted run was.
papers: build plugin
	@python3 bench/papers/make.py $(if $(FULL),--full) $(if $(RESUME),--resume)

# What fault tolerance costs without failures: NPB kernels, PROMP_FT on against off, interleaved.
bench-ft: setup build
	@bench/ft_cost.py

# What checkpoints cost, beside the machine's limits.
bench-ckpt: setup build
	@bench/checkpoints.py

# Speed beside libgomp and libomp; BENCH=--quick takes a minute, the whole about twenty. Writes bench/results and README's table.
bench: setup build
	@tools/setup.sh bench
	@$(or $(wildcard .venv/bin/python),python3) bench/run.py $(if $(BENCH),$(BENCH),--readme)

# The same with 2 to all CPUs, from a folder that runs on any machine: target/scale, then ./scale.py run there.
bench-scale: setup build
	@tools/setup.sh bench
	@bench/scale.py pack target/scale

# Installs what was built: make install [PREFIX=/usr/local] [DESTDIR=] [LIBDIR=PREFIX/lib] [PARTS="lib bin ..."].
# The prefix can be moved later. docs/install.md
install uninstall: export PREFIX := $(PREFIX)
install uninstall: export DESTDIR := $(DESTDIR)
install uninstall: export LIBDIR := $(LIBDIR)
install uninstall: export PARTS := $(PARTS)
install:
	@tools/install.py install

# Removes it again.
uninstall:
	@tools/install.py uninstall

# The source with all that it is built from, the binaries, checksums: target/dist.
dist:
	@tools/package.py dist

# Debian packages, for this Debian and newer ones: target/dist.
deb:
	@tools/package.py deb

# Library and command as a wheel for Python: target/dist.
wheel:
	@tools/package.py wheel

# The packages in clean Debian systems made under target/roots (as root, with mmdebstrap; 2 GB), and the source
# tarball built without a network: a table with a row a check.
test-install: build plugin
	@tools/test_install.py

clean:
	$(CARGO) clean
	rm -rf tests/loom/target .venv
