// SPDX-License-Identifier: Apache-2.0
// What a layer takes on the disk, and may.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "kept/kept_layer.h"

namespace sbx {
namespace {

using Linked = std::set<std::pair<dev_t, ino_t>>;  // files of several names: each counts once

std::int64_t bytes_below(int parent, const char* name, int depth, Linked& linked) {
  std::int64_t bytes = 0;
  Listing listing(parent, name, O_NOFOLLOW);
  while (const dirent* entry = listing.is_open() ? listing.next() : nullptr) {
    struct stat info {};
    if (fstatat(listing.fd(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const bool is_known = !S_ISDIR(info.st_mode) && info.st_nlink > 1 &&
                          !linked.emplace(info.st_dev, info.st_ino).second;
    if (!is_known) bytes += std::int64_t{info.st_blocks} * 512;
    if (S_ISDIR(info.st_mode) && depth < 500) {
      bytes += bytes_below(listing.fd(), entry->d_name, depth + 1, linked);
    }
  }
  return bytes;
}

// What is not written is counted again.
void note_number(const std::string& path, std::int64_t number) {
  const OwnedFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const std::string text = std::to_string(number);
  if (file.is_open()) (void)!write(file.get(), text.data(), text.size());
}

}  // namespace

std::int64_t tree_bytes(const std::string& path) {
  Linked linked;
  return bytes_below(AT_FDCWD, path.c_str(), 0, linked);
}

std::int64_t KeptLayer::most_written(std::int64_t most_bytes) const {
  return std::max(most_bytes, known_excess()) - frozen_bytes();
}

// In all, after the command before, where that was too much.
std::int64_t KeptLayer::known_excess() const {
  const Result<std::string> known = read_file(store_.layer(name_) + "/excess", 32);
  return known.ok() ? parse_count(known.value(), INT64_MAX).value_or(0) : 0;
}

bool KeptLayer::has_outgrown(std::int64_t most_bytes) const {
  const std::string path = store_.layer(name_) + "/excess";
  std::int64_t bytes = frozen_bytes();
  for (const std::string& part : written()) bytes += tree_bytes(part);
  const bool has_grown = bytes > std::max(most_bytes, known_excess());
  if (bytes <= most_bytes) {
    unlink(path.c_str());
  } else {
    note_number(path, bytes);
  }
  return has_grown;
}

std::vector<std::string> KeptLayer::written() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < state_.roots.size(); ++i) {
    out.push_back(store_.part(state_.stack.back(), i));
  }
  return out;
}

std::int64_t KeptLayer::frozen_bytes() const {
  std::set<std::string> epochs(state_.stack.begin(), state_.stack.end() - 1);
  for (const auto& [label, stack] : state_.labels) epochs.insert(stack.begin(), stack.end());
  std::int64_t bytes = 0;
  for (const std::string& epoch : epochs) {
    const Result<std::string> known = read_file(store_.epoch(epoch) + "/bytes", 32);
    const auto count = known.ok() ? parse_count(known.value(), INT64_MAX) : std::nullopt;
    if (count) {
      bytes += *count;
      continue;
    }
    const std::int64_t counted = tree_bytes(store_.epoch(epoch));
    note_number(store_.epoch(epoch) + "/bytes", counted);
    bytes += counted;
  }
  return bytes;
}

}  // namespace sbx
