#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# guest_scope.sh SBX_RUN: run inside the guest by tests/qemu/run: a user's real systemd manager with a delegated
# cgroup v2, and `sbx-run --scope`, whose limits are then the group's. Exit status: 0 when none failed; 77 without systemd.
set -u
# shellcheck source-path=SCRIPTDIR source=guest_lib.sh
. "${0%/*}/guest_lib.sh" "$1"
if [ ! -x /lib/systemd/systemd ] || [ ! -x /usr/bin/systemd-run ]; then
  echo "SKIPPED: no systemd"
  exit 77
fi
in_new_workspace

runtime=/run/user/$user
service=/sys/fs/cgroup/user.slice/user-$user.slice/user@$user.service
mkdir -p $runtime $service
for group in /sys/fs/cgroup/user.slice /sys/fs/cgroup/user.slice/user-$user.slice; do
  echo "+cpu +memory +pids" >"$group/cgroup.subtree_control"
done
# Who calls is in a group of the manager's that is not theirs to part, as a terminal's window is. (From outside of the
# manager's it would take the system's manager too.)
session=$service/terminal.scope
mkdir -p $session /run/systemd/system
chown $user:$user $runtime $service $service/{cgroup.procs,cgroup.subtree_control,cgroup.threads}
chmod 700 $runtime
echo "sbx:x:$user:$user::/:/bin/sh" >>/etc/passwd
echo "sbx:x:$user:" >>/etc/group
# GROUP COMMAND…: as the user, from that group.
within() {
  # shellcheck disable=SC2016
  bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$1" setpriv --reuid=$user --regid=$user --clear-groups \
    env -i PATH="$PATH" HOME="$workspace" XDG_RUNTIME_DIR=$runtime LANG=C.UTF-8 "${@:2}"
}
in_session() { within $session "$@"; }

check "without systemd there is no scope" \
  'r["status"] == "error" and r["error"]["code"] == "layer_unavailable" and "systemd" in r["error"]["message"]' \
  in_session --scope -- true
within $service /lib/systemd/systemd --user >"$workspace/manager.log" 2>&1 &
manager=$!
for _ in $(seq 300); do
  [ ! -S $runtime/systemd/private ] || break
  sleep 0.2
done
offers_scope() { in_session "$sbx_run" doctor | grep -q -- --scope; }
note "the user's manager is up" test -S $runtime/systemd/private
note "doctor offers it" offers_scope
check "without it the limits are watched" 'r["sandbox"]["limits"]["memory"] != "cgroup2"' in_session -- true
check "a scope gives the groups" 'r["sandbox"]["limits"]["memory"] == r["sandbox"]["limits"]["pids"] == "cgroup2"' \
  in_session --scope -- true
check "and they count" 'r["status"] == "limit" and r["limit"] == "memory"' \
  in_session --scope --memory 128M -- python3 -c 'x = bytearray(400 << 20)'
check "what the command ends with comes back" 'r["exit_code"] == 7' in_session --scope -c 'exit 7'
note "nothing of the scopes is left" sh -c "sleep 1; ! find $service -name 'run-*.scope' | grep -q ."
kill $manager
wait $manager
[ "$failures" -eq 0 ] || cat "$workspace/manager.log"
echo "guest: $failures failed"
[ "$failures" -eq 0 ]
