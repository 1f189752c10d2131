#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# guest_weaker.sh SBX_RUN WITHOUT: run inside the guest by tests/qemu/run, on a kernel without Landlock
# (`landlock`), one that gives no user namespaces (`userns`), or one before 5.12 (`mount_setattr`): what requires
# it does not start and says why, and what may do with less is held by the rest. Prints one line a check; exit status: 0 when all hold.
set -u
without=$2
# shellcheck source-path=SCRIPTDIR source=guest_lib.sh
. "${0%/*}/guest_lib.sh" "$1"

# RUNNER FLAG…: nothing is written outside of the workspace, hidden files are not read, nothing is connected to.
holds() {
  local runner=$1
  shift
  check "the workspace can be written ($runner)" 'r["exit_code"] == 0' "$runner" "$@" -c 'echo x >written && rm written'
  check "/usr cannot be written ($runner)" 'r["exit_code"] != 0' "$runner" "$@" -c ': >/usr/sbx-was-here'
  check "/etc/shadow cannot be read ($runner)" 'r["exit_code"] != 0' "$runner" "$@" -c 'cat /etc/shadow'
  check "a process of the host cannot be killed ($runner)" 'r["exit_code"] != 0' "$runner" "$@" -c "kill -0 $$"
  check "the network cannot be reached ($runner)" 'r["exit_code"] == 7' "$runner" "$@" -- python3 -c '
import socket, sys
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    try:
        with socket.socket(socket.AF_INET, kind) as s:
            s.connect(("192.0.2.1", 9))
            s.send(b"x")
        sys.exit(1)
    except OSError:
        pass
sys.exit(7)'
}

without_landlock() {
  local flags=(--profile "$workspace/auto.json" --allow-degraded) runner
  echo '{"extends": "default", "landlock": {"mode": "auto"},
         "isolation": {"require": ["user", "mount", "pid", "net", "seccomp"]}}' >auto.json
  for runner in as_root as_user; do
    check "the default profile does not start ($runner)" \
      'r["status"] == "error" and r["error"]["code"] == "layer_unavailable" and "landlock" in str(r["error"])' "$runner" -- true
    check "without it one that may runs, and says so ($runner)" \
      'r["exit_code"] == 0 and r["sandbox"]["layers"]["landlock"] is False and "landlock" in str(r["sandbox"]["degraded"])' \
      "$runner" "${flags[@]}" -- true
    holds "$runner" "${flags[@]}"
  done
}

# Neither a mount view nor Landlock: nothing could hold files.
without_mount_setattr() {
  local runner
  for runner in as_root as_user; do
    check "the default profile does not start ($runner)" \
      'r["status"] == "error" and r["error"]["code"] == "layer_unavailable"' "$runner" -- true
    check "nor does it with less ($runner)" 'r["status"] == "error"' "$runner" --allow-degraded -- true
    check "doctor says why ($runner)" \
      'r["default_profile_runs"] is False and "mount_setattr" in str(r["layers"]) and "5.13" in str(r["layers"])' "$runner" doctor --json
  done
}

# As Debian's own switch has it, and as the kernel's bound has it.
without_userns() {
  local switch
  for switch in kernel/unprivileged_userns_clone user/max_user_namespaces; do
    echo 0 >"/proc/sys/$switch"
    check "the default profile does not start ($switch)" \
      'r["status"] == "error" and r["error"]["code"] == "layer_unavailable" and "sysctl" in r["error"]["hint"]' as_user -- true
    check "Landlock and the filter hold what may do with them ($switch)" \
      'r["exit_code"] == 0 and r["sandbox"]["layers"]["landlock"] and r["sandbox"]["layers"]["seccomp"] and r["sandbox"]["degraded"]' \
      as_user --allow-degraded -- true
    holds as_user --allow-degraded
    if [ "$switch" = kernel/unprivileged_userns_clone ]; then
      check "root needs none ($switch)" 'r["exit_code"] == 0 and r["sandbox"]["layers"]["mount"]' as_root -- true
    fi
    echo 1000 >"/proc/sys/$switch"
  done
}

in_new_workspace
"without_$without"
echo "guest: $failures failed"
[ "$failures" -eq 0 ]
