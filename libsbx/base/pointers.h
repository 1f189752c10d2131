// SPDX-License-Identifier: Apache-2.0
// Strings → the array of pointers that execve(2) and its like take.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sbx {

// Into `strings`, which must stay as they are; ended by a null pointer, with `spare` null pointers
// before.
inline std::vector<char*> pointers(const std::vector<std::string>& strings, std::size_t spare = 0) {
  std::vector<char*> out(spare, nullptr);
  out.reserve(spare + strings.size() + 1);
  for (const std::string& string : strings) out.push_back(const_cast<char*>(string.c_str()));
  out.push_back(nullptr);
  return out;
}

}  // namespace sbx
