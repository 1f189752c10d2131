#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# guest_suite.sh SBX_RUN LANDLOCK_ABI: what only another kernel can show, run inside the guest by
# tests/qemu/run: every layer on an older Landlock, and cgroup v2 whole, as root and as a user.
# Prints one line a check; exit status: 0 when all hold.
set -u
landlock_abi=$2
# shellcheck source-path=SCRIPTDIR source=guest_lib.sh
. "${0%/*}/guest_lib.sh" "$1"

# In a new cgroup that is delegated to the user, and alone in it, as a service manager would have it.
as_delegate() {
  local group
  group=$(mktemp -d /sys/fs/cgroup/delegated.XXXXXX)
  chown "$user:$user" "$group" "$group"/cgroup.{procs,subtree_control,threads}
  # shellcheck disable=SC2016
  bash -c 'echo $$ >"$0/cgroup.procs" && exec setpriv "$@"' "$group" --reuid="$user" --regid="$user" --clear-groups \
    env -i PATH="$PATH" HOME=/ "$@"
}

# The answer of a session's server to a run, in such a cgroup.
as_delegate_server() {
  local server=$1
  echo '{"jsonrpc":"2.0","id":1,"method":"run","params":{"argv":["true"]}}' |
    as_delegate "$server" serve |
    python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)["result"]))'
}

# Nothing that sbx-run makes in a cgroup is there any more, soon after its end.
no_cgroup_left() {
  for _ in {1..50}; do
    [ -n "$(find /sys/fs/cgroup/delegated.* -mindepth 1 -type d)" ] || return 0
    sleep 0.1
  done
  find /sys/fs/cgroup/delegated.* -mindepth 1 -type d
  return 1
}

# As as_delegate, under strace with these options up to "--"; strace stays outside of the cgroup.
traced() {
  local options=()
  while [ "$1" != -- ]; do options+=("$1") && shift; done
  shift
  local group
  group=$(mktemp -d /sys/fs/cgroup/delegated.XXXXXX)
  chown "$user:$user" "$group" "$group"/cgroup.{procs,subtree_control,threads}
  # shellcheck disable=SC2016
  strace -qq "${options[@]}" bash -c 'echo $$ >"$0/cgroup.procs" && exec setpriv "$@"' "$group" \
    --reuid="$user" --regid="$user" --clear-groups env -i PATH="$PATH" HOME=/ "$@" >/dev/null 2>&1
}

# sbx-run killed at each call that makes something, or tells the watchdog of it.
killed_everywhere() {
  local call count k
  traced -o "$workspace/trace" -- "$sbx_run" -- true
  grep -q 'mkdir("/sys/fs/cgroup/.*sbx-supervisor' "$workspace/trace" || { echo "no leaf is made"; return 1; }
  for call in sendto mkdir write clone clone3; do
    count=$(grep -c "^$call(" "$workspace/trace")
    for ((k = 1; k <= count; k++)); do
      traced -o /dev/null "--inject=$call:signal=KILL:when=$k" -- "$sbx_run" -- true
      no_cgroup_left || { echo "killed at $call $k"; return 1; }
    done
  done
}

# Landlock alone: without a filter there is no supervisor that would make connects.
holds_unix_sockets() {
  cat >sockets.json <<'END'
{"extends": "default", "seccomp": {"mode": "off"},
 "isolation": {"require": ["user", "mount", "pid", "net", "landlock"]}}
END
  cat >sockets.py <<'END'
import errno, socket
own = socket.socket(socket.AF_UNIX)
own.bind("own.sock")
own.listen()
socket.socket(socket.AF_UNIX).connect("own.sock")
for kind, name in ((socket.SOCK_STREAM, "host.sock"), (socket.SOCK_DGRAM, "host.dgram")):
    try:
        socket.socket(socket.AF_UNIX, kind).connect(name)
        raise SystemExit(name + " is reached")
    except PermissionError as error:
        assert error.errno == errno.EACCES, error
END
  python3 -c 'import socket, time
stream, datagrams = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
stream.bind("host.sock"); stream.listen(); datagrams.bind("host.dgram"); time.sleep(120)' &
  for _ in {1..100}; do [ -e host.dgram ] || sleep 0.1; done
  chmod 777 host.sock host.dgram
  check "Landlock holds the sockets of the host" 'r["exit_code"] == 0' \
    as_user --profile "$PWD/sockets.json" -- python3 sockets.py
  kill %1
}

in_new_workspace
for runner in as_root as_user as_delegate; do
  check "a command runs ($runner)" 'r["status"] == "exited" and r["exit_code"] == 0' "$runner" -- true
  check "Landlock ABI $landlock_abi is in force ($runner)" \
    "r['sandbox']['layers']['landlock'] == $landlock_abi" "$runner" -- true
done
check "a delegated cgroup enforces the limits" \
  'r["sandbox"]["limits"]["memory"] == r["sandbox"]["limits"]["pids"] == "cgroup2"' as_delegate -- true
check "a delegated cgroup ends a memory bomb" 'r["status"] == "limit" and r["limit"] == "memory"' \
  as_delegate --memory 64M -- python3 -c 'x = bytearray(300 << 20)'
check "a fresh workspace and its watchdog leave the cgroup before boxes are made in it" \
  'r["status"] == "exited" and r["sandbox"]["limits"]["pids"] == "cgroup2"' \
  as_delegate --profile tool-bash_exec -- true
note "no cgroup is left of any run" no_cgroup_left
if command -v strace >/dev/null; then
  note "no cgroup is left of a run that is killed" killed_everywhere
else
  echo "skipped: strace is not installed"
fi
# shellcheck disable=SC2016
check "a server and its watchdogs move together" \
  'r["status"] == "exited" and r["sandbox"]["limits"]["pids"] == "cgroup2"' \
  as_delegate_server -- true
note "no cgroup is left of a server" no_cgroup_left
"$sbx_run" doctor --json
if [ "$landlock_abi" -ge 9 ]; then holds_unix_sockets; fi
echo "guest: $failures failed"
[ "$failures" -eq 0 ]
