#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The .deb packages in a Debian 12 that has nothing else:
#   scripts/package-check.sh FOLDER
# builds the packages of this tree (preset package), asks lintian for errors, makes
# the root FOLDER/root with debootstrap (or takes the one that is there), and in it
# installs the packages with apt, tunes one problem, builds the example
# against libtcbrt-dev with pkg-config and with CMake, looks for manual pages and
# completions, removes all, and looks for what is left.  Each step says what it saw.
# Needs root, debootstrap, dpkg-dev, lintian and a network.
#   BARE_ROOT_MIRROR   where Debian is fetched from (http://deb.debian.org/debian)
# Exit: 0 all passed, 1 a step did not, 2 wrong usage or no root could be made.
set -eu
if [ $# -ne 1 ]; then
	echo "usage: $0 FOLDER" >&2
	exit 2
fi
for tool in debootstrap lintian dpkg-shlibdeps; do
	if [ "$(id -u)" -ne 0 ] || ! command -v "$tool" >/dev/null; then
		echo "package-check.sh: needs root, debootstrap, lintian and dpkg-dev" >&2
		exit 2
	fi
done
mkdir -p "$1"
folder=$(cd "$1" && pwd)
root=$folder/root
cd "$(dirname "$0")/.."

cmake --preset package >/dev/null
cmake --build --preset package >"$folder/build.log"
rm -rf "$folder/debs"
cpack --config build/package/CPackConfig.cmake -B "$folder/debs" >"$folder/cpack.log"
rm -rf "$folder/debs/_CPack_Packages"
echo "== packages"
ls "$folder/debs"

echo "== lintian"
lintian --allow-root --fail-on error --tag-display-limit 0 "$folder"/debs/*.deb

if [ ! -x "$root/bin/sh" ]; then
	debootstrap --variant=minbase bookworm "$root" "${BARE_ROOT_MIRROR:-http://deb.debian.org/debian}" \
		>"$folder/debootstrap.log" || exit 2
fi
rm -rf "$root/check"
mkdir "$root/check"
cp "$folder"/debs/*.deb "$root/check"
cp -r examples "$root/check"
cat >"$root/check/inside.sh" <<'INSIDE'
set -eu
export DEBIAN_FRONTEND=noninteractive
cd /check
fail() {
	echo "FAILED: $*"
	exit 1
}
apt-get update -qq
apt-get install -y -qq --no-install-recommends gcc libc6-dev cmake make pkg-config man-db >/dev/null 2>&1
apt-get install -y -qq --no-install-recommends ./*.deb >/dev/null
dpkg-query -W -f='installed: ${Package} ${Version}\n' '*tcb*'
for package in $(dpkg-query -W -f='${Package}\n' '*tcb*'); do dpkg -L "$package"; done | sort -u >files

echo "== tune"
tcbtune sweep --op q4k_matvec --shape 1x4096x4096 --budget 30s --db t.db
tcbtune report --db t.db >/dev/null

echo "== the example, with pkg-config and with CMake"
gcc -std=c17 examples/lookup.c $(pkg-config --cflags --libs tcbrt) -o lookup
gcc -std=c17 examples/emulate.c $(pkg-config --cflags --libs tcbptx) -o emulate
./lookup t.db q4k_matvec 4096 4096 | grep source
cmake -S examples -B made >/dev/null
cmake --build made >/dev/null
made/lookup t.db q4k_matvec 4096 4096 | grep source
made/lookup_static t.db q4k_matvec 4096 4096 | grep source
made/execute t.db >/dev/null
made/attention t.db >/dev/null

echo "== manual pages and completions"
for page in tcbtune 3:tcbrt 3:tcbptx $(tcbtune help | sed -n 's/^  \([a-z]\+\) .*/tcbtune-\1/p'); do
	section=1
	case $page in 3:*) section=3 page=${page#3:} ;; esac
	man -w "$section" "$page" >/dev/null || fail "no page $page($section)"
done
man -k tcbtune 2>/dev/null | wc -l | sed 's/$/ pages are found by man -k/'
for file in bash-completion/completions/tcbtune zsh/vendor-completions/_tcbtune fish/vendor_completions.d/tcbtune.fish; do
	[ -s "/usr/share/$file" ] || fail "no $file"
done
bash -c '. /usr/share/bash-completion/completions/tcbtune && COMP_WORDS=(tcbtune swe) COMP_CWORD=1 && _tcbtune &&
	[ "${COMPREPLY[*]}" = sweep ]' || fail "bash completes nothing"

echo "== removal"
apt-get purge -y -qq '^(lib)?tcb.*' >/dev/null
while read -r file; do
	if [ -f "$file" ] || [ -L "$file" ] && ! dpkg -S "$file" >/dev/null 2>&1; then fail "$file is left"; fi
done <files
left=$(find / -xdev \( -path /proc -o -path /check -o -path /sys -o -path /var/cache \) -prune -o -name '*tcb*' -print)
[ -z "$left" ] || fail "these are left: $left"
echo "nothing is left"
INSIDE
unshare --mount --pid --fork sh -c '
	mount --bind "$1" "$1" && mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" && mount --rbind /dev "$1/dev" || exit 2
	exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 chroot "$1" sh /check/inside.sh
' sh "$root"
rm -rf "$root/check"
