# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the guests' scripts share: who runs sbx-run, and checks that print a line each. Sourced with the program to run.
sbx_run=$1
user=4242
failures=0
[ -x "$sbx_run" ] || { echo "SKIPPED: no $sbx_run"; exit 77; }

as_root() { "$@"; }
as_user() { setpriv --reuid=$user --regid=$user --clear-groups env -i PATH="$PATH" HOME=/ "$@"; }

# NAME EXPRESSION RUNNER ARG…: sbx-run's result, `r`, satisfies the Python expression.
check() {
  local name=$1 expression=$2 answer
  shift 2
  answer=$("$1" "$sbx_run" "${@:2}" 2>"$workspace/said")
  if printf '%s\n' "$answer" |
    python3 -c "import json, sys; r = json.load(sys.stdin); sys.exit(not ($expression))" 2>/dev/null; then
    echo "ok: $name"
  else
    failures=$((failures + 1))
    echo "FAILED: $name: not $expression"
    printf '%s\n' "$answer" | cat "$workspace/said" - | sed 's/^/    /'
  fi
}

note() {
  local name=$1
  shift
  if "$@"; then
    echo "ok: $name"
  else
    failures=$((failures + 1))
    echo "FAILED: $name"
  fi
}

in_new_workspace() {
  workspace=$(mktemp -d)
  chmod 1777 "$workspace"
  cd "$workspace" || exit 1
  echo "guest: $(uname -r)"
}
