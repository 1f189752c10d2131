// SPDX-License-Identifier: Apache-2.0
// Arithmetic: what ((…)), let and the head of an arithmetic for do to variables. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sbx::shell {

struct ArithmeticNames {
  struct Assigned {
    std::string name;
    bool is_certain = false;  // unless the text fails: no condition stands before it
  };
  std::vector<Assigned> assigned;  // they get numbers
  std::vector<std::string> read;   // the text fails where one of them holds no number
  bool may_fail = false;           // whatever those hold
};

// `text` is expanded. What it assigns to through a part that is made at run time is not among them:
// that is a number too.
ArithmeticNames arithmetic_names(std::string_view text);

}  // namespace sbx::shell
