#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# guest_suite.sh SBX_RUN LANDLOCK_ABI: what only another kernel can show, run inside the guest by
# tests/qemu/run: every layer on an older Landlock, with cgroup v2 whole, as root and as a user.
# Prints one line a check; exit status: 0 when all hold.
set -u
sbx_run=$1
landlock_abi=$2
user=4242
failures=0
[ -x "$sbx_run" ] || { echo "SKIPPED: no $sbx_run"; exit 77; }

as_user() { setpriv --reuid=$user --regid=$user --clear-groups env -i PATH="$PATH" HOME=/ "$@"; }

check() {  # NAME COMMAND…
  local name=$1 output
  shift
  if output=$("$@" 2>&1); then
    echo "ok: $name"
  else
    failures=$((failures + 1))
    echo "FAILED: $name"
    printf '%s\n' "$output" | sed 's/^/    /'
  fi
}

# JSON on stdin; the argument is a Python expression over it, `r`.
holds() { python3 -c "import json, sys; r = json.load(sys.stdin); sys.exit(not ($1))"; }

runs_true() {
  local answer
  answer=$("$@" "$sbx_run" -- true)
  echo "$answer"
  echo "$answer" | holds 'r["status"] == "exited" and r["exit_code"] == 0'
}

enforces_this_landlock() {
  local answer
  answer=$("$@" "$sbx_run" -- true)
  echo "$answer"
  echo "$answer" | holds "r['sandbox']['layers']['landlock'] == $landlock_abi"
}

workspace=$(mktemp -d)
chmod 1777 "$workspace"
cd "$workspace" || exit 1
as_root=(env)
echo "guest: $(uname -r)"
check "a command runs, as root" runs_true "${as_root[@]}"
check "a command runs, as a user" runs_true as_user
check "Landlock ABI $landlock_abi is in force, as root" enforces_this_landlock "${as_root[@]}"
check "Landlock ABI $landlock_abi is in force, as a user" enforces_this_landlock as_user
"$sbx_run" doctor --json
echo "guest: $failures failed"
[ "$failures" -eq 0 ]
