// SPDX-License-Identifier: Apache-2.0
// Removes a directory that a command has written, whatever is in it: by descriptor, never through
// a symlink, with two descriptors and no recursion however deep it is. Async-signal-safe enough for
// a forked watchdog; touches nothing outside the directory.
#pragma once

#include <string>

namespace sbx {

// `path` is a directory that this process made; its parent is trusted. True when it is gone.
bool remove_tree(const std::string& path);

// The same for what is in it; the directory stays. True when it is empty.
bool clear_tree(const std::string& path);

}  // namespace sbx
