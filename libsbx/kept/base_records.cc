// SPDX-License-Identifier: Apache-2.0
// "ROOT KIND MODE DIGEST STAMP PATH", each with a NUL behind it; KIND is "D" of a directory that is
// hidden, by a second record where it was not when it was recorded first.
#include "kept/base_records.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/files.h"
#include "base/sha256.h"
#include "host_files/user_attributes.h"
#include "kept/merged.h"
#include "kept/store.h"

namespace sbx {
namespace {

constexpr char kHiddenDirectory = 'D';
constexpr std::size_t kMostRecords = std::size_t{2} << 30;
// Beyond it a file is known by its number, size and times: reading it would hold a server up.
constexpr std::int64_t kMostDigested = std::int64_t{128} << 20;

constexpr std::string_view kByStat = "stat:";
constexpr std::string_view kOfAnyCopy = "stat:0.";

std::string identity_of(const struct stat& info) {
  return std::string(kByStat) + std::to_string(info.st_ino) + "." + std::to_string(info.st_size) +
         "." + std::to_string(nanoseconds(info.st_mtim));
}

// Of a file or a directory; empty where there are none.
std::string attributes_digest(int fd) {
  const std::vector<std::string> names = user_attributes(fd);
  if (names.empty()) return {};
  Sha256 sum;
  for (const std::string& name : names) {
    const std::string value = user_attribute(fd, name);
    sum.add(name + '\0' + std::to_string(value.size()) + '\0' + value);
  }
  return "+" + sum.hex().substr(0, 32);
}

std::string bytes_digest(int fd) {
  Sha256 sum;
  std::string buffer(std::size_t{1} << 16, '\0');
  off_t at = 0;
  for (;;) {
    const ssize_t size = pread(fd, buffer.data(), buffer.size(), at);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return {};
    if (size == 0) return sum.hex();
    sum.add({buffer.data(), static_cast<std::size_t>(size)});
    at += size;
  }
}

// At `at`, all of it.
bool read_part(int fd, char* to, std::size_t size, off_t at) {
  while (size > 0) {
    const ssize_t got = pread(fd, to, size, at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool has_same_bytes(int one, int other, std::int64_t size) {
  const auto most = static_cast<std::size_t>(std::min<std::int64_t>(size, 64 << 10));
  std::string a(most, '\0');
  std::string b(most, '\0');
  for (off_t at = 0; at < size; at += static_cast<off_t>(most)) {
    const std::size_t part = std::min(most, static_cast<std::size_t>(size - at));
    if (!read_part(one, a.data(), part, at) || !read_part(other, b.data(), part, at) ||
        std::memcmp(a.data(), b.data(), part) != 0) {
      return false;
    }
  }
  return true;
}

OwnedFd open_to_read(int root, const std::string& path) {
  return OwnedFd(
      open_beneath(root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

template <typename T>
bool take_number(std::string_view& text, T& out, int base = 10) {
  const auto end = std::from_chars(text.data(), text.data() + text.size(), out, base);
  if (end.ec != std::errc() || end.ptr == text.data() + text.size() || *end.ptr != ' ') {
    return false;
  }
  text.remove_prefix(static_cast<std::size_t>(end.ptr - text.data()) + 1);
  return true;
}

void look_inside(int root, const std::string& path, const struct stat& info, BaseRecord& record) {
  if (S_ISLNK(info.st_mode)) {
    record.kind = BaseRecord::kLink;
    const OwnedFd link(open_beneath(root, path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    std::array<char, 4097> target{};
    const ssize_t size = readlinkat(link.get(), "", target.data(), target.size());
    record.digest = sha256_hex({target.data(), size < 0 ? 0 : static_cast<std::size_t>(size)});
  } else if (S_ISDIR(info.st_mode)) {
    record.kind = BaseRecord::kDirectory;
    const OwnedFd directory(
        open_beneath(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (directory.is_open()) record.digest = attributes_digest(directory.get());
  } else if (S_ISREG(info.st_mode)) {
    record.kind = BaseRecord::kFile;
    const OwnedFd file = info.st_size > kMostDigested ? OwnedFd() : open_to_read(root, path);
    if (file.is_open()) record.digest = digest_of(file.get());
    if (record.digest.empty()) record.digest = identity_of(info);
  } else {
    record.kind = BaseRecord::kOther;
    record.digest = identity_of(info);
  }
}

}  // namespace

bool is_same_content(const BaseRecord& was, const BaseRecord& is) {
  if (was.kind == BaseRecord::kUnknown || was.kind != is.kind) return false;
  return was.digest == is.digest || (is_of_any_copy(was) && of_any_copy(is).digest == was.digest);
}

bool is_of_any_copy(const BaseRecord& record) { return record.digest.starts_with(kOfAnyCopy); }

BaseRecord of_any_copy(BaseRecord record) {
  if (record.kind == BaseRecord::kFile && record.digest.starts_with(kByStat)) {
    record.digest.replace(0, record.digest.find('.') + 1, kOfAnyCopy);
  }
  return record;
}

bool is_same_file_in(int root, int other, const std::string& path, std::int64_t size) {
  if (size > kMostDigested) return false;
  const OwnedFd one = open_to_read(root, path);
  const OwnedFd two = open_to_read(other, path);
  return one.is_open() && two.is_open() && has_same_bytes(one.get(), two.get(), size) &&
         attributes_digest(one.get()) == attributes_digest(two.get());
}

BaseRecord look_at_real(int root, const std::string& path, std::int64_t* changed_ns) {
  BaseRecord record;
  struct stat info {};
  if (!stat_beneath(root, path, info)) {
    // What lies behind a symlink, or below a file, is not there under this name; nor is anything
    // under one that no call takes.
    const bool is_absent = is_missing(errno) || errno == ELOOP || errno == ENAMETOOLONG;
    if (!is_absent) record.kind = BaseRecord::kUnknown;
    return record;
  }
  if (changed_ns != nullptr) *changed_ns = nanoseconds(info.st_ctim);
  record.mode = info.st_mode & 07777;
  look_inside(root, path, info, record);
  return record;
}

std::string digest_of(int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return {};
  if (info.st_size > kMostDigested) return identity_of(info);
  const std::string bytes = bytes_digest(fd);
  return bytes.empty() ? bytes : bytes + attributes_digest(fd);
}

std::string encode_base_record(std::size_t root, const std::string& path,
                               const BaseRecord& record) {
  std::array<char, 16> mode{};
  const auto end = std::to_chars(mode.data(), mode.data() + mode.size(), record.mode, 8);
  const char kind = record.is_hidden ? kHiddenDirectory : record.kind;
  std::string text = std::to_string(root) + " " + kind + " ";
  text.append(mode.data(), end.ptr);
  text += " " + (record.digest.empty() ? "-" : record.digest) + " " + std::to_string(record.stamp);
  text += " " + path;
  text += '\0';
  return text;
}

bool decode_base_record(std::string_view text, std::size_t& root, std::string& path,
                        BaseRecord& record) {
  if (!take_number(text, root) || text.size() < 2 || text[1] != ' ') return false;
  record.is_hidden = text[0] == kHiddenDirectory;
  record.kind = record.is_hidden ? static_cast<char>(BaseRecord::kDirectory) : text[0];
  if (std::string_view("-fldo?").find(record.kind) == std::string_view::npos) return false;
  text.remove_prefix(2);
  if (!take_number(text, record.mode, 8) || record.mode > 07777) return false;
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || space == 0) return false;
  record.digest = text.substr(0, space) == "-" ? "" : text.substr(0, space);
  text.remove_prefix(space + 1);
  if (!take_number(text, record.stamp) || text.empty() || text.starts_with('/')) return false;
  path = text;
  return true;
}

void BaseRecords::load(const std::string& path) {
  const Result<std::string> text = read_file(path, kMostRecords);
  if (!text.ok()) return;
  std::string_view rest = text.value();
  for (std::size_t end = rest.find('\0'); end != rest.npos; end = rest.find('\0')) {
    std::size_t root = 0;
    std::string name;
    BaseRecord record;
    if (decode_base_record(rest.substr(0, end), root, name, record)) {
      const auto [at, is_new] = records_.try_emplace({root, std::move(name)}, record);
      if (!is_new && at->second.kind == record.kind && record.is_hidden) {
        at->second.is_hidden = true;
      }
    }
    rest.remove_prefix(end + 1);
  }
}

const BaseRecord* BaseRecords::find(std::size_t root, const std::string& path) const {
  const auto found = records_.find({root, path});
  return found == records_.end() ? nullptr : &found->second;
}

void BaseRecords::add(std::size_t root, const std::string& path, const BaseRecord& record) {
  Key key{root, path};
  if (records_.try_emplace(key, record).second) fresh_.push_back(std::move(key));
}

void BaseRecords::stamp(std::size_t root, const std::string& path, std::int64_t stamp) {
  const auto found = records_.find({root, path});
  if (found != records_.end()) found->second.stamp = stamp;
}

void BaseRecords::hide(std::size_t root, const std::string& path) {
  const auto found = records_.find({root, path});
  if (found == records_.end() || found->second.is_hidden) return;
  if (found->second.kind != BaseRecord::kDirectory) return;
  found->second.is_hidden = true;
  fresh_.push_back(found->first);
}

Status BaseRecords::save(const std::string& path) {
  if (fresh_.empty()) return {};
  std::string text;
  for (const Key& key : fresh_) {
    text += encode_base_record(key.first, key.second, records_.at(key));
  }
  const OwnedFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.is_open()) return layer_failure("open(" + path + ")", errno);
  if (!write_all(file.get(), text)) return layer_failure("write(" + path + ")", errno);
  fresh_.clear();
  return {};
}

}  // namespace sbx
