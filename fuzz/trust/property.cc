// SPDX-License-Identifier: Apache-2.0
#include "property.h"

#include <cstdlib>

#include "profile/trust_record.h"

namespace sbx {

void check_trust_record(std::string_view bytes) {
  const TrustedFiles files = parse_trust_record(bytes);
  if (!files.empty() && trust_record(files) != bytes) std::abort();
  for (const std::string& file : files) {
    if (file.size() < 65 || file[64] != '/' || file.find('\0') != std::string::npos) std::abort();
  }
}

}  // namespace sbx
