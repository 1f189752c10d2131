#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# guest_unit.sh BUILD NAME…: run inside the aarch64 guest by tests/qemu/run: these unit tests of BUILD, as root, where
# the kernel answers what qemu-user does not: the filters are loaded, and compared with libseccomp's call by call.
# Exit status: 0 when none failed.
set -u
build=$1
shift
export LANG=C.UTF-8 SBX_RUN=$build/bin/sbx-run SBX_TEST_TOOLS=$build/tests
chmod 1777 /tmp
ip link set lo up
status=0
for name in "$@"; do
  echo "guest: $name"
  (cd "$(mktemp -d)" && "$build/tests/${name}_test" --gtest_brief=1) || status=1
done
exit $status
