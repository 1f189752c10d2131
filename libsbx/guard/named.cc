// SPDX-License-Identifier: Apache-2.0
// Redirections, words that look like a path, and the operands of programs that write.
#include "guard/named.h"

#include <algorithm>

#include "base/text.h"
#include "shell/arguments.h"

namespace sbx {
namespace {

constexpr std::size_t kMost = 64;  // of a text

// Each of their operands is written, or with the second list the last one.
constexpr std::string_view kWriters =
    "touch mkdir rmdir rm unlink mv tee truncate chmod chown chgrp sponge sed gsed";
constexpr std::string_view kCopiers = "cp ln install rsync";

class Search {
 public:
  Search(const Policy& policy, const Case& c, std::vector<RefusedPath>& out)
      : policy_(policy), c_(c), out_(out) {}

  void run() {
    for (const Redirection& redirection : c_.command.redirections) {
      if (redirection.kind == RedirectionKind::kRead) look(redirection.target, false);
      const bool writes = redirection.kind == RedirectionKind::kTruncate ||
                          redirection.kind == RedirectionKind::kAppend;
      if (writes) look(redirection.target, true);
    }
    const auto& words = c_.command.words;
    const bool is_writer = is_listed(c_.program, kWriters);
    const bool is_copier = is_listed(c_.program, kCopiers);
    for (std::size_t i = 1; i < words.size(); ++i) {
      const bool is_last = i + 1 == words.size();
      const bool is_path = words[i].text.find('/') != std::string::npos;
      if (is_path) look(words[i], is_writer || (is_copier && is_last));
    }
  }

 private:
  void look(const Word& word, bool writes) {
    if (!word.known || word.has_glob || word.text.starts_with('-')) return;
    const auto paths = c_.places.resolve(word, c_.directories);
    if (!paths) return;
    for (const std::string& path : *paths) {
      const std::string place = c_.places.private_place(path);
      if (writes ? c_.places.may_write(path) : place.empty() && is_shown(path)) continue;
      const RefusedPath found{path, place};
      if (out_.size() == kMost || std::find(out_.begin(), out_.end(), found) != out_.end())
        continue;
      out_.push_back(found);
    }
  }

  // The directories on the way to a root are there, too.
  bool is_shown(const std::string& path) const {
    const auto& filesystem = policy_.sandbox.filesystem;
    return path == "/" || filesystem.base == Base::kHost || c_.places.is_confined(path) ||
           std::any_of(filesystem.roots.begin(), filesystem.roots.end(), [&](const Root& root) {
             return root.access != Access::kNone && is_below(root.path, path);
           });
  }

  const Policy& policy_;
  const Case& c_;
  std::vector<RefusedPath>& out_;
};

}  // namespace

void find_refused_paths(const Policy& policy, const Case& c, std::vector<RefusedPath>& out) {
  Search(policy, c, out).run();
}

}  // namespace sbx
