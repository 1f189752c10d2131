// SPDX-License-Identifier: Apache-2.0
// Compiling expressions, late.
#include "output/rule_set.h"

#include <re2/re2.h>

#include "output/secret_formats.h"

namespace sbx {
namespace {

re2::RE2::Options line_options() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_never_nl(true);
  options.set_encoding(re2::RE2::Options::EncodingLatin1);  // output is bytes, not yet text
  options.set_max_mem(16 << 20);
  return options;
}

// A profile's pattern is written as text, so that \w and classes see its characters as it does.
re2::RE2::Options pattern_options() {
  re2::RE2::Options options = line_options();
  options.set_encoding(re2::RE2::Options::EncodingUTF8);
  return options;
}

}  // namespace

RuleSet::RuleSet() = default;
RuleSet::~RuleSet() = default;

Result<std::shared_ptr<const RuleSet>> RuleSet::make(const std::vector<std::string>& patterns) {
  const std::shared_ptr<RuleSet> rules(new RuleSet());
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    auto pattern = std::make_unique<re2::RE2>(patterns[i], pattern_options());
    if (!pattern->ok()) {
      return Error{ErrorCode::kBadValue, "not an RE2 expression: " + pattern->error(),
                   "/output/patterns/" + std::to_string(i),
                   "RE2 has no lookaround and no backreferences"};
    }
    rules->patterns_.push_back(std::move(pattern));
  }
  return std::shared_ptr<const RuleSet>(rules);
}

const re2::RE2& RuleSet::expression(std::size_t format) const {
  const std::scoped_lock lock(mutex_);
  if (expressions_.empty()) expressions_.resize(secret_formats().size());
  std::unique_ptr<re2::RE2>& compiled = expressions_[format];
  if (compiled == nullptr) {
    const std::string_view text = secret_formats()[format].expression;
    compiled =
        std::make_unique<re2::RE2>(re2::StringPiece(text.data(), text.size()), line_options());
  }
  return *compiled;
}

}  // namespace sbx
