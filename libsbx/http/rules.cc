// SPDX-License-Identifier: Apache-2.0
// A path that can be read in two ways needs the same answer for both.
#include "http/rules.h"

#include <algorithm>

namespace sbx::http {

Rules::Rules(const std::vector<HttpRule>& rules) : texts_(rules) {
  for (const HttpRule& text : texts_) {
    Rule rule{&text, {}};
    for (const std::string& path : text.paths.value_or(std::vector<std::string>())) {
      rule.paths.push_back({pattern_segments(path, false), pattern_segments(path, true)});
    }
    rules_.push_back(std::move(rule));
  }
}

Verdict Rules::first(std::string_view name, int port, std::string_view method,
                     const std::vector<std::string>& path, std::string_view query,
                     bool separates) const {
  bool has_rule = false;
  for (const Rule& rule : rules_) {
    if (!covers_host(rule.text->host, name, port)) continue;
    has_rule = true;
    const auto& methods = rule.text->methods;
    if (methods && std::find(methods->begin(), methods->end(), method) == methods->end()) continue;
    const bool fits = std::any_of(rule.paths.begin(), rule.paths.end(), [&](const Pattern& each) {
      return matches_path(separates ? each.as_separator : each.as_data, path);
    });
    if (rule.text->paths && !fits) continue;
    if (rule.text->query && !matches_query(*rule.text->query, query)) continue;
    return {rule.text->ask ? Verdict::Kind::kAsk : Verdict::Kind::kAllow,
            static_cast<int>(rule.text - texts_.data())};
  }
  return {has_rule ? Verdict::Kind::kRefuse : Verdict::Kind::kAllow, -1};
}

bool Rules::limit_requests(std::string_view name, int port) const {
  return std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) {
    return covers_host(rule.text->host, name, port) &&
           (rule.text->methods || rule.text->paths || rule.text->query);
  });
}

Verdict Rules::judge(std::string_view name, int port, std::string_view method,
                     const Target& target) const {
  const Verdict data = first(name, port, method, target.as_data, target.query, false);
  if (target.as_data == target.as_separator) return data;
  const Verdict separator = first(name, port, method, target.as_separator, target.query, true);
  return data.kind >= separator.kind ? data : separator;
}

}  // namespace sbx::http
