// SPDX-License-Identifier: Apache-2.0
// ClientHellos, built from the inside out.
#include "gateway/hello.h"

#include <algorithm>

namespace sbx::test {
namespace {

std::string number(std::size_t value, int size) {
  std::string text;
  for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) {
    text += static_cast<char>(value >> shift & 0xFF);
  }
  return text;
}

std::string with_length(const std::string& bytes, int size) {
  return number(bytes.size(), size) + bytes;
}

}  // namespace

std::string client_hello(const HelloParts& parts) {
  std::string extensions;
  if (!parts.name.empty()) {
    const std::string entry = std::string(1, '\0') + with_length(parts.name, 2);
    extensions += number(0, 2) + with_length(with_length(entry, 2), 2);
  }
  if (parts.padding > 0)
    extensions += number(21, 2) + with_length(std::string(parts.padding, 0), 2);
  if (parts.early_data) extensions += number(42, 2) + with_length("", 2);
  const std::string body = number(0x0303, 2) + std::string(32, 'r') + with_length("", 1) +
                           with_length(number(0x1301, 2), 2) + with_length(number(0, 1), 1) +
                           with_length(extensions, 2);
  const std::string message = number(1, 1) + with_length(body, 3);
  const std::size_t step = parts.record_size > 0 ? parts.record_size : message.size();
  std::string records;
  for (std::size_t i = 0; i < message.size(); i += step) {
    records += tls_record(22, message.substr(i, step));
  }
  return records;
}

std::string tls_record(unsigned type, const std::string& payload) {
  return number(type, 1) + number(0x0301, 2) + with_length(payload, 2);
}

}  // namespace sbx::test
