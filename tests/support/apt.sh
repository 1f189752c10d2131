# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Debian's packages of another suite or architecture: fetched beside the machine's own, never installed.

# DIR SUITE ARCHITECTURE: sets APT to apt's options for these, with lists and a status of their own in
# DIR.apt, which whoever calls removes.
apt_elsewhere() {
  mkdir -p "$1.apt/lists/partial" "$1.apt/cache/archives/partial"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $2 main" \
    >"$1.apt/sources.list"
  : >"$1.apt/status"
  # shellcheck disable=SC2034
  APT=(-q -o APT::Sandbox::User=root -o "APT::Architecture=$3" -o "APT::Architectures=$3"
    -o "Dir::Etc::SourceList=$1.apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$1.apt/lists" -o "Dir::State::status=$1.apt/status" -o "Dir::Cache=$1.apt/cache")
}

# DIR SUITE ARCHITECTURE PACKAGE…: the packages and all that they need, unpacked into DIR, which has its
# name only when it is whole.
unpack_elsewhere() {
  local dir=$1 suite=$2 architecture=$3 deb
  shift 3
  [ ! -d "$dir" ] || return 0
  mkdir -p "$(dirname "$dir")"
  apt_elsewhere "$dir" "$suite" "$architecture"
  rm -rf "$dir.new"
  mkdir "$dir.new"
  chmod 755 "$dir.new"
  apt-get "${APT[@]}" update >/dev/null || return
  apt-get "${APT[@]}" -y --no-install-recommends --download-only install "$@" >"$dir.log" || { tail -n 3 "$dir.log"; return 1; }
  for deb in "$dir.apt"/cache/archives/*.deb; do dpkg -x "$deb" "$dir.new" || return; done
  rm -rf "$dir.apt" "$dir.log"
  mv -T "$dir.new" "$dir"
}
