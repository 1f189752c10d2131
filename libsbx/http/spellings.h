// SPDX-License-Identifier: Apache-2.0
// Spellings: a text → how encoders of JSON and HTML write it. Values only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sbx::http {

// Some of them are equal to the text, or to each other.
std::vector<std::string> spellings_of(std::string_view text);

// What servers that read a field as Latin-1, letter by letter, write of it in UTF-8.
std::string read_as_latin1(std::string_view bytes);

}  // namespace sbx::http
