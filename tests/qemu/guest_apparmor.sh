#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# guest_apparmor.sh SBX_RUN APPARMOR: run inside the guest by tests/qemu/run, on a kernel whose AppArmor mediates
# user namespaces, with the parser and the abstractions of Debian 13 unpacked at APPARMOR. A caller who may
# do anything but make user namespaces, as programs without a profile of their own may not where
# kernel.apparmor_restrict_unprivileged_userns is 1 (Ubuntu's sysctl, set too where the kernel has it): nothing starts;
# with the profile that `doctor --apparmor` prints, all does. Prints one line a check; exit status: 0 when all hold.
set -u
apparmor=$2
# shellcheck source-path=SCRIPTDIR source=guest_lib.sh
. "${0%/*}/guest_lib.sh" "$1"

parser() {
  "$apparmor"/usr/lib64/ld-linux-x86-64.so.2 --library-path "$apparmor/usr/lib/x86_64-linux-gnu" \
    "$apparmor/usr/sbin/apparmor_parser" --base "$apparmor/etc/apparmor.d" --skip-cache --replace "$@"
}

# As the user, and confined.
# shellcheck disable=SC2016
as_caller() { as_user bash -c 'echo "exec caller" >/proc/self/attr/exec && exec env "$@"' bash "$@"; }

in_new_workspace
rm -f /.dockerenv  # the machine's, where that is a container
mkdir -p /etc/apparmor && touch /etc/apparmor/parser.conf
mount -t securityfs securityfs /sys/kernel/security
restriction=/proc/sys/kernel/apparmor_restrict_unprivileged_userns
if [ -e $restriction ]; then
  echo 1 >$restriction
  check "the restriction holds sbx-run without a profile" 'r["error"]["code"] == "layer_unavailable"' as_user -- true
else
  echo "guest: no $restriction here, which is Ubuntu's: a profile without userns in its place"
fi
cat >caller <<'END'
abi <abi/4.0>,
profile caller {
  capability, network, mount, remount, umount, pivot_root, signal, ptrace, unix, change_profile,
  /{**,} rwlkm,
  /** pix,
}
END
parser caller || exit 1
check "a caller who is confined and may make them runs sbx-run" 'r["exit_code"] == 0' as_user -- true
note "the caller is confined" test "$(as_caller cat /proc/self/attr/current)" = "caller (enforce)"
note "the caller makes no user namespace" eval '! as_caller unshare --user true 2>/dev/null'
check "without its profile sbx-run does not start, and says why" \
  'r["status"] == "error" and r["error"]["code"] == "layer_unavailable" and "AppArmor" in r["error"]["message"] and "caller" in r["error"]["message"] and "doctor --apparmor" in r["error"]["hint"]' as_caller -- true
for program in "$sbx_run" "${sbx_run%/*}/sbx-bwrap"; do
  "$sbx_run" doctor --apparmor | sed "s|$sbx_run|$program|; s|profile sbx-run|profile ${program##*/}|" >profile
  note "the profile of ${program##*/} is accepted" parser profile
done
check "with its profile it runs, whole" \
  'r["exit_code"] == 0 and not r["sandbox"]["degraded"] and r["sandbox"]["layers"]["user"] and r["sandbox"]["layers"]["mount"]' \
  as_caller -- true
check "what runs inside still makes none" 'r["exit_code"] != 0' as_caller -- unshare --user true
check "/usr cannot be written" 'r["exit_code"] != 0' as_caller -c ': >/usr/sbx-was-here'
note "sbx-bwrap runs a command" test "$(as_caller "${sbx_run%/*}/sbx-bwrap" --ro-bind / / --unshare-all echo inside)" = inside
note "any other program still makes none" eval '! as_caller unshare --user true 2>/dev/null'
echo "guest: $failures failed"
[ "$failures" -eq 0 ]
