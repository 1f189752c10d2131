#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# guest_limits.sh SBX_RUN TOOLS WORD…: run inside the guest by tests/qemu/run: the end-to-end tests that these words name
# for suite.py, as a user to whom a cgroup v2 is delegated, so that it is the kernel's groups that count memory,
# processes and CPU time. Each sbx-run starts alone in a new group, as a service manager would have it.
# Exit status: 0 when none failed.
set -u
# shellcheck source-path=SCRIPTDIR source=guest_lib.sh
. "${0%/*}/guest_lib.sh" "$1"
tools=$2
here=$(cd "$(dirname "$0")" && pwd)
shift 2
in_new_workspace

group=/sys/fs/cgroup/delegated
mkdir $group
echo "+cpu +memory +pids" >$group/cgroup.subtree_control
mkdir $group/runner
chown -R $user:$user $group
cat >"$workspace/sbx-run" <<END
#!/bin/bash
group=\$(mktemp -d $group/run.XXXXXX) && echo \$\$ >"\$group/cgroup.procs" && exec "$sbx_run" "\$@"
END
chmod 755 "$workspace/sbx-run"
ln -s "${sbx_run%/*}"/sbx-?* "$workspace" 2>/dev/null
# Root puts it in: a user may move processes only within what is delegated.
as_delegate() {
  # shellcheck disable=SC2016
  bash -c 'echo $$ >"$0/runner/cgroup.procs" && exec "$@"' $group setpriv --reuid=$user --regid=$user --clear-groups \
    env -i PATH="$PATH" HOME=/ LANG=C.UTF-8 SBX_SOURCE="${here%/tests/qemu}" SBX_TEST_TOOLS="$tools" SBX_TEST_SLOWER=5 \
    SBX_RUN="$workspace/sbx-run" "$@"
}
in_own_group() { as_delegate "$workspace/sbx-run" "${@:2}"; }
check "it is the group that counts" 'r["sandbox"]["limits"]["memory"] == r["sandbox"]["limits"]["pids"] == "cgroup2"' \
  in_own_group -- true
cat >in_flight.py <<'END'
import array, os, socket
# Each goes on its way over a socket and is held by nothing else.
here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
for _ in range(40):
    memory = os.memfd_create("flying")
    os.write(memory, bytes(8 << 20))
    here.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [memory]))])
    os.close(memory)
print("all sent")
END
check "memory files that are on their way over a socket are counted" 'r["status"] == "limit" and r["limit"] == "memory"' \
  in_own_group --memory 128M -- python3 in_flight.py
as_delegate python3 "$here/suite.py" "$@" || failures=$((failures + 1))
echo "guest: $failures failed"
[ "$failures" -eq 0 ]
