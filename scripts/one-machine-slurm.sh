#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Starts Slurm (Debian's slurm-wlm and munge) with this machine as its only node,
# runs a command with it, and stops it again:
#   scripts/one-machine-slurm.sh COMMAND [ARGUMENT...]
# All files are in a scratch folder, ports are free ones, no service of the system
# is touched; root or not.  Exits with COMMAND's status; with 77, after a line
# "SKIPPED: reason", where Slurm is not installed or does not start.
set -u

[ $# -gt 0 ] || {
	echo "usage: $0 COMMAND [ARGUMENT...]" >&2
	exit 2
}
PATH=$PATH:/usr/sbin:/sbin
skip() {
	echo "SKIPPED: $1"
	exit 77
}
for program in munged mungekey slurmctld slurmd sbatch squeue sinfo scancel python3; do
	command -v "$program" >/dev/null || skip "Slurm: there is no $program (scripts/install-deps.sh test installs it)"
done

folder=$(mktemp -d /tmp/tcbtune-slurm-XXXXXX)
pids=""
# The node's daemon first: it ends what still runs.
finish() {
	status=$?
	trap - EXIT INT TERM
	[ -z "$pids" ] || scancel --quiet --user="$(id -un)" >/dev/null 2>&1
	for pid in $pids; do
		kill "$pid" 2>/dev/null
	done
	for pid in $pids; do
		for _ in 1 2 3 4 5 6 7 8 9 10; do
			kill -0 "$pid" 2>/dev/null || break
			sleep 0.2
		done
		kill -9 "$pid" 2>/dev/null
	done
	wait
	rm -rf "$folder"
	exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

mkdir "$folder/munge" "$folder/state" "$folder/spool"
chmod 755 "$folder"
chmod 700 "$folder/munge"
mungekey --create --keyfile="$folder/munge/key" || skip "munge: no key could be made"
munged --foreground --force --key-file="$folder/munge/key" --socket="$folder/munge.socket" \
	--pid-file="$folder/munge/pid" --seed-file="$folder/munge/seed" --num-threads=2 >"$folder/munge.log" 2>&1 &
pids="$!"

host=$(hostname -s)
# shellcheck disable=SC2046 # two words
set_ports() {
	controller_port=$1
	node_port=$2
}
set_ports $(python3 -c 'import socket
sockets = [socket.socket() for _ in range(2)]
for s in sockets: s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in sockets))')
export SLURM_CONF="$folder/slurm.conf"
cat >"$SLURM_CONF" <<END
ClusterName=here
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$controller_port
SlurmdPort=$node_port
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0
KillWait=2
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=here Nodes=$host Default=YES State=UP
END

slurmctld -D >"$folder/slurmctld.out" 2>&1 &
pids="$! $pids"
slurmd -D -N "$host" >"$folder/slurmd.out" 2>&1 &
pids="$! $pids"
tries=0
until [ "$(sinfo --noheader --format=%T 2>/dev/null)" = idle ]; do
	tries=$((tries + 1))
	if [ $tries -gt 50 ]; then
		cat "$folder"/*.log "$folder"/*.out >&2
		skip "Slurm is installed and does not start here: $(tail -n 1 "$folder/slurmctld.out" "$folder/slurmd.out" "$folder/munge.log" | tr '\n' ' ')"
	fi
	sleep 0.3
done
TCB_SLURM_FOLDER="$folder" "$@"
