#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# packages_suite.sh, run by fresh_root in a fresh Debian: installs each package of /dist, uses it as root and
# as a user, and looks at what it leaves. Prints one line a check; exit status: 0 when all hold.
set -u
failures=0
user=4242
mapfile -t programs </dist/programs.txt

check() {  # NAME COMMAND…
  local name=$1
  shift
  if "$@" >/tmp/said 2>&1; then
    echo "ok: $name"
  else
    failures=$((failures + 1))
    echo "FAILED: $name"
    sed 's/^/    /' /tmp/said
  fi
}
as_user() { setpriv --reuid=$user --regid=$user --clear-groups env HOME=/home/user "$@"; }
export -f as_user
export user
says() {  # WORDS COMMAND…: its standard output
  [ "$("${@:2}")" = "$1" ]
}
# Layers are the user's, and stay.
files() { find / -xdev \( -path /tmp -o -path '/*/.local' -o -path /var/log -o -path /var/lib/dpkg -o -path /var/cache \) -prune -o -print | sort; }

mkdir -p /home/user/work
chown -R $user:$user /home/user
cd /home/user/work || exit 1
. /etc/os-release
echo "root: Debian $VERSION_ID"

# SBX-RUN…: a sandbox, its answer, and each program that lies beside, as root and as the user.
uses() {
  local who
  for who in env as_user; do
    check "$1 runs a command ($who)" says inside $who "$@" exec -- echo inside
    # Told of by an exception in its static program.
    check "$1 has help ($who)" bash -c '"$@" --help | grep -q ^Usage:' bash $who "$@"
    check "$1 answers in JSON ($who)" bash -c '"$@" -- true | grep -q "\"status\":\"exited\",\"exit_code\":0"' bash $who "$@"
    check "$1 holds the command ($who)" bash -c '! "$@" exec -- touch /usr/no' bash $who "$@"
    check "$1 finds sbx-batch ($who)" bash -c 'echo "{\"id\": \"1\", \"argv\": [\"true\"]}" | "$@" batch -' bash $who "$@"
    check "$1 finds sbx-layer ($who)" $who "$@" layer list
    check "$1 finds sbx-report ($who)" bash -c '"$@" explain --html | grep -q "</html>"' bash $who "$@"
  done
}

check "the sums are right" bash -c 'cd /dist && sha256sum -c SHA256SUMS'
check "the list of parts is JSON" python3 -c '
import glob, json
[name] = glob.glob("/dist/*.cdx.json")
bom = json.load(open(name))
assert bom["bomFormat"] == "CycloneDX", bom
names = {one["name"] for one in bom["components"]}
assert {"sbx-run", "libseccomp", "libcap-ng", "re2", "glibc", "nlohmann-json3", "fmtlib"} <= names, names
refs = {one["bom-ref"] for one in bom["components"]} | {bom["metadata"]["component"]["bom-ref"]}
for one in bom["dependencies"]:
    assert one["ref"] in refs and set(one["dependsOn"]) <= refs, one
'

# The Debian package.
files >/tmp/before
check "the package is installed" dpkg -i /dist/*.deb
uses sbx-run
for program in "${programs[@]}"; do check "$program is there" test -x "/usr/bin/$program"; done
for page in sbx-run sbx-run-start sbx-bwrap; do check "$page(1) is there" test -s "/usr/share/man/man1/$page.1.gz"; done
for file in bash-completion/completions/sbx-run zsh/site-functions/_sbx-run fish/vendor_completions.d/sbx-run.fish; do
  check "$file is there" test -s "/usr/share/$file"
done
check "sbx-bwrap runs a command" says inside as_user sbx-bwrap --ro-bind / / --unshare-all echo inside

# AppArmor's parser, and a kernel that has it, made up: what it is told, and that one which knows no userns is let be.
mount -t tmpfs tmpfs /sys
mkdir -p /sys/kernel/security/apparmor
parser() {  # STATUS
  printf '#!/bin/sh\necho "$*" >>/tmp/parsed\nexit %s\n' "$1" >/usr/sbin/apparmor_parser
  chmod 755 /usr/sbin/apparmor_parser
  : >/tmp/parsed
}
configured() { /var/lib/dpkg/info/sbx.postinst triggered /usr/sbin/apparmor_parser; }
for name in sbx-run sbx-bwrap; do check "the profile of $name names it" grep -q "^profile $name \"/usr/bin/$name\"" "/etc/apparmor.d/$name"; done
parser 1
check "a parser that refuses is no error" configured
check "what it refuses is disabled" test -L /etc/apparmor.d/disable/sbx-run
check "what it refuses is not loaded" bash -c '! grep -e --replace /tmp/parsed'
parser 0
check "a parser that accepts is no error" configured
check "what it accepts is enabled" test ! -L /etc/apparmor.d/disable/sbx-run
check "what it accepts is loaded" grep -e '--replace.*/etc/apparmor.d/sbx-run' /tmp/parsed
ln -s /etc/apparmor.d/sbx-run /etc/apparmor.d/disable/sbx-run
parser 0
check "what an administrator disabled stays so" bash -c '/var/lib/dpkg/info/sbx.postinst configure && test -L /etc/apparmor.d/disable/sbx-run'
check "and is not loaded" bash -c '! grep -e "--replace.*/sbx-run" /tmp/parsed'
rm /etc/apparmor.d/disable/sbx-run
parser 1
check "it is disabled again" configured
check "the package is removed" dpkg -r sbx
check "its profiles leave the kernel" grep -e '--remove.*/etc/apparmor.d/sbx-run' /tmp/parsed
umount /sys
rm -f /usr/sbin/apparmor_parser
check "the package is purged" dpkg -P sbx
files >/tmp/after
check "nothing is left of it" diff /tmp/before /tmp/after

# The tarball.
mkdir /opt/sbx
check "the tarball is unpacked" tar -xf "$(echo /dist/sbx-*-linux-*.tar.gz)" -C /opt/sbx --strip-components=1
uses /opt/sbx/bin/sbx-run

# The wheel, by pip, for a user.
check "a virtual environment" as_user python3 -m venv /home/user/venv
check "the wheel is installed" as_user /home/user/venv/bin/pip install --no-index /dist/*.whl
uses /home/user/venv/bin/sbx-run
check "python -m sbx" says inside as_user /home/user/venv/bin/python -m sbx exec -- echo inside
# shellcheck disable=SC2016
check "import sbx" says 42 as_user /home/user/venv/bin/python -c '
import sbx
print(sbx.run("echo $((6 * 7))", check=True).stdout.strip())'
check "the wheel is removed" as_user /home/user/venv/bin/pip uninstall -y sbx

# The npm packages, by npm, for a user.
npm() { as_user node /opt/npm/bin/npm-cli.js --offline --no-audit --no-fund --omit=peer --cache /home/user/.npm "$@"; }
check "the npm packages are installed" npm install /dist/sbx-*.tgz
uses /home/user/work/node_modules/.bin/sbx-run
check "npx" says inside npm exec -- sbx-run exec -- echo inside
echo "require('sbx').run('echo required').then((r) => process.stdout.write(r.stdout));" >test.cjs
echo "import { run } from 'sbx'; process.stdout.write((await run('echo imported')).stdout);" >test.mjs
check "require" says required as_user node test.cjs
check "import" says imported as_user node test.mjs

echo "$failures failed"
[ "$failures" -eq 0 ]
