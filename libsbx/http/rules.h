// SPDX-License-Identifier: Apache-2.0
// Rules: a request to a host → the first rule that covers it, or none. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/target.h"
#include "profile/profile.h"

namespace sbx::http {

struct Verdict {
  enum class Kind : std::uint8_t { kAllow, kAsk, kRefuse };
  Kind kind = Kind::kRefuse;
  int rule = -1;  // of network.http; -1: none
};

class Rules {
 public:
  explicit Rules(const std::vector<HttpRule>& rules);

  // A host without a rule, which a credential is for, takes every request.
  Verdict judge(std::string_view name, int port, std::string_view method,
                const Target& target) const;
  // Whether they look at more than the host.
  bool limit_requests(std::string_view name, int port) const;

 private:
  struct Pattern {
    std::vector<std::string> as_data;
    std::vector<std::string> as_separator;
  };
  struct Rule {
    const HttpRule* text;
    std::vector<Pattern> paths;
  };
  Verdict first(std::string_view name, int port, std::string_view method,
                const std::vector<std::string>& path, std::string_view query, bool separates) const;

  std::vector<HttpRule> texts_;
  std::vector<Rule> rules_;
};

}  // namespace sbx::http
