#!/bin/sh
# Backfills a store on a Slurm cluster of this one machine and compares with a run without shards.
# usage: scripts/test-slurm.sh [RUNS]
# By hand, not in CI. Debian: slurm-wlm and munge are installed; their daemons are started here, with
# a configuration of their own, and stopped again. $AGGREGATE_POWER: default build/aggregate-power.
set -eu
case "${1:-}" in -h | --help) sed -n '2,5s/^# //p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/.."
runs=${1:-400}
AGGREGATE_POWER=${AGGREGATE_POWER:-$PWD/build/aggregate-power}
export AGGREGATE_POWER
work=$(mktemp -d)
daemons=

stop() {
  for daemon in $daemons; do kill "$daemon" 2>/dev/null || true; done
  for daemon in $daemons; do wait "$daemon" 2>/dev/null || true; done
  daemons=
}
trap 'stop; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
fail() {
  echo "test-slurm.sh: $*" >&2
  for log in "$work"/*.log "$work"/sharded/*.log; do
    [ ! -s "$log" ] || { echo "== ${log##*/}"; tail -n 20 "$log"; } >&2
  done
  exit 1
}

# ---- Slurm
if ! command -v slurmctld >/dev/null || ! command -v slurmd >/dev/null || ! command -v munged >/dev/null; then
  as_root=
  [ "$(id -u)" -eq 0 ] || as_root=sudo
  # Without systemd the packages may fail to start their daemons: ours are started below.
  { $as_root apt-get -qq update && $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq -y install --no-install-recommends slurm-wlm munge; } >"$work/apt.log" 2>&1 ||
    fail "could not install slurm-wlm and munge"
fi
PATH=$PATH:/usr/sbin
node=$(hostname -s)
user=$(id -un)
port=$((20000 + $$ % 20000))
cpus=$(nproc)

mkdir "$work/munge" "$work/ctld" "$work/slurmd"
(umask 077 && head -c 1024 /dev/urandom >"$work/munge/key")
munged --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" \
  --pid-file="$work/munge/pid" --seed-file="$work/munge/seed" --log-file="$work/munged.log" 2>/dev/null &
daemons="$daemons $!"

cat >"$work/slurm.conf" <<END
ClusterName=one
SlurmctldHost=$node(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CredType=cred/munge
StateSaveLocation=$work/ctld
SlurmdSpoolDir=$work/slurmd
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=$node NodeAddr=127.0.0.1 CPUs=$cpus State=UNKNOWN
PartitionName=all Nodes=$node Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
END
SLURM_CONF=$work/slurm.conf
export SLURM_CONF
for _ in $(seq 100); do [ ! -S "$work/munge/socket" ] || break; sleep 0.1; done
slurmctld -D -i >/dev/null 2>&1 &
daemons="$! $daemons"
slurmd -D -N "$node" >/dev/null 2>&1 &
daemons="$! $daemons"
is_up=
for _ in $(seq 300); do
  case "$(sinfo -h -o %T 2>/dev/null)" in idle*) is_up=1; break ;; esac
  sleep 0.1
done
[ -n "$is_up" ] || fail "the cluster does not come up"

# ---- The store: once in one run, once as an array of four
python3 - "$work" "$runs" <<'END' || fail "could not build the store"
import sys
sys.path.insert(0, "tests/backfill")
import stores
stores.build_store(f"{sys.argv[1]}/whole/store", int(sys.argv[2]), 11, stores.StoreMaker.SOUND)
END
mkdir "$work/sharded"
cp -a "$work/whole/store" "$work/sharded/store"
(cd "$work/whole" && "$AGGREGATE_POWER" backfill store --report report.jsonl) >"$work/whole.log" 2>&1 ||
  fail "the run without shards failed"
# Two tasks at a time.
each=$(((cpus + 1) / 2))
script=$PWD/scripts/backfill.sbatch
(cd "$work/sharded" && timeout 600 sbatch --wait --array=0-3 --cpus-per-task="$each" "$script" store) \
  >"$work/sbatch.log" 2>&1 || fail "the array failed"

# ---- The same bytes, the same report
diff -r --no-dereference "$work/whole/store" "$work/sharded/store" >"$work/diff.log" 2>&1 ||
  fail "the stores differ"
[ "$(find "$work/sharded" -maxdepth 1 -name 'backfill-*.jsonl' | wc -l)" -eq 4 ] || fail "expected four reports"
cat "$work"/sharded/backfill-*.jsonl >"$work/sharded/report.jsonl"
python3 - "$work" <<'END' >"$work/report.log" 2>&1 || fail "the reports differ"
import json, sys
def lines(path):
    for line in open(path, encoding="utf-8"):
        row = json.loads(line)
        assert row.pop("seconds") >= 0
        yield json.dumps(row, sort_keys=True)
whole, sharded = (sorted(lines(f"{sys.argv[1]}/{name}/report.jsonl")) for name in ("whole", "sharded"))
assert whole, "the report is empty"
print(*sorted(set(whole) ^ set(sharded))[:4], sep="\n")
sys.exit(whole != sharded)
END
echo "an array of 4 on Slurm $(sinfo --version | cut -d' ' -f2) left what one run leaves: $(wc -l <"$work/sharded/report.jsonl") runs"
