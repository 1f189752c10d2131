// SPDX-License-Identifier: Apache-2.0
// The shipped secret formats: profiles/redaction/rules.json, compiled in and packed by the
// compiler, with the tables that find their keywords.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "output/literal_set.h"

namespace sbx {

enum class FormatMatch : std::uint8_t {
  kText,        // the expression, anywhere in a line that holds a keyword
  kValue,       // the expression matches a whole value assigned to a name that holds a keyword
  kAssignment,  // any secret value assigned to a name that says so (assignment.h)
  kUrl,         // the password of a URL (url_password.h)
  kPrivateKey,  // a block of lines (private_key.h)
};

struct SecretFormat {
  std::string_view id;
  FormatMatch match;
  std::string_view expression;  // RE2; group 1, where there is one, is the secret
  double entropy;               // the least, in bits a byte; 0: any
  bool whole;                   // no piece of a longer run of base64 counts
};

class SecretFormats {
 public:
  std::size_t size() const;
  SecretFormat operator[](std::size_t index) const;
};

constexpr SecretFormats secret_formats() { return {}; }

// Finds the keywords, in any ASCII case; the tag of a hit is the index of its format.
// For a text of that size.
LiteralFinder secret_keywords(std::size_t text_size);

}  // namespace sbx
