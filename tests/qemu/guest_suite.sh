#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# guest_suite.sh SBX_RUN LANDLOCK_ABI: what only another kernel can show, run inside the guest by
# tests/qemu/run: every layer on an older Landlock, and cgroup v2 whole, as root and as a user.
# Prints one line a check; exit status: 0 when all hold.
set -u
sbx_run=$1
landlock_abi=$2
user=4242
failures=0
[ -x "$sbx_run" ] || { echo "SKIPPED: no $sbx_run"; exit 77; }

as_root() { "$@"; }
as_user() { setpriv --reuid=$user --regid=$user --clear-groups env -i PATH="$PATH" HOME=/ "$@"; }

# In a new cgroup that is delegated to the user, and alone in it, as a service manager would have it.
as_delegate() {
  local group
  group=$(mktemp -d /sys/fs/cgroup/delegated.XXXXXX)
  chown $user:$user "$group" "$group"/cgroup.{procs,subtree_control,threads}
  # shellcheck disable=SC2016
  bash -c 'echo $$ >"$0/cgroup.procs" && exec setpriv "$@"' "$group" --reuid=$user --regid=$user --clear-groups \
    env -i PATH="$PATH" HOME=/ "$@"
}

# NAME EXPRESSION RUNNER ARG…: sbx-run's result, `r`, satisfies the Python expression.
check() {
  local name=$1 expression=$2 answer
  shift 2
  answer=$("$1" "$sbx_run" "${@:2}" 2>&1)
  if printf '%s\n' "$answer" |
    python3 -c "import json, sys; r = json.load(sys.stdin); sys.exit(not ($expression))" 2>/dev/null; then
    echo "ok: $name"
  else
    failures=$((failures + 1))
    echo "FAILED: $name: not $expression"
    printf '%s\n' "$answer" | sed 's/^/    /'
  fi
}

workspace=$(mktemp -d)
chmod 1777 "$workspace"
cd "$workspace" || exit 1
echo "guest: $(uname -r)"
for runner in as_root as_user as_delegate; do
  check "a command runs ($runner)" 'r["status"] == "exited" and r["exit_code"] == 0' $runner -- true
  check "Landlock ABI $landlock_abi is in force ($runner)" \
    "r['sandbox']['layers']['landlock'] == $landlock_abi" $runner -- true
done
check "a delegated cgroup enforces the limits" \
  'r["sandbox"]["limits"]["memory"] == r["sandbox"]["limits"]["pids"] == "cgroup2"' as_delegate -- true
check "a delegated cgroup ends a memory bomb" 'r["status"] == "limit" and r["limit"] == "memory"' \
  as_delegate --memory 64M -- python3 -c 'x = bytearray(300 << 20)'
check "a fresh workspace and its watchdog leave the cgroup before boxes are made in it" \
  'r["status"] == "exited" and r["sandbox"]["limits"]["pids"] == "cgroup2"' \
  as_delegate --profile tool-bash_exec -- true
"$sbx_run" doctor --json
echo "guest: $failures failed"
[ "$failures" -eq 0 ]
