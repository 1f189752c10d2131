// SPDX-License-Identifier: Apache-2.0
// Redirections, words that look like a path, and the operands of programs that write.
#include "guard/named.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/paths.h"
#include "profile/forms.h"
#include "shell/arguments.h"
#include "shell/marks.h"

namespace sbx::guard {
namespace {

constexpr std::size_t kMost = 64;  // of a text

// Each of their operands is written, or with the second list the last one.
constexpr std::string_view kWriters =
    "touch mkdir rmdir rm unlink mv tee truncate chmod chown chgrp sponge";
constexpr std::string_view kMovers = "mv rm rmdir unlink";   // with all that is in it
constexpr std::string_view kChangers = "chmod chown chgrp";  // what they write must be there
constexpr std::string_view kEditors = "sed gsed";
// What of git's makes files in the directory that it runs in.
constexpr std::string_view kGitWriters =
    "init clone add mv rm commit checkout switch restore reset merge rebase stash pull fetch "
    "cherry-pick revert am apply";
constexpr std::string_view kCopiers = "cp ln install rsync";

// The path, or a directory above it, that a pattern matches; empty where none does. `*` is let
// match more than one component: the kernel has the last word.
std::string matching_part(const std::string& pattern, const std::string& path) {
  std::string at_the_top = pattern;
  const std::size_t any = pattern.find("/**/");
  if (any != pattern.npos) at_the_top.erase(any, 3);
  for (std::size_t end = path.size(); end != 0 && end != path.npos;
       end = path.rfind('/', end - 1)) {
    std::string part = path.substr(0, end);
    if (fnmatch(pattern.c_str(), part.c_str(), 0) == 0) return part;
    if (fnmatch(at_the_top.c_str(), part.c_str(), 0) == 0) return part;
  }
  return "";
}

// What is protected of a repository is so of its submodules: the part of the path that is.
std::string part_in_module(const std::string& top, const std::string& protect,
                           const std::string& path) {
  constexpr std::string_view kGit = ".git";
  const std::string modules = top + "/.git/modules";
  if (!protect.starts_with(".git/") || !is_below(path, modules)) return "";
  const std::string inside = protect.substr(kGit.size());
  const std::size_t at = path.find(inside, modules.size() + 1);
  if (at == path.npos) return "";
  std::string part = path.substr(0, at + inside.size());
  return is_below(path, part) ? part : "";
}

class Search {
 public:
  Search(const Policy& policy, const Case& c, NamedPaths& out)
      : policy_(policy), c_(c), out_(out.refused), made_(out.made) {}

  void run() {
    for (const shell::Redirection& redirection : c_.command.redirections) {
      if (redirection.kind == shell::RedirectionKind::kRead) look(redirection.target, false);
      const bool writes = redirection.kind == shell::RedirectionKind::kTruncate ||
                          redirection.kind == shell::RedirectionKind::kAppend;
      if (writes) look(redirection.target, true);
    }
    for (const shell::Assignment& assignment : c_.command.assignments) {
      look(assignment.value, false);
      look_within(assignment.value);
    }
    const auto& words = c_.command.words;
    if (c_.program == "git" &&
        shell::is_listed(words[git_subcommand(c_.command)].text, kGitWriters)) {
      shell::Word here;
      here.text = ".";
      look(here, true);
    }
    if (!words.empty() && words[0].text.find('/') != std::string::npos) look(words[0], false);
    const bool is_editor = shell::is_listed(c_.program, kEditors) && edits_in_place(words);
    const bool is_writer = is_editor || shell::is_listed(c_.program, kWriters);
    mends_what_is_missing_ = mends_what_is_missing();
    const bool is_copier = shell::is_listed(c_.program, kCopiers);
    for (std::size_t i = 1; i < words.size(); ++i) {
      const bool writes = is_writer || (is_copier && i + 1 == words.size());
      moves_ =
          shell::is_listed(c_.program, kMovers) && (c_.program != "mv" || i + 1 < words.size());
      must_be_there_ = moves_ || is_editor || shell::is_listed(c_.program, kChangers);
      // Without a slash it may be any word: of those only what is hidden can matter.
      const bool is_path = (words[i].text + words[i].shape).find('/') != std::string::npos;
      if (writes || is_path || hides()) look(words[i], writes);
      look_within(words[i]);
    }
  }

 private:
  // -i, -ni, --in-place
  static bool edits_in_place(const std::vector<shell::Word>& words) {
    return std::any_of(words.begin(), words.end(), [](const shell::Word& word) {
      const std::string_view text = word.text;
      return text.starts_with("--in") || (text.starts_with('-') && !text.starts_with("--") &&
                                          text.find('i') != std::string_view::npos);
    });
  }

  // Makes the directories on the way, or does without what it would remove.
  bool mends_what_is_missing() const {
    const shell::Arguments arguments(c_.command, 1);
    return (c_.program == "mkdir" && arguments.find('p', "parents") != nullptr) ||
           (c_.program == "rm" && arguments.find('f', "force") != nullptr) ||
           (c_.program == "install" && arguments.find('D') != nullptr);
  }

  // Absolute paths within a word: --file=/a, if=/a, -f/a, -xf/a, file:///a, open('/a').
  void look_within(const shell::Word& word) {
    const std::string_view text = word.text;
    if (!word.known || word.has_glob) return;
    const auto is_in_a_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0 ||
             std::string_view("_.-+~/").find(c) != std::string_view::npos;
    };
    const std::size_t flags = text.find('/');
    const bool is_flag = text.starts_with('-') && flags != text.npos && flags > 1 &&
                         std::all_of(text.begin() + 1, text.begin() + flags,
                                     [](unsigned char c) { return std::isalnum(c) != 0; });
    for (std::size_t at = text.find('/'); at != std::string_view::npos; at = text.find('/', at)) {
      std::size_t end = at;
      while (end < text.size() && is_in_a_name(text[end])) ++end;
      const bool begins = at != 0 && (!is_in_a_name(text[at - 1]) || (is_flag && at == flags));
      std::string_view path = text.substr(at, end - at);
      if (text.substr(0, at).ends_with("file:") && path.starts_with("///")) path.remove_prefix(2);
      if (begins && path.size() > 1 && path[1] != '/') {
        shell::Word own;
        own.text = path;
        look(own, false);
      }
      at = end;
    }
  }

  // Of what only the run completes, the directory that it lies in.
  static void keep_sure_part(shell::Word& word) {
    if (word.known && !word.has_glob) return;
    std::string& text = word.known ? word.text : word.shape;
    const auto is_open = [](char c) {
      return shell::is_mark(c) || std::string_view("*?[").find(c) != std::string_view::npos;
    };
    const bool has_place = !text.empty() && shell::is_place_mark(text.front());
    const auto open = std::find_if(text.begin() + (has_place ? 1 : 0), text.end(), is_open);
    word.has_glob = false;
    if (open == text.end()) return;
    const std::size_t slash = text.rfind('/', static_cast<std::size_t>(open - text.begin()));
    text.resize(slash == text.npos ? 0 : std::max<std::size_t>(slash, 1));
  }

  void look(shell::Word word, bool writes) {
    if (out_.size() == kMost || word.text.starts_with('-')) return;
    const bool is_whole = word.known && !word.has_glob;
    keep_sure_part(word);
    const std::string& text = word.known ? word.text : word.shape;
    if (text.empty()) return;
    const auto paths = c_.places.resolve(word, c_.directories);
    if (!paths) return;
    for (const std::string& path : *paths) {
      const bool is_top = writes && is_whole && !moves_ && is_at_the_top(path);
      if (writes && !is_top && c_.places.may_write(path) && !is_narrowed(path)) {
        add_held(path);
        add_missing(path);
        continue;
      }
      if (!writes && is_hidden(path)) {
        add({path, resolve_path("..", path)});
        continue;
      }
      const std::string place = c_.places.private_place(path);
      const bool is_path = text.find('/') != std::string::npos;
      if (!writes && is_path && is_in_etc(path)) add({path, "/etc"});
      if (!writes && (!is_path || (place.empty() && is_shown(path)))) continue;
      // What nobody can write there is refused whatever the host has.
      add({path, writes && !has_scratch(policy_.sandbox) ? "" : place, "", is_top, writes});
    }
  }

  void add(RefusedPath found) {
    if (std::find(out_.begin(), out_.end(), found) == out_.end() && out_.size() < kMost) {
      out_.push_back(std::move(found));
    }
  }

  // What is written in a place that the sandbox has its own of, and that only the host may have, or
  // have the directory of.
  void add_missing(const std::string& path) {
    const std::string place = c_.places.private_place(path);
    if (place.empty() || path == place) return;
    const std::string_view parent = parent_of(path);
    const bool is_made = std::any_of(made_.begin(), made_.end(), [&](const std::string& one) {
      return is_below(path, one) || is_below(one, parent);
    });
    if (is_made) return;
    const bool needs_parent = parent != place;
    const bool makes = c_.program == "mkdir" && (mends_what_is_missing_ || !needs_parent);
    if (makes && made_.size() < kMost) made_.push_back(path);
    if (mends_what_is_missing_ || (!needs_parent && !must_be_there_)) return;
    add({path, place, "", false, true});
  }

  // What lies in a writable root and is protected there; of what is moved or removed, what is in it
  // as well, and roots that are.
  void add_held(const std::string& path) {
    const auto& filesystem = policy_.sandbox.filesystem;
    const bool has_root =
        std::any_of(filesystem.roots.begin(), filesystem.roots.end(), [&](const Root& root) {
          return root.pattern_at == 0 && root.path != "/" && is_below(root.path, path);
        });
    const auto& maxima = policy_.sandbox.maxima;
    const bool has_maximum =
        std::any_of(maxima.begin(), maxima.end(),
                    [&](const PathMaximum& maximum) { return is_below(maximum.path, path); });
    const bool is_ours =
        c_.places.private_place(path).empty() && is_always_protected(policy_, path);
    if (is_ours || (moves_ && (has_root || has_maximum))) {
      return add({path, "", "", false, true});
    }
    for (const Root& root : filesystem.roots) {
      if (root.access != Access::kReadWrite || root.path == path || !is_below(path, root.path)) {
        continue;
      }
      const std::string top = root.path == "/" ? "" : root.path;
      for (const Protect& protect : filesystem.protect) {
        const std::string whole = top + "/" + protect.path;
        std::string held = part_in_module(top, protect.path, path);
        if (held.empty()) held = forms::is_glob(whole) ? matching_part(whole, path) : whole;
        if (held.empty()) continue;
        const bool is_always = protect.missing == Missing::kRefuse;
        // Of what is missing the first part is closed, with all in it: which, the plan knows.
        const bool may_be_closed = is_always && !forms::is_glob(whole) &&
                                   is_below(path, whole.substr(0, whole.find('/', top.size() + 1)));
        if (!may_be_closed && !is_below(path, held) &&
            ((!moves_ && c_.program != "mv") || !is_below(held, path)))
          continue;
        return add({path, is_always ? "" : root.path, is_always ? "" : held, false, true});
      }
    }
  }

  bool hides() const {
    const auto is_none = [](const auto& entry) { return entry.access == Access::kNone; };
    const auto& roots = policy_.sandbox.filesystem.roots;
    const auto& maxima = policy_.sandbox.maxima;
    return std::any_of(roots.begin(), roots.end(), is_none) ||
           std::any_of(maxima.begin(), maxima.end(), is_none);
  }

  // By a pattern of a root, to less than `least`.
  bool is_narrowed(const std::string& path, Access least = Access::kReadWrite) const {
    const auto& roots = policy_.sandbox.filesystem.roots;
    return std::any_of(roots.begin(), roots.end(), [&](const Root& one) {
      return one.access < least && one.pattern_at != 0 && !matching_part(one.path, path).empty();
    });
  }

  // The policy's own word, whatever is around it.
  bool is_hidden(const std::string& path) const {
    const Root* const root = c_.places.nearest_root(path);
    return (root != nullptr && root->access == Access::kNone) ||
           most_access(policy_.sandbox.maxima, path) == Access::kNone ||
           is_narrowed(path, Access::kReadOnly);
  }

  // Directly below / or /dev, and no root's: in the sandbox's own, where nothing is made.
  bool is_at_the_top(const std::string& path) const {
    const std::string_view parent = parent_of(path);
    return (parent == "/" || (parent == "/dev" && Places::is_device(path))) && path != "/" &&
           c_.places.nearest_root(path) == nullptr && c_.places.private_place(path).empty();
  }

  // The system's, not a root's.
  bool is_in_etc(const std::string& path) const {
    return is_below(path, "/etc") && path != "/etc" && c_.places.nearest_root(path) == nullptr &&
           policy_.sandbox.filesystem.base == Base::kSystem;
  }

  // The directories on the way to a root are there, too.
  bool is_shown(const std::string& path) const {
    const auto& filesystem = policy_.sandbox.filesystem;
    return path == "/" || path == "/dev" || filesystem.base == Base::kHost ||
           c_.places.is_confined(path) ||
           std::any_of(filesystem.roots.begin(), filesystem.roots.end(), [&](const Root& root) {
             return root.access != Access::kNone && is_below(root.path, path);
           });
  }

  const Policy& policy_;
  const Case& c_;
  std::vector<RefusedPath>& out_;
  std::vector<std::string>& made_;
  bool mends_what_is_missing_ = false;
  bool must_be_there_ = false;  // what is looked at
  bool moves_ = false;          // what is looked at is moved or removed
};

}  // namespace

void find_refused_paths(const Policy& policy, const Case& c, NamedPaths& out) {
  Search(policy, c, out).run();
}

}  // namespace sbx::guard
