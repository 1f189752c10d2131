// SPDX-License-Identifier: Apache-2.0
// RuleSet: the expressions of the shipped secret formats, each compiled when a text first holds one
// of its keywords, and a profile's own patterns. Safe to share between threads.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace sbx {

class RuleSet {
 public:
  // `patterns`: RE2 expressions of the profile, each matched within lines; group 1, where there is
  // one, is what goes. Errors: kBadValue with `where` "/output/patterns/N".
  static Result<std::shared_ptr<const RuleSet>> make(const std::vector<std::string>& patterns);
  ~RuleSet();
  RuleSet(const RuleSet&) = delete;
  RuleSet& operator=(const RuleSet&) = delete;

  // Of a shipped format.
  const re2::RE2& expression(std::size_t format) const;
  std::span<const std::unique_ptr<re2::RE2>> patterns() const { return patterns_; }

 private:
  RuleSet();

  std::vector<std::unique_ptr<re2::RE2>> patterns_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<re2::RE2>> expressions_;
};

}  // namespace sbx
