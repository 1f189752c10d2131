// SPDX-License-Identifier: Apache-2.0
// Which words of a command are paths, and whether each stays within the allowed roots.
#include <algorithm>

#include "guard/deny.h"
#include "model/grant.h"
#include "shell/arguments.h"

namespace sbx::guard {
namespace {

// Programs whose words are data: what looks like a path in them is text.
constexpr std::string_view kTalkers =
    "echo printf [ test expr logger true false : export local "
    "declare typeset readonly unset trap alias";
// Programs whose first operand is a pattern or a script.
constexpr std::string_view kPatternFirst = "grep egrep fgrep rg ag sed awk gawk mawk jq yq perl tr";

class PathCheck {
 public:
  PathCheck(const Case& c, std::vector<Finding>& out) : c_(c), out_(out) {}

  void run() {
    const auto& words = c_.command.words;
    if (!words.empty()) check(words.front(), words.front().text.find('/') != std::string::npos);
    if (!shell::is_listed(c_.program, kTalkers) || c_.program == "test" || c_.program == "[") {
      check_words();
    }
    for (const shell::Redirection& redirection : c_.command.redirections) {
      const bool names_file = redirection.kind == shell::RedirectionKind::kRead ||
                              redirection.kind == shell::RedirectionKind::kTruncate ||
                              redirection.kind == shell::RedirectionKind::kAppend;
      if (names_file) check(redirection.target, true);
    }
  }

 private:
  void check_words() {
    const auto& words = c_.command.words;
    bool skip = shell::is_listed(c_.program, kPatternFirst);
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string& text = words[i].text;
      if (text.starts_with('-') && text.size() > 1) {
        check_option(words[i]);
        // The pattern stands behind -e or in a file: no operand is one.
        if (skip && (text == "-e" || text == "-f" || text.starts_with("--regexp") ||
                     text.starts_with("--expression") || text.starts_with("--file"))) {
          skip = false;
          if (text == "-e") ++i;
        }
        continue;
      }
      if (skip) {
        skip = false;
        continue;
      }
      // "key=/path", as dd and make have it.
      const std::size_t equals = text.find("=/");
      if (equals != std::string::npos && !text.starts_with('/')) {
        check_part(words[i], text.substr(equals + 1));
      } else {
        check(words[i], false);
      }
    }
  }

  // "--file=/etc/x", "-I/opt/include", "-C../x".
  void check_option(const shell::Word& word) {
    const std::size_t equals = word.text.find('=');
    if (equals != std::string::npos) {
      check_part(word, word.text.substr(equals + 1));
      return;
    }
    const std::size_t slash = word.text.find('/');
    if (!word.text.starts_with("--") && slash == 2) check_part(word, word.text.substr(slash));
  }

  void check_part(const shell::Word& word, const std::string& part) {
    shell::Word only = word;
    only.text = part;
    check(only, false);
  }

  // A word is taken for a path where it is absolute, or leads upwards, or begins with ~.
  void check(const shell::Word& word, bool is_path) {
    const std::string& text = word.text;
    const bool looks_like_one = text.starts_with('/') || text.starts_with('~') || text == ".." ||
                                text.starts_with("../") || text.find("/../") != std::string::npos ||
                                text.ends_with("/..");
    const bool is_change = c_.program == "cd" || c_.program == "pushd";
    if (!is_path && !is_change && !looks_like_one && word.known) return;
    const auto paths = c_.places.resolve(word, c_.directories);
    if (!paths) return;  // the kernel decides
    for (const std::string& path : *paths) {
      if (c_.places.is_confined(path)) continue;
      const std::string root = root_grant({&path, 1}, "ro");
      out_.push_back({"path-outside", Verdict::kDeny,
                      "'" + path + "' lies outside the allowed roots; add " + root +
                          " to the profile, or the path to SBX_ALLOWED_ROOTS",
                      word.span, std::string(c_.program), path, root});
      return;
    }
  }

  const Case& c_;
  std::vector<Finding>& out_;
};

}  // namespace

void find_paths_outside(const Case& c, std::vector<Finding>& out) { PathCheck(c, out).run(); }

}  // namespace sbx::guard
