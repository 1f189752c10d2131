// SPDX-License-Identifier: Apache-2.0
// Makes TLS ClientHellos for tests.
#pragma once

#include <string>

namespace sbx::test {

struct HelloParts {
  std::string name;             // empty: no server_name extension
  std::size_t record_size = 0;  // cut into records of this many bytes; 0: one record
  std::size_t padding = 0;      // bytes of a padding extension
  bool early_data = false;      // the extension
};
std::string client_hello(const HelloParts& parts);

// One record of TLS: its content type and payload.
std::string tls_record(unsigned type, const std::string& payload);

}  // namespace sbx::test
