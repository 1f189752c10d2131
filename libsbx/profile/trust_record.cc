// SPDX-License-Identifier: Apache-2.0
// An entry is 64 digits and an absolute path; they are in order, each once.
#include "profile/trust_record.h"

#include "base/hex.h"
#include "base/text.h"

namespace sbx {
namespace {

constexpr std::size_t kDigits = 64;

bool is_entry(std::string_view entry) {
  return entry.size() > kDigits && entry[kDigits] == '/' && is_hex(entry.substr(0, kDigits));
}

}  // namespace

std::string trust_record(const TrustedFiles& files) {
  std::string bytes;
  for (const std::string& file : files) (bytes += file) += '\0';
  return bytes;
}

TrustedFiles parse_trust_record(std::string_view bytes) {
  TrustedFiles files;
  for (const std::string_view entry : split(bytes, '\0')) {
    if (is_entry(entry)) files.emplace(entry);
  }
  return trust_record(files) == bytes ? files : TrustedFiles();
}

}  // namespace sbx
