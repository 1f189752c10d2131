// SPDX-License-Identifier: Apache-2.0
// Rules about git: commands that lose work which was not committed, or history.
#include <algorithm>
#include <array>

#include "guard/finds.h"
#include "guard/rule.h"
#include "shell/arguments.h"
#include "shell/marks.h"

namespace sbx::guard {
namespace {

// The subcommand that this case is about, with its options; nullopt for another.
struct Git {
  std::string_view name;
  shell::Arguments arguments;
  Hit hit;
};

std::optional<Git> read_git(const Case& c, std::string_view names, std::string_view values = "",
                            std::initializer_list<std::string_view> long_values = {}) {
  const std::size_t at = git_subcommand(c.command);
  if (at == 0 || !shell::is_listed(c.command.words[at].text, names)) return std::nullopt;
  Git git{c.command.words[at].text,
          shell::Arguments(c.command, at + 1, values, long_values),
          {c.command.span, ""}};
  if (git.arguments.find("help") != nullptr) return std::nullopt;
  if (!git.arguments.operands().empty()) git.hit.target = git.arguments.operands().front()->text;
  return git;
}

// Of a work tree that is not shown whole, all that is not would be recorded as deleted.
std::optional<Hit> records_all(const Case& c) {
  if (!c.places.is_below_repository()) return std::nullopt;
  if (const auto git = read_git(c, "commit", "mFCct",
                                {"message", "file", "author", "date", "template", "reuse-message",
                                 "reedit-message", "fixup", "squash", "trailer", "cleanup"})) {
    return git->arguments.find('a', "all") != nullptr ? std::optional(git->hit) : std::nullopt;
  }
  if (const auto git = read_git(c, "add stage")) {
    const shell::Arguments& arguments = git->arguments;
    const auto& paths = arguments.operands();
    const bool is_all = arguments.find('A', "all") != nullptr ||
                        arguments.find('u', "update") != nullptr ||
                        arguments.find("no-ignore-removal") != nullptr;
    const bool is_top = std::any_of(paths.begin(), paths.end(), [](const shell::Word* path) {
      return path->text.starts_with(":/") || path->text.starts_with(":(top");
    });
    return is_top || (is_all && paths.empty()) ? std::optional(git->hit) : std::nullopt;
  }
  const auto git = read_git(c, "stash", "m", {"message"});
  if (!git) return std::nullopt;
  const auto& words = git->arguments.operands();
  const bool saves = words.empty() || words.front()->text == "save" ||
                     (words.front()->text == "push" && words.size() == 1);
  return saves ? std::optional(git->hit) : std::nullopt;
}

bool is_first(const Git& git, std::string_view names) {
  const auto& operands = git.arguments.operands();
  return !operands.empty() && shell::is_listed(operands.front()->text, names);
}

std::optional<Hit> resets(const Case& c) {
  const auto git = read_git(c, "reset read-tree checkout-index", "i");
  if (!git) return std::nullopt;
  const shell::Arguments& arguments = git->arguments;
  bool hit = arguments.find("hard") != nullptr || arguments.find("merge") != nullptr;
  if (git->name == "read-tree") {
    hit = arguments.find("reset") != nullptr && arguments.find('u') != nullptr;
  } else if (git->name == "checkout-index") {
    hit = arguments.find('f', "force") != nullptr && arguments.find("prefix") == nullptr;
  }
  return hit ? std::optional(git->hit) : std::nullopt;
}

std::optional<Hit> cleans(const Case& c) {
  const auto git = read_git(c, "clean", "e");
  // One that asks by itself is asked already.
  if (!git || git->arguments.find('n', "dry-run") != nullptr ||
      git->arguments.find('i', "interactive") != nullptr) {
    return std::nullopt;
  }
  return git->hit;
}

// Whether the name ends as those of files do, and those of branches hardly ever.
bool has_file_ending(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot != std::string_view::npos &&
         shell::is_listed(
             name.substr(dot + 1),
             "c cc cpp h hpp rs go py rb php java kt swift cs js jsx mjs ts tsx vue css scss "
             "html xml json jsonc yaml yml toml ini cfg conf lock mod sum sh sql md rst txt "
             "csv ipynb gradle cmake");
}

// A path rather than a branch, as far as that can be told.
bool looks_like_path(const shell::Word& word) {
  const bool is_told = word.known || !word.shape.empty();
  const std::string& text = word.known || !is_told ? word.text : word.shape;
  if (text.empty()) return false;
  constexpr char kListed[] = {shell::kStar, shell::kDeep, shell::kPicked, '*', '?', '[', '\0'};
  const bool has_ends = text[0] == '/' || text.ends_with('/') || shell::is_place_mark(text[0]) ||
                        text == "." || text == "..";
  return (is_told && has_ends) || text[0] == ':' || text[0] == '~' || text.starts_with("./") ||
         text.starts_with("../") || text.find_first_of(kListed) != std::string::npos ||
         has_file_ending(shell::base_name(text));
}

std::optional<Hit> checks_out(const Case& c) {
  const auto git = read_git(c, "checkout", "bB", {"conflict", "orphan", "pathspec-from-file"});
  if (!git) return std::nullopt;
  const shell::Arguments& arguments = git->arguments;
  const auto& operands = arguments.operands();
  const bool makes_branch = arguments.find('b') != nullptr || arguments.find('B') != nullptr ||
                            arguments.find("orphan") != nullptr ||
                            arguments.find('t', "track") != nullptr ||
                            arguments.find('d', "detach") != nullptr;
  if (arguments.find('p', "patch") != nullptr) return std::nullopt;
  if (arguments.find('f', "force") != nullptr) return git->hit;
  if (makes_branch) return std::nullopt;
  const bool names_paths =
      operands.size() > arguments.before_dashes() || arguments.before_dashes() > 1 ||
      arguments.find("pathspec-from-file") != nullptr ||
      std::any_of(operands.begin(), operands.end(), [&](const shell::Word* word) {
        return looks_like_path(*word) || is_placeholder(c, *word);
      });
  return names_paths ? std::optional(git->hit) : std::nullopt;
}

std::optional<Hit> restores(const Case& c) {
  const auto git = read_git(c, "restore switch", "scC", {"source", "conflict", "create", "orphan"});
  if (!git) return std::nullopt;
  const shell::Arguments& arguments = git->arguments;
  if (git->name == "switch") {
    const bool discards =
        arguments.find('f', "force") != nullptr || arguments.find("discard-changes") != nullptr;
    return discards ? std::optional(git->hit) : std::nullopt;
  }
  if (arguments.find('p', "patch") != nullptr) return std::nullopt;
  const bool only_index =
      arguments.find('S', "staged") != nullptr && arguments.find('W', "worktree") == nullptr;
  return only_index ? std::nullopt : std::optional(git->hit);
}

std::optional<Hit> drops_stash(const Case& c) {
  const auto git = read_git(c, "stash");
  return git && is_first(*git, "drop clear") ? std::optional(git->hit) : std::nullopt;
}

std::optional<Hit> deletes_branch(const Case& c) {
  // One that is there may be made anew at another commit.
  if (const auto git = read_git(c, "checkout switch", "bBcC",
                                {"force-create", "create", "orphan", "conflict"})) {
    const bool is_forced = git->name == "checkout"
                               ? git->arguments.find('B') != nullptr
                               : git->arguments.find('C', "force-create") != nullptr;
    return is_forced && !git->arguments.operands().empty() ? std::optional(git->hit) : std::nullopt;
  }
  const auto git = read_git(c, "branch", "u");
  if (!git) return std::nullopt;
  const shell::Arguments& arguments = git->arguments;
  if (arguments.find('D') != nullptr) return git->hit;
  const std::size_t names = arguments.operands().size();
  const bool is_forced = arguments.find('f', "force") != nullptr;
  // -M with one name renames the branch that is there, as hosts tell to do in a new repository.
  const bool renames = arguments.find('M') != nullptr || arguments.find('m', "move") != nullptr;
  const bool takes_name = is_forced || arguments.find('M') != nullptr || arguments.find('C');
  return takes_name && names > (renames ? 1 : 0) ? std::optional(git->hit) : std::nullopt;
}

std::optional<Hit> moves_tag(const Case& c) {
  const auto git = read_git(c, "tag", "mFun");
  if (!git) return std::nullopt;
  const shell::Arguments& arguments = git->arguments;
  const bool hit =
      arguments.find('d', "delete") != nullptr || arguments.find('f', "force") != nullptr;
  return hit ? std::optional(git->hit) : std::nullopt;
}

std::optional<Hit> drops_submodule(const Case& c) {
  const auto git = read_git(c, "submodule");
  return git && is_first(*git, "deinit") && git->arguments.find('f', "force") != nullptr
             ? std::optional(git->hit)
             : std::nullopt;
}

// Other systems of versions.
std::optional<Hit> reverts(const Case& c) {
  const shell::Arguments arguments(c.command, 1, "Rr", {"cwd", "repository", "rev", "config"});
  const auto& operands = arguments.operands();
  if (operands.empty() || arguments.find("help") != nullptr) return std::nullopt;
  const std::string_view verb = operands.front()->text;
  bool hit = false;
  if (c.program == "svn") {
    hit = verb == "revert" ||
          (verb == "cleanup" && (arguments.find("remove-unversioned") != nullptr ||
                                 arguments.find("remove-ignored") != nullptr));
  } else if (arguments.find('n', "dry-run") == nullptr) {
    // hg keeps a copy of a file that is reverted by its name.
    hit = (verb == "revert" && (arguments.find('a', "all") != nullptr ||
                                arguments.find('C', "no-backup") != nullptr)) ||
          (shell::is_listed(verb, "purge clean") && arguments.find('p', "print") == nullptr) ||
          (shell::is_listed(verb, "update up checkout co") &&
           arguments.find('C', "clean") != nullptr) ||
          shell::is_listed(verb, "strip rollback");
  }
  if (!hit) return std::nullopt;
  return Hit{c.command.span, operands.size() > 1 ? operands[1]->text : ""};
}

std::optional<Hit> forces_push(const Case& c) {
  const auto git = read_git(c, "push", "o");
  if (!git || git->arguments.find('n', "dry-run") != nullptr) return std::nullopt;
  const shell::Arguments& arguments = git->arguments;
  for (const std::string_view name :
       {"force", "force-with-lease", "force-if-includes", "mirror", "delete", "prune"}) {
    if (arguments.find(name) != nullptr) return git->hit;
  }
  if (arguments.find('f') != nullptr || arguments.find('d') != nullptr) return git->hit;
  for (const shell::Word* word : arguments.operands()) {
    const std::string& text = word->text;
    if (text.starts_with('+') || (text.starts_with(':') && text.size() > 1)) {
      return Hit{word->span, text};
    }
  }
  return std::nullopt;
}

// A worktree that the view does not show counts as gone for `prune`.
std::optional<Hit> removes_worktree(const Case& c) {
  const auto git = read_git(c, "worktree");
  if (!git) return std::nullopt;
  const bool is_forced = is_first(*git, "remove") && git->arguments.find('f', "force") != nullptr;
  const bool prunes = is_first(*git, "prune") && git->arguments.find('n', "dry-run") == nullptr;
  return is_forced || prunes ? std::optional(git->hit) : std::nullopt;
}

std::optional<Hit> removes_tracked(const Case& c) {
  const auto git = read_git(c, "rm");
  return git && git->arguments.find('f', "force") != nullptr &&
                 git->arguments.find("cached") == nullptr &&
                 git->arguments.find('n', "dry-run") == nullptr
             ? std::optional(git->hit)
             : std::nullopt;
}

std::optional<Hit> rewrites(const Case& c) {
  if (c.program == "git-filter-repo") return Hit{c.command.span, ""};
  const auto git = read_git(c, "filter-branch filter-repo update-ref symbolic-ref");
  if (!git) return std::nullopt;
  if (git->name == "update-ref" || git->name == "symbolic-ref") {
    return git->arguments.find('d', "delete") != nullptr || git->arguments.find("stdin") != nullptr
               ? std::optional(git->hit)
               : std::nullopt;
  }
  return git->hit;
}

std::optional<Hit> expires(const Case& c) {
  const auto git = read_git(c, "reflog gc prune");
  if (!git) return std::nullopt;
  const shell::Arguments& arguments = git->arguments;
  if (git->name == "reflog") {
    return is_first(*git, "expire delete") ? std::optional(git->hit) : std::nullopt;
  }
  if (git->name == "gc") {
    const std::string_view when = arguments.value('\0', "prune");
    return when == "now" || when == "all" ? std::optional(git->hit) : std::nullopt;
  }
  return arguments.find('n', "dry-run") != nullptr ? std::nullopt : std::optional(git->hit);
}

constexpr std::array kRules = {
    Rule{"destructive.git-reset", "git", resets, "uncommitted work is lost",
         "git reset --hard\n"
         "git reset --hard HEAD~3\n"
         "git reset --merge\n"
         "git read-tree --reset -u HEAD\n"
         "git checkout-index -f -a\n"
         "git -C sub reset --hard origin/main\n"
         "git -c core.editor=true --git-dir=.git reset --hard\n"
         "git fetch && git reset --hard origin/main",
         "git reset\n"
         "git reset --soft HEAD~1\n"
         "git reset HEAD file\n"
         "git log --grep=reset --hard"},
    // Where the workspace lies below the top of its repository.
    Rule{"destructive.git-above", "git", records_all,
         "records files above the workspace, which are not shown, as deleted",
         "git commit -a\n"
         "git commit -qam fix\n"
         "git commit --all -m x\n"
         "git add -A\n"
         "git add --update\n"
         "git add :/\n"
         "git stash\n"
         "git stash -u\n"
         "git stash push -m x\n"
         "git stash save x",
         "git commit -m a\n"
         "git commit -m -a\n"
         "git commit file\n"
         "git add -A .\n"
         "git add -u src\n"
         "git add file\n"
         "git stash pop\n"
         "git stash list\n"
         "git stash push -- src"},
    Rule{"destructive.git-clean", "git", cleans, "files that were never committed are removed",
         "git clean -f\n"
         "git clean -fdx\n"
         "git clean --force -d",
         "git clean -n\n"
         "git clean -fdn\n"
         "git clean -i\n"
         "git status"},
    Rule{"destructive.git-checkout", "git", checks_out, "changes in the files named are lost",
         "git checkout -- file.c\n"
         "git checkout .\n"
         "git checkout HEAD -- src\n"
         "git checkout HEAD~2 src/a.c\n"
         "git checkout -f main\n"
         "git checkout '*.c'\n"
         "git checkout \"$PWD/src/a.c\"\n"
         "git checkout $(git diff --name-only)\n"
         "git checkout src/a.c",
         "git checkout main\n"
         "git checkout -b topic\n"
         "git checkout -p\n"
         "git checkout --conflict diff3 main\n"
         "git checkout -b topic origin/main\n"
         "git checkout release/1.2\n"
         "git checkout -"},
    Rule{"destructive.git-restore", "git", restores, "changes in the files named are lost",
         "git restore file.c\n"
         "git restore .\n"
         "git restore --staged --worktree a\n"
         "git switch --discard-changes main\n"
         "git switch -f main",
         "git restore --staged file.c\n"
         "git restore -p\n"
         "git switch main\n"
         "git switch -c topic"},
    Rule{"destructive.git-stash", "git", drops_stash, "stashed work is lost",
         "git stash drop\n"
         "git stash clear\n"
         "git stash drop stash@{1}",
         "git stash\n"
         "git stash pop\n"
         "git stash list"},
    Rule{"destructive.git-branch", "git", deletes_branch, "commits that were not merged are lost",
         "git branch -D topic\n"
         "git branch -d -f topic\n"
         "git branch --delete --force topic\n"
         "git branch -f main HEAD~5\n"
         "git branch -M other main\n"
         "git branch -C other main\n"
         "git checkout -B topic v1\n"
         "git switch -C topic main",
         "git branch -d topic\n"
         "git branch -M main\n"
         "git branch -m other main\n"
         "git branch topic\n"
         "git checkout -B topic\n"
         "git switch -C topic\n"
         "git branch -a"},
    Rule{"destructive.git-tag", "git", moves_tag, "what the tag names may be found no more",
         "git tag -d v1\n"
         "git tag -f v1\n"
         "git tag -f -m x v1 HEAD",
         "git tag v1\n"
         "git tag -l 'v*'\n"
         "git tag -a v1 -m 'release -d'"},
    Rule{"destructive.git-submodule", "git", drops_submodule, "changes in the submodule are lost",
         "git submodule deinit -f --all\n"
         "git submodule deinit --force lib",
         "git submodule deinit lib\n"
         "git submodule update --init"},
    Rule{"destructive.revert", "hg svn", reverts, "changes that were not committed are lost",
         "hg revert --all\n"
         "hg purge\n"
         "hg update -C\n"
         "svn revert -R .\n"
         "svn cleanup --remove-unversioned",
         "hg revert a.c\n"
         "hg purge -p\n"
         "hg update\n"
         "svn update\n"
         "svn cleanup"},
    Rule{"destructive.git-push", "git", forces_push, "commits on the remote are lost",
         "git push --force\n"
         "git push -f origin main\n"
         "git push --force-with-lease\n"
         "git push --force-with-lease=main origin main\n"
         "git push origin +main\n"
         "git push origin :topic\n"
         "git push origin --delete topic\n"
         "git push --mirror backup\n"
         "git push -uf origin main",
         "git push\n"
         "git push origin main\n"
         "git push -u origin topic\n"
         "git push origin HEAD:refs/heads/x\n"
         "git push --tags\n"
         "git push --force --dry-run"},
    Rule{"destructive.git-worktree", "git", removes_worktree, "work in the worktree is lost",
         "git worktree remove --force ../wt\n"
         "git worktree remove -f wt\n"
         "git worktree prune -v",
         "git worktree remove wt\n"
         "git worktree prune --dry-run\n"
         "git worktree add ../wt\n"
         "git worktree list"},
    Rule{"destructive.git-rm", "git", removes_tracked, "changes in the files removed are lost",
         "git rm -f a.c\n"
         "git rm -rf src",
         "git rm a.c\n"
         "git rm -r --cached build\n"
         "git rm -rf --cached build"},
    Rule{"destructive.git-history", "git git-filter-repo", rewrites, "history is rewritten",
         "git filter-branch --tree-filter 'rm x' HEAD\n"
         "git filter-repo --path src\n"
         "git update-ref -d refs/heads/x\n"
         "git symbolic-ref -d HEAD",
         "git rebase -i HEAD~3\n"
         "git rebase main\n"
         "git replace HEAD HEAD~1\n"
         "git commit --amend --no-edit\n"
         "git commit -m 'rebase --amend'\n"
         "git rebase --abort\n"
         "git rebase --continue\n"
         "git merge main\n"
         "git pull --rebase"},
    Rule{"destructive.git-expire", "git", expires, "what could still be brought back is lost",
         "git reflog expire --expire=now --all\n"
         "git gc --prune=now\n"
         "git prune",
         "git reflog\n"
         "git gc\n"
         "git prune -n\n"
         "git remote prune origin"},
};

}  // namespace

std::span<const Rule> git_rules() { return kRules; }

}  // namespace sbx::guard
