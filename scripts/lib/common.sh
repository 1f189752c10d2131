# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the scripts share: who may do what, and the unprivileged user that tests run as.

readonly kTestUser=sbxtest

say() { printf '\n== %s\n' "$*"; }

# Sets `launcher` to cmake's options that have ccache keep what it compiles, where there is one. Run at the top of
# the tree: another clone of it finds the same.
# shellcheck disable=SC2034
use_ccache() {
  launcher=()
  command -v ccache >/dev/null || return 0
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
  launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
}

# Sets AS_ROOT to the words before a command that make it root's, or returns 1.
# shellcheck disable=SC2034
find_root() {
  AS_ROOT=()
  [ "$(id -u)" -ne 0 ] || return 0
  if sudo -n true 2>/dev/null || { [ -t 0 ] && command -v sudo >/dev/null && sudo true; }; then
    AS_ROOT=(sudo)
    return 0
  fi
  return 1
}

# Root only. A system user: no home, no subordinate ids, no password.
ensure_test_user() {
  id -u "$kTestUser" >/dev/null 2>&1 ||
    useradd --system --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin "$kTestUser"
}

# HOME COMMAND…: as the test user, with nothing of the caller's environment but CI and SBX_TEST_*.
as_test_user() {
  local home=$1 pass=() name
  shift
  for name in CI "${!SBX_TEST_@}"; do
    [ -z "${!name:-}" ] || pass+=("$name=${!name}")
  done
  setpriv --reuid="$kTestUser" --regid="$kTestUser" --init-groups \
    env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LANG=C.UTF-8 \
    HOME="$home" USER="$kTestUser" LOGNAME="$kTestUser" "${pass[@]}" "$@"
}
