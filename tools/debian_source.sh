#!/usr/bin/env bash
# debian_source.sh [--suite SUITE] [--only GLOB] DIR PACKAGE...: fetches the upstream source of Debian
# packages by name, checked by apt's signatures, and unpacks each, or the files that match, to DIR/PACKAGE.
# It keeps apt's lists in DIR: the system's own need no deb-src lines, and root is not needed.
set -euo pipefail
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
only=()
while [[ $1 = --* ]]; do
    case $1 in
    --suite) suite=$2 ;;
    --only) only=(--wildcards "$2") ;;
    *) echo "debian_source.sh: $1 is not an option" >&2; exit 64 ;;
    esac
    shift 2
done
dir=$1
shift
mkdir -p "$dir/lists/partial"
cd "$dir"
key=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb-src [signed-by=$key] http://deb.debian.org/debian $suite main" >sources.list
options=(-q -o "Dir::Etc::sourcelist=$PWD/sources.list" -o Dir::Etc::sourceparts=-
    -o "Dir::State::lists=$PWD/lists"
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User= -o Debug::NoLocking=1)
# Mirrors may be out of date: the signatures count.
options+=(-o 'Acquire::Check-Valid-Until=false')
apt-get "${options[@]}" update
for package in "$@"; do
    [ -d "$package" ] && continue
    apt-get "${options[@]}" --download-only --tar-only source "$package"
    mkdir "$package.new"
    source=$(ls "$package"_*.orig.tar.* | grep -v '\.asc$')
    tar -xf "$source" -C "$package.new" --strip-components 1 "${only[@]}"
    mv "$package.new" "$package"
done
