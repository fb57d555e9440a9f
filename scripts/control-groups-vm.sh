#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The tests of control groups (tests/cli/test_control_groups.py) where the kernel has
# version 2 alone, whatever this machine has: in an emulated machine of two
# processors that boots Debian's kernel into a Debian root in memory.
#   scripts/control-groups-vm.sh TCBTUNE FOLDER
# TCBTUNE is a program of the portable preset.  FOLDER gets the root (debootstrap;
# one that is there is taken), the kernel and what the machine printed (vm.log).
# Needs root, debootstrap, cpio, qemu-system-x86 and a network.
#   CONTROL_GROUPS_MIRROR   where Debian is fetched from (http://deb.debian.org/debian)
# Exit: 0 passed, 1 failed or skipped, 2 no such machine could be made.
set -eu
if [ $# -ne 2 ] || [ ! -x "$1" ]; then
	echo "usage: $0 TCBTUNE FOLDER" >&2
	exit 2
fi
for program in debootstrap cpio qemu-system-x86_64; do
	if [ "$(id -u)" -ne 0 ] || ! command -v "$program" >/dev/null; then
		echo "control-groups-vm.sh: needs root and $program" >&2
		exit 2
	fi
done
tcbtune=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
root=$folder/root
cd "$(dirname "$0")/.."

if [ ! -x "$root/usr/bin/python3" ]; then
	debootstrap --variant=minbase --include=python3,python3-jsonschema bookworm "$root" \
		"${CONTROL_GROUPS_MIRROR:-http://deb.debian.org/debian}" >"$folder/debootstrap.log" || exit 2
fi
if [ -z "$(find "$folder" -maxdepth 1 -name 'vmlinuz-*')" ]; then
	(
		cd "$folder"
		kernel=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image\)/\1/p')
		apt-get download -q "$kernel" >apt.log 2>&1
		dpkg --fsys-tarfile linux-image-*.deb | tar x --strip-components=2 --wildcards './boot/vmlinuz-*'
	) || exit 2
fi
rm -rf "$root/tcbtune" "$root/var/cache/apt/archives" "$root/usr/share/doc" "$root/usr/share/locale"
mkdir -p "$root/tcbtune/tests"
cp "$tcbtune" "$root/tcbtune/tcbtune"
cp -r schemas "$root/tcbtune/"
cp -r tests/cli tests/fixtures "$root/tcbtune/tests/"
cat >"$root/init" <<'EOF'
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmp /tmp
mount -t cgroup2 cgroup /sys/fs/cgroup
echo "+cpu +memory" >/sys/fs/cgroup/cgroup.subtree_control
cd /tcbtune
cat /proc/self/cgroup
cat /sys/fs/cgroup/cgroup.controllers
./tcbtune doctor
python3 tests/cli/test_control_groups.py --tcbtune ./tcbtune --schemas schemas --fixtures tests/fixtures
echo "EXIT STATUS $?"
echo o >/proc/sysrq-trigger
sleep 60
EOF
chmod +x "$root/init"
(cd "$root" && find . -xdev | cpio -o -H newc --quiet | gzip -1) >"$folder/root.cpio.gz"
timeout 900 qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 4G -nographic -no-reboot \
	-kernel "$(find "$folder" -maxdepth 1 -name 'vmlinuz-*')" -initrd "$folder/root.cpio.gz" \
	-append "console=ttyS0 quiet panic=-1" </dev/null >"$folder/vm.log" 2>&1 || true
tail -n 40 "$folder/vm.log"
grep -q "^EXIT STATUS 0" "$folder/vm.log"
