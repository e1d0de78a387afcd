#!/usr/bin/env bash
# debian_source.sh DIR PACKAGE...: fetches the upstream source of Debian packages by name, checked by apt's signatures, and unpacks each
# to DIR/PACKAGE. It keeps apt's lists in DIR: the system's own need no deb-src lines, and root is not needed.
set -euo pipefail
dir=$1
shift
mkdir -p "$dir/lists/partial"
cd "$dir"
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" >sources.list
options=(-q -o "Dir::Etc::sourcelist=$PWD/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$PWD/lists"
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User= -o Debug::NoLocking=1)
apt-get "${options[@]}" update
for package in "$@"; do
    [ -d "$package" ] && continue
    apt-get "${options[@]}" --download-only source "$package"
    mkdir "$package.new"
    tar -xf "$(ls "$package"_*.orig.tar.* | grep -v '\.asc$')" -C "$package.new" --strip-components 1
    mv "$package.new" "$package"
done
