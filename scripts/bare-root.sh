#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The two commands of README.md in a Debian 12 that has nothing else:
#   scripts/bare-root.sh FOLDER [TEST_ARGUMENT]
# makes the root FOLDER/root with debootstrap (or takes the one that is there, with
# what earlier runs installed), puts a clone of HEAD into it, runs
# scripts/quickstart.sh and scripts/test.sh TEST_ARGUMENT, and prints how each
# ended, with what was skipped.  FOLDER keeps the whole output: quickstart.log and
# test.log.  Needs root, debootstrap, git, a network and about half an hour (dev
# alone: a quarter).
#   BARE_ROOT_MIRROR   where Debian is fetched from (http://deb.debian.org/debian)
#   BARE_ROOT_CERTS    a file of certificates to trust, where a proxy has its own
# Exit: 0 both passed, 1 one did not, 2 wrong usage or no root could be made.
set -eu
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
	echo "usage: $0 FOLDER [dev|asan|tsan|neon]" >&2
	exit 2
fi
if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
	echo "bare-root.sh: needs root and debootstrap" >&2
	exit 2
fi
mkdir -p "$1"
folder=$(cd "$1" && pwd)
root=$folder/root
tests=${2:-}
cd "$(dirname "$0")/.."

if [ ! -x "$root/bin/sh" ]; then
	debootstrap --variant=minbase bookworm "$root" "${BARE_ROOT_MIRROR:-http://deb.debian.org/debian}" \
		>"$folder/debootstrap.log" || exit 2
fi
rm -rf "$root/tcbtune"
git clone -q --no-hardlinks . "$root/tcbtune"
certs=""
if [ -n "${BARE_ROOT_CERTS:-}" ]; then
	cp "$BARE_ROOT_CERTS" "$root/trusted.pem"
	certs=/trusted.pem
fi

# COMMAND in the root, with mounts that end with it; all that it prints goes to LOG.  The root is a mount of its own:
# tests that mount something need one.
inside() {
	log=$1
	shift
	# shellcheck disable=SC2016 # it expands there
	unshare --mount --pid --fork sh -c '
		root=$1
		certs=$2
		shift 2
		mount --bind "$root" "$root" && mount -t proc proc "$root/proc" &&
			mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev" || exit 2
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 ${certs:+PIP_CERT="$certs"} \
			chroot "$root" sh -c "cd /tcbtune && exec \"\$@\"" sh "$@"
	' sh "$root" "$certs" "$@" >"$log" 2>&1
}

# try LOG LINES COMMAND: the last LINES of what COMMAND says.
failed=0
try() {
	log=$1
	lines=$2
	shift 2
	start=$(date +%s)
	status=0
	inside "$log" "$@" || status=$?
	echo "== $*: exit $status after $(($(date +%s) - start)) s; the end of $log:"
	tail -n "$lines" "$log"
	[ "$status" -eq 0 ] || failed=1
}

try "$folder/quickstart.log" 12 scripts/quickstart.sh
# shellcheck disable=SC2086 # none or one
try "$folder/test.log" 40 scripts/test.sh $tests
exit "$failed"
