#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# guest_e2e.sh BUILD [--as=root|--as=user] WORD…: run inside the aarch64 guest by tests/qemu/run: the words of suite.py,
# as root and as a user, or as one of them.
# Exit status: 0 when none failed.
set -u
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
build=$1
shift
callers="root user"
case ${1:-} in
  --as=root | --as=user)
    callers=${1#--as=}
    shift
    ;;
esac
export SBX_RUN=$build/bin/sbx-run SBX_SOURCE=$source_dir SBX_TEST_TOOLS=$build/tests SBX_LIBRARY=$build/lib/libsbx.so
export SBX_TEST_SLOWER=10 LANG=C.UTF-8
echo "sbxtest:x:5151:5151::/home/sbxtest:/bin/sh" >>/etc/passwd
echo "sbxtest:x:5151:" >>/etc/group
mkdir -p /home/sbxtest
chown 5151:5151 /home/sbxtest
chmod 1777 /tmp
ip link set lo up
status=0
for caller in $callers; do
  as=()
  if [ "$caller" = user ]; then
    as=(setpriv --reuid=5151 --regid=5151 --clear-groups env HOME=/home/sbxtest USER=sbxtest LOGNAME=sbxtest)
  fi
  echo "guest: $(uname -rm), as $caller"
  "${as[@]}" python3 "$source_dir/tests/qemu/suite.py" "$@" || status=1
done
exit $status
