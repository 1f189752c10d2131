// SPDX-License-Identifier: Apache-2.0
// A layer's changes as git writes them: both sides become trees of an object store in memory, which
// libgit2 compares.
#include <fcntl.h>
#include <git2.h>
#include <git2/sys/mempack.h>
#include <git2/sys/odb_backend.h>
#include <git2/sys/repository.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "action.h"
#include "base/files.h"
#include "base/text.h"
#include "git_names.h"
#include "host/globs.h"
#include "json/writer.h"
#include "kept/merged.h"
#include "report/json_parts.h"
#include "touched.h"

namespace sbx {
namespace {

// Of one file, and of all that a patch is made from: both sides lie in memory.
constexpr std::size_t kMostBytes = std::size_t{128} << 20;
constexpr std::size_t kMostOfAll = std::size_t{512} << 20;

using Odb = std::unique_ptr<git_odb, GitFree<git_odb, git_odb_free>>;
using Repository = std::unique_ptr<git_repository, GitFree<git_repository, git_repository_free>>;
using Tree = std::unique_ptr<git_tree, GitFree<git_tree, git_tree_free>>;
using Diff = std::unique_ptr<git_diff, GitFree<git_diff, git_diff_free>>;
using Patch = std::unique_ptr<git_patch, GitFree<git_patch, git_patch_free>>;

// Columns of a line of --stat: a longer name stands as it is, and moves only its own line's bar.
constexpr std::size_t kWidestName = 60;
constexpr std::size_t kWidestBar = 36;

struct StatRow {
  std::string name;
  std::size_t insertions = 0;
  std::size_t deletions = 0;
  std::string binary;  // what is said in place of a bar
};

Error git_failure(const std::string& call) {
  const git_error* const error = git_error_last();
  return Error{ErrorCode::kSetupFailed,
               call + ": " + (error == nullptr ? "failed" : error->message), "libgit2", ""};
}

// `left` is what may be read besides.
Result<std::string> whole_file(int fd, const std::string& path, std::size_t& left) {
  struct stat info {};
  const std::size_t most = std::min(kMostBytes, left);
  const bool is_known = fstat(fd, &info) == 0 && info.st_size >= 0;
  const std::size_t size = is_known ? static_cast<std::size_t>(info.st_size) : most + 1;
  if (size > most) {
    return Error{ErrorCode::kTooLarge, "too large for a patch: " + escape_control_bytes(path), path,
                 "name other paths; --stat and --json show it"};
  }
  left -= size;
  return read_up_to(fd, size);
}

// What one side has under one name; nothing for what git does not know.
struct Blob {
  unsigned mode = 0;  // 0: nothing
  std::string bytes;
  bool is_unreadable = false;
};

Result<Blob> real_blob(int root, const std::string& path, std::size_t& left) {
  struct stat info {};
  if (!stat_beneath(root, path, info)) return Blob{};
  if (S_ISLNK(info.st_mode)) {
    const OwnedFd link(open_beneath(root, path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    return Blob{GIT_FILEMODE_LINK, read_link(link.get(), "")};
  }
  if (!S_ISREG(info.st_mode)) return Blob{};
  const OwnedFd file(open_beneath(root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) return Blob{GIT_FILEMODE_BLOB, "", true};
  SBX_TRY(std::string bytes, whole_file(file.get(), path, left));
  return Blob{(info.st_mode & 0100) != 0 ? unsigned{GIT_FILEMODE_BLOB_EXECUTABLE}
                                         : unsigned{GIT_FILEMODE_BLOB},
              std::move(bytes)};
}

// What a run has just removed or replaced is there no more.
Result<Blob> kept_blob(const Touched& touched, const std::string& path, std::size_t& left) {
  if (touched.now.kind == BaseRecord::kLink) {
    std::string target = read_link(AT_FDCWD, touched.file);
    return target.empty() ? Blob{} : Blob{GIT_FILEMODE_LINK, std::move(target)};
  }
  if (touched.now.kind != BaseRecord::kFile) return Blob{};
  const OwnedFd file = open_kept(touched);
  if (!file.is_open()) {
    if (is_missing(errno) || errno == ELOOP || errno == ESTALE) return Blob{};
    return Error{ErrorCode::kPathRefused, "cannot be read: " + escape_control_bytes(path), path,
                 ""};
  }
  SBX_TRY(std::string bytes, whole_file(file.get(), path, left));
  return Blob{(touched.now.mode & 0100) != 0 ? unsigned{GIT_FILEMODE_BLOB_EXECUTABLE}
                                             : unsigned{GIT_FILEMODE_BLOB},
              std::move(bytes)};
}

// Both sides of a patch.
class Sides {
 public:
  Status open() {
    git_odb* odb = nullptr;
    if (git_odb_new(&odb) != 0) return git_failure("git_odb_new");
    odb_.reset(odb);
    git_odb_backend* backend = nullptr;
    if (git_mempack_new(&backend) != 0 || git_odb_add_backend(odb, backend, 1) != 0) {
      return git_failure("git_mempack_new");
    }
    git_repository* repository = nullptr;
    if (git_repository_wrap_odb(&repository, odb) != 0)
      return git_failure("git_repository_wrap_odb");
    repository_.reset(repository);
    for (GitIndex* const side : {&old_, &new_}) {
      git_index* index = nullptr;
      if (git_index_new(&index) != 0) return git_failure("git_index_new");
      side->reset(index);
    }
    return {};
  }

  Status add(bool is_new, const std::string& path, const Blob& blob) {
    if (blob.mode == 0) return {};
    git_index_entry entry{};
    entry.mode = blob.mode;
    entry.path = path.c_str();
    entry.file_size = static_cast<std::uint32_t>(blob.bytes.size());
    if (git_odb_write(&entry.id, odb_.get(), blob.bytes.data(), blob.bytes.size(),
                      GIT_OBJECT_BLOB) != 0 ||
        git_index_add(is_new ? new_.get() : old_.get(), &entry) != 0) {
      return git_failure("git_index_add(" + escape_control_bytes(path) + ")");
    }
    return {};
  }

  bool is_empty() const {
    return git_index_entrycount(old_.get()) == 0 && git_index_entrycount(new_.get()) == 0;
  }

  Result<std::string> patch(bool stat, bool renames) {
    SBX_TRY(const Tree before, tree(old_.get()));
    SBX_TRY(const Tree after, tree(new_.get()));
    git_diff_options options{};
    git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
    options.flags = GIT_DIFF_SHOW_BINARY | GIT_DIFF_INDENT_HEURISTIC;
    options.id_abbrev = 40;
    git_diff* made = nullptr;
    if (git_diff_tree_to_tree(&made, repository_.get(), before.get(), after.get(), &options) != 0) {
      return git_failure("git_diff_tree_to_tree");
    }
    const Diff diff(made);
    git_diff_find_options find{};
    git_diff_find_options_init(&find, GIT_DIFF_FIND_OPTIONS_VERSION);
    find.flags = GIT_DIFF_FIND_RENAMES;
    if (renames && git_diff_find_similar(made, &find) != 0) {
      return git_failure("git_diff_find_similar");
    }
    std::string out;
    const int failed =
        stat ? stat_text(made, out) : git_diff_print(made, GIT_DIFF_FORMAT_PATCH, add_line, &out);
    if (failed != 0) return git_failure("git_diff_print");
    return out;
  }

 private:
  Result<Tree> tree(git_index* index) {
    git_oid id;
    git_tree* made = nullptr;
    if (git_index_write_tree_to(&id, index, repository_.get()) != 0 ||
        git_tree_lookup(&made, repository_.get(), &id) != 0) {
      return git_failure("git_index_write_tree_to");
    }
    return Tree(made);
  }

  // As `git diff --stat`, but for the names, which come from inside: libgit2 writes them as they
  // are.
  static int stat_text(git_diff* diff, std::string& out) {
    std::vector<StatRow> rows(git_diff_num_deltas(diff));
    std::size_t width = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (read_stat(diff, i, rows[i]) != 0) return -1;
      width = std::max(width, std::min(rows[i].name.size(), kWidestName));
    }
    if (!rows.empty()) write_stat(rows, width, out);
    return 0;
  }

  static int read_stat(git_diff* diff, std::size_t index, StatRow& row) {
    git_patch* made = nullptr;
    if (git_patch_from_diff(&made, diff, index) != 0) return -1;
    const Patch patch(made);
    const git_diff_delta* const delta = git_diff_get_delta(diff, index);
    const std::string before = escape_control_bytes(delta->old_file.path);
    row.name = escape_control_bytes(delta->new_file.path);
    if (delta->status == GIT_DELTA_RENAMED) row.name = before + " => " + row.name;
    if ((delta->flags & GIT_DIFF_FLAG_BINARY) != 0) {
      row.binary = "Bin " + std::to_string(delta->old_file.size) + " -> " +
                   std::to_string(delta->new_file.size) + " bytes";
    }
    return made == nullptr
               ? 0
               : git_patch_line_stats(nullptr, &row.insertions, &row.deletions, patch.get());
  }

  static void write_stat(const std::vector<StatRow>& rows, std::size_t width, std::string& out) {
    StatRow all;
    std::size_t most = 1;
    for (const StatRow& row : rows) {
      all.insertions += row.insertions;
      all.deletions += row.deletions;
      most = std::max(most, row.insertions + row.deletions);
    }
    const std::size_t digits = std::to_string(most).size();
    const std::size_t bar = std::min(most, kWidestBar);
    const auto marks = [&](std::size_t count, char mark) {
      const std::size_t scaled = (count * bar + most - 1) / most;
      return std::string(scaled, mark);
    };
    for (const StatRow& row : rows) {
      out += ' ' + row.name + std::string(width - std::min(width, row.name.size()), ' ') + " | ";
      if (!row.binary.empty()) {
        out += row.binary;
      } else {
        const std::string count = std::to_string(row.insertions + row.deletions);
        out += std::string(digits - count.size(), ' ') + count;
        if (row.insertions + row.deletions > 0) out += ' ';
        out += marks(row.insertions, '+') + marks(row.deletions, '-');
      }
      out += '\n';
    }
    const auto counted = [](std::size_t count, const char* what) {
      return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
    };
    out += ' ' + counted(rows.size(), "file") + " changed";
    if (all.insertions > 0 || all.deletions == 0)
      out += ", " + counted(all.insertions, "insertion") + "(+)";
    if (all.deletions > 0 || all.insertions == 0)
      out += ", " + counted(all.deletions, "deletion") + "(-)";
    out += '\n';
  }

  // As git itself does, and libgit2 does not: a tab behind a name that holds a space, where
  // patch(1) would take it to end.
  static int add_line(const git_diff_delta* delta, const git_diff_hunk* /*hunk*/,
                      const git_diff_line* line, void* to) {
    // Of one that is only renamed, or has another mode, git says nothing more; its line "Binary
    // files … differ", without the ids that a patch needs, would make the whole useless.
    if (line->origin == GIT_DIFF_LINE_BINARY &&
        git_oid_equal(&delta->old_file.id, &delta->new_file.id) != 0) {
      return 0;
    }
    std::string& out = *static_cast<std::string*>(to);
    std::string_view text(line->content, line->content_len);
    if (line->origin != GIT_DIFF_LINE_FILE_HDR) {
      if (std::string_view(" +-").find(line->origin) != std::string_view::npos) out += line->origin;
      out += text;
      return 0;
    }
    // Where no other line has the name, git looks for it in the first: without quotes it finds none
    // that has a directory whose name ends in a space.
    const std::string path = delta->new_file.path;
    const std::string first = "diff --git a/" + path + " b/" + path + "\n";
    if (path.find(" /") != path.npos && text.starts_with(first) &&
        text.find("\n--- ") == text.npos) {
      out += "diff --git \"a/" + path + "\" \"b/" + path + "\"\n";
      text.remove_prefix(first.size());
    }
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view header = text.substr(at, end - at);
      out += header;
      const bool is_name = header.starts_with("--- ") || header.starts_with("+++ ");
      if (is_name && header.find(' ', 4) != header.npos) out += '\t';
      out += '\n';
      at = end + 1;
    }
    return 0;
  }

  Odb odb_;
  Repository repository_;
  GitIndex old_;
  GitIndex new_;
};

class LayerDiff {
 public:
  LayerDiff(const Action& action, KeptLayer& layer) : action_(action), state_(layer.state()) {
    bool is_whole = false;
    touched_ = collect_touched(layer, is_whole, &opened_);
    leave_out_settled();
    if (!is_whole) note_ = "warning: paths that are too long or too deep are left out\n";
    add_strangers(state_, touched_);
    for (const std::string& warning : root_warnings(layer)) {
      note_ += "warning: " + escape_control_bytes(warning) + "\n";
    }
  }

  Done run() {
    if (Status status = check_paths(); !status.ok()) return Refusal{status.error(), {}};
    if (action_.name_only && !action_.json) return names();
    if (action_.json && !action_.patch) return json({});
    const std::string root = action_.root.empty() ? state_.workspace : action_.root;
    const auto found = std::find(state_.roots.begin(), state_.roots.end(), root);
    if (found == state_.roots.end()) {
      return Refusal{
          Error{ErrorCode::kPathNotFound, "the layer has no root " + escape_control_bytes(root),
                "--root", "--json shows the changes of all roots"},
          {}};
    }
    for (const std::string& name : action_.arguments) {
      if (action_.json || is_below(name, root) || is_below(root, name)) continue;
      const auto its = std::find_if(state_.roots.begin(), state_.roots.end(),
                                    [&](const auto& one) { return is_below(name, one); });
      if (its == state_.roots.end()) continue;
      return Refusal{Error{ErrorCode::kBadValue,
                           escape_control_bytes(name) + " lies in another root than " +
                               escape_control_bytes(root) + ", which the patch is of",
                           "PATH", "--root " + escape_control_bytes(*its) + " shows that one's"},
                     {}};
    }
    Result<std::string> text = patch(static_cast<std::size_t>(found - state_.roots.begin()));
    if (!text.ok()) return Refusal{text.error(), {}};
    if (action_.json) return json(text.value());
    return Answer{action_.terminal ? escape_lines(text.value()) : std::move(text).value(), note_};
  }

 private:
  // What a commit would find to be real already.
  void leave_out_settled() {
    for (std::size_t i = 0; i < state_.roots.size(); ++i) {
      const OwnedFd real = open_root(state_, i);
      for (auto& [key, touched] : touched_) {
        if (key.first == i) touched.now.mode = mode_to_be(state_, key, touched, real.get());
      }
      std::erase_if(touched_, [&](const auto& entry) {
        return entry.first.first == i &&
               is_real_already(entry.second, real.get(), entry.first.second);
      });
    }
  }

  // A path that no root of the layer holds is a mistake, and not a file without changes.
  Status check_paths() const {
    for (const std::string& name : action_.arguments) {
      const auto holds = [&](const std::string& root) {
        return is_below(name, root) || is_below(root, name);
      };
      if (std::any_of(state_.roots.begin(), state_.roots.end(), holds)) continue;
      return Error{ErrorCode::kPathNotFound,
                   escape_control_bytes(name) + " lies in no root of the layer", "PATH",
                   "paths are relative to the current directory, or absolute"};
    }
    return {};
  }

  bool is_chosen(const std::string& path) const {
    return action_.arguments.empty() ||
           std::any_of(action_.arguments.begin(), action_.arguments.end(),
                       [&](const std::string& name) { return is_below(path, name); });
  }

  // Whoever reads a patch, a model among them: it shows nothing that commands did not see.
  bool is_hidden(const TouchedKey& key) const {
    const std::string path = absolute_path(state_, key);
    const auto holds = [&](const std::string& top) { return is_below(path, top); };
    const std::string& root = state_.roots[key.first];
    const auto& now = action_.writable;
    const bool is_writable = std::find(now.begin(), now.end(), root) != now.end();
    return is_narrowed(action_.hidden, root, is_writable, holds) ||
           is_narrowed(state_.hidden, root, true, holds) ||
           any_glob_holds(action_.hidden_globs, path) || any_glob_holds(state_.hidden_globs, path);
  }

  struct LeftOut {
    std::size_t gits_own = 0;
    std::size_t hidden = 0;
    std::size_t refused = 0;
    std::size_t unreadable = 0;
    std::size_t unsaid = 0;
  };

  void note(const LeftOut& left_out) {
    const auto add = [this](std::size_t count, const char* what) {
      if (count > 0) note_ += std::to_string(count) + " changes " + what + "\n";
    };
    add(left_out.gits_own, "in .git are left out");
    add(left_out.hidden, "of hidden files are left out");
    add(left_out.refused, "under names that git refuses are left out");
    add(left_out.unreadable, "of files that cannot be read are left out");
    add(left_out.unsaid, "that no patch carries are left out: --stat names them");
  }

  Result<std::string> patch(std::size_t root) {
    Sides sides;
    SBX_CHECK_OK(sides.open());
    // What becomes something else is deleted and made, and neither end of a rename: git apply would
    // look for it in vain.
    Sides others;
    SBX_CHECK_OK(others.open());
    const OwnedFd real = open_root(state_, root);
    std::size_t left = kMostOfAll;
    LeftOut left_out;
    std::string lines;
    for (const auto& [key, touched] : touched_) {
      if (key.first != root || !is_chosen(absolute_path(state_, key))) continue;
      if (is_gits_own(key.second)) {
        ++left_out.gits_own;
        continue;
      }
      if (is_hidden(key)) {
        ++left_out.hidden;
        continue;
      }
      Result<Blob> was = real_blob(real.get(), key.second, left);
      Result<Blob> is = was.ok() ? kept_blob(touched, key.second, left) : was.error();
      if (!is.ok() && is.error().code == ErrorCode::kTooLarge && action_.stat) {
        lines += sizes(key, touched, real.get());
        continue;
      }
      if (!is.ok()) return is.error();
      const Blob before = std::move(was).value();
      const Blob after = std::move(is).value();
      if (before.is_unreadable) {
        ++left_out.unreadable;
        continue;
      }
      if (before.mode == after.mode && before.bytes == after.bytes) {
        const std::string line = unsaid(key, touched);
        lines += line;
        if (!line.empty()) ++left_out.unsaid;
        continue;
      }
      if (!names_.takes(key.second, before.mode) || !names_.takes(key.second, after.mode)) {
        ++left_out.refused;
        continue;
      }
      const bool is_other =
          before.mode != 0 && after.mode != 0 && (before.mode & S_IFMT) != (after.mode & S_IFMT);
      Sides& its = is_other ? others : sides;
      SBX_CHECK_OK(its.add(false, key.second, before));
      SBX_CHECK_OK(its.add(true, key.second, after));
    }
    SBX_TRY(std::string text, sides.patch(action_.stat, true));
    if (!others.is_empty()) {
      SBX_TRY(const std::string more, others.patch(action_.stat, false));
      text += more;
    }
    if (action_.stat) left_out.unsaid = 0;
    note(left_out);
    return action_.stat ? text + lines : text;
  }

  // What is too large to be compared.
  static std::string sizes(const TouchedKey& key, const Touched& touched, int real) {
    struct stat before {};
    struct stat after {};
    if (!stat_beneath(real, key.second, before)) before.st_size = 0;
    if (const OwnedFd kept = open_kept(touched); fstat(kept.get(), &after) != 0) after.st_size = 0;
    return " " + escape_control_bytes(key.second) + " | Bin " + std::to_string(before.st_size) +
           " -> " + std::to_string(after.st_size) + " bytes\n";
  }

  // What git does not know: directories, attributes, modes but for one bit, what is special.
  // Nothing where what lies in a directory tells of it.
  std::string unsaid(const TouchedKey& key, const Touched& touched) const {
    const char was = touched.base.kind;
    const char is = touched.now.kind;
    const bool is_directory = was == BaseRecord::kDirectory || is == BaseRecord::kDirectory;
    const char* what = "special file";
    // Gone by now, or real by now.
    if (was != is && (is == BaseRecord::kFile || is == BaseRecord::kLink)) return {};
    if (was == is) {
      what = "mode or attributes";
    } else if (is_directory) {
      const auto next = touched_.upper_bound({key.first, key.second + "/"});
      if (next != touched_.end() && next->first.first == key.first &&
          is_below(next->first.second, key.second)) {
        return {};
      }
      what = is == BaseRecord::kDirectory ? "empty directory" : "empty directory, deleted";
    }
    return " " + escape_control_bytes(key.second) + (is_directory ? "/ (" : " (") + what + ")\n";
  }

  Done names() {
    Answer answer;
    for (const auto& [key, touched] : touched_) {
      const std::string path = absolute_path(state_, key);
      if (!is_chosen(path)) continue;
      const bool is_below_work = is_below(path, state_.workspace) && path != state_.workspace;
      answer.text +=
          git_quoted(is_below_work ? path.substr(state_.workspace.size() + 1) : path) + "\n";
    }
    return answer;
  }

  Done json(std::string_view text) {
    Answer answer;
    JsonWriter json(answer.text);
    json.begin_object();
    write_member(json, "name", action_.name);
    write_member(json, "kind", kept_kind_name(state_.kind));
    json.key("changes");
    json.begin_array();
    std::size_t left_out = 0;
    for (const auto& [key, touched] : touched_) {
      const std::string path = absolute_path(state_, key);
      if (!is_chosen(path)) continue;
      if (!names_.takes(key.second, touched.base) || !names_.takes(key.second, touched.now)) {
        ++left_out;
      }
      json.begin_object();
      write_member(json, "path", path);
      write_member(json, "kind", change_kind(touched.base, touched.now));
      write_member(json, "type", type_name(touched));
      json.end_object();
    }
    json.end_array();
    json.key("git_left_out");
    json.count(left_out);
    if (action_.patch) write_member(json, "patch", text);
    json.end_object();
    answer.text += '\n';
    return answer;
  }

  static const char* type_name(const Touched& touched) {
    switch (touched.now.kind == BaseRecord::kAbsent ? touched.base.kind : touched.now.kind) {
      case BaseRecord::kFile:
        return "file";
      case BaseRecord::kLink:
        return "symlink";
      case BaseRecord::kDirectory:
        return "directory";
      default:
        return "special";
    }
  }

  const Action& action_;
  const LayerState& state_;
  const GitNames names_;
  OpenedDirectories opened_;
  TouchedMap touched_;
  std::string note_;
};

}  // namespace

Done diff_layer(const Action& action) {
  Result<std::shared_ptr<KeptLayer>> found = find_layer(action, true);
  if (!found.ok()) return Refusal{found.error(), {}};
  const Action reached = in_roots(action, found.value()->state());
  return LayerDiff(reached, *found.value()).run();
}

}  // namespace sbx
