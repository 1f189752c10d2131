// SPDX-License-Identifier: Apache-2.0
// Queries: whether what a database's client is told drops data: statements of SQL, calls of a
// document store's shell, commands of a key-value store. Pure, linear in the text.
#pragma once

#include <string_view>

namespace sbx::guard {

// `reads_strings`: what stands in quotes may become a statement, too.
bool query_drops(std::string_view text, bool reads_strings);

// The same for one word of a client's command line, where the query may be an option's value.
bool word_drops(std::string_view word, bool reads_strings);

// Whether a client that began with a database in memory may come to have another.
bool query_opens(std::string_view text);

}  // namespace sbx::guard
