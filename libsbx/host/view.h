// SPDX-License-Identifier: Apache-2.0
// View: the facts of the file system that the planner needs, so that it stays pure: what each root
// is, which system directories exist, what protected paths lead to. Reading them changes nothing.
// Device and inode numbers travel along, so that the child can tell that nothing was swapped.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/globs.h"
#include "host/id_map.h"
#include "host/witnesses.h"
#include "model/denial.h"
#include "policy/policy.h"

namespace sbx {

enum class NodeKind : std::uint8_t { kMissing, kDirectory, kFile, kDevice, kSocket, kLink, kOther };

struct Node {
  std::string path;  // absolute, without symlinks below it
  NodeKind kind = NodeKind::kMissing;
  std::uint64_t dev = 0;
  std::uint64_t ino = 0;
  friend bool operator==(const Node&, const Node&) = default;
};

struct ViewRoot {
  Node node;
  Access access = Access::kReadOnly;
  std::string where;
  bool noexec = false;
  bool is_git = false;      // no root of the policy: a part of git's repository that lies outside
  bool is_managed = false;  // none either: what a managed file, `where`, makes of a place
  // Of one that is shown, where root is the caller and its owner is another: a command of root's,
  // which has no capabilities, may do there only as that owner what root may outside.
  std::optional<Owner> owner = std::nullopt;
  const std::string& path() const { return node.path; }
  friend bool operator==(const ViewRoot&, const ViewRoot&) = default;
};

// One protected path within a rw root, resolved.
struct ViewProtect {
  std::string root;                // the rw root that it lies in
  Node node;                       // kMissing: node.path is the path that must not be created
  std::vector<Node> parents = {};  // directories between the root and the path, outermost first
  bool report_missing = false;
  bool is_soft = false;    // without a mount view, where a stub closes the directory, only reported
  bool mask = false;       // a symlink that leads nowhere: masked, so that it never leads somewhere
  bool leads_git = false;  // missing and only reported: what is made there is taken away at once
  // Missing and not held: named in `denials` if it is there afterwards.
  bool is_only_reported() const { return node.kind == NodeKind::kMissing && report_missing; }
  friend bool operator==(const ViewProtect&, const ViewProtect&) = default;
};

struct Link {
  std::string path;
  std::string target;
  friend bool operator==(const Link&, const Link&) = default;
};

// Files of /etc that are our own inside, where the host has them or there is no /etc.
inline constexpr std::string_view kResolvConf = "resolv.conf";
inline constexpr std::string_view kHosts = "hosts";
inline constexpr auto kOwnEtcFiles = std::to_array<std::string_view>(
    {"passwd", "group", kHosts, "hostname", "nsswitch.conf", kResolvConf});

// Those that are our own where all of the host shows, too. The gateway knows the host's names: who
// finds them without it asks for addresses.
inline bool is_own_over_host(std::string_view name, NetworkMode mode) {
  return name == kResolvConf || (name == kHosts && is_relayed(mode));
}

// What lies over the writable roots where their writes are kept.
struct ViewLayer {
  struct Part {
    std::string root;
    std::vector<std::string> lowers;  // frozen upper directories in the store, the topmost first
    std::string upper;                // in the store; empty: `copy` stands in the root's place
    std::string work;
    std::string copy;  // absolute
    friend bool operator==(const Part&, const Part&) = default;
  };
  std::string store;  // the directory that all of them lie in; empty: there is no layer
  std::vector<Part> parts;
  friend bool operator==(const ViewLayer&, const ViewLayer&) = default;
};

// A file of a request, or a directory on the way to one, that is to be there in the overlay of a
// root, parents first.
struct LaidFile {
  std::string root;
  std::string path;  // from the top of what the overlay lies over: "/a/b"
  unsigned mode = 0;
  const std::string* content = nullptr;  // null: a directory
};

struct View {
  std::vector<Node> system;        // /usr, and /bin, /lib … where they are directories
  std::vector<Link> system_links;  // /bin → usr/bin …
  Node etc;                        // shown but for etc_private; kMissing: made anew
  IdMap etc_map;                   // made: it is shown as a tree of that
  std::vector<Node> etc_own;       // its entries that files of our own stand in the place of
  std::vector<Node> etc_private;   // its entries that are not shown
  std::string resolv_conf;         // the host's, where the network is the host's
  std::string hosts;               // likewise: its names of addresses
  std::vector<ViewRoot> roots;
  std::map<std::string, IdMap> owned;     // of roots with an owner: each is shown as a tree of that
  std::vector<std::string> not_writable;  // of roots with an owner: those that cannot be shown so
  std::vector<ViewRoot> absent;  // optional ones that are hidden or read-only once they appear
  std::vector<Link> led_to;  // roots that are shown, as they are named, where a symlink leads there
  std::vector<Link> left_out;  // optional, read-only ones, and of hidden_path, that are symlinks
  std::vector<std::string> seen_elsewhere;  // hidden files that have names which are not hidden
  std::vector<std::string> held_by_name;    // protected ones that have names which are not
  std::vector<ViewProtect> protects;
  std::vector<std::pair<std::string, Node>> caches;  // where each is shown, and what it is
  // Patterns of roots that hide, and of protected paths, and what matched.
  struct Pattern {
    Glob glob;
    bool hides = true;
    std::vector<std::string> matches = {};  // relative to the base
    friend bool operator==(const Pattern&, const Pattern&) = default;
  };
  std::vector<Pattern> patterns;
  std::vector<std::string> lifted;     // protected files that a root of their own makes writable
  std::vector<std::string> git_shown;  // what add_git_outside() shows besides
  std::string git_config;              // the caller's, as far as it is shown
  std::vector<Link> git_included;      // file → what it includes, which is not taken
  std::vector<Link> git_hidden;        // file of the caller's → the managed file that hides it
  bool git_is_above = false;           // of a repository above the workspace
  std::vector<Denial> git_denied;      // where git is led to what is not shown
  std::vector<Node> devices;           // /dev/null …, then the profile's own
  std::vector<Node> tools;             // base tools: files and directories shown
  std::vector<Link> tool_links;
  std::vector<Node> denied;  // programs that the command policy denies; symlinks as such
  std::vector<std::string> hidden_path;  // directories of PATH that are not shown, base system
  // Those with denied programs that nobody but root can change, where the caller is another.
  std::vector<std::string> fixed_directories;
  std::vector<std::string> proc_masks;  // existing entries of /proc that are masked
  std::vector<Node> host_masks;         // base host: directories covered by an empty one (/run …)
  std::string staging;                  // an existing directory to build the new root on
  Node home;                            // the caller's home, for base host and home host
  Node scratch;       // without a mount namespace: the session's own directory in place of /tmp,
  Node scratch_home;  // and of the private home
  // For Landlock without a mount view: directory → its entries, where a path inside is narrower.
  std::map<std::string, std::vector<Node>> listings;
  ViewLayer layer;  // that a kept layer makes of the roots
  friend bool operator==(const View&, const View&) = default;
};

// Errors: kPathNotFound for a root that does not exist and is not optional; kPathRefused for a
// root that is a symlink, a protected path that leads out, a device that is none.
// `search_path` serves base `tools` and the search for denied programs; `tool_names` are the
// programs to show there; `caller_home` has the caller's git settings. `has_mounts`: there will be
// a mount namespace. `witnesses`, where there are any, tell of what inspect_roots() does not look
// at. `expansions` may be null.
Result<View> inspect_view(const Policy& policy, const std::vector<std::string>& tool_names,
                          const std::string& search_path, const std::string& caller_home,
                          bool has_mounts, Witnesses* witnesses = nullptr,
                          Expansions* expansions = nullptr);

// The new root is built on a directory that covers none of what is shown in it; /sys has some of
// that in every view, and a container's image may have few directories. Again once `layer` is
// known.
void choose_staging(View& view);

// What commands can change: the policy's roots, protected paths and home, and nothing else. Errors:
// those of inspect_view().
Result<View> inspect_roots(const Policy& policy, Expansions* expansions = nullptr);

// Whether a look at its roots walks through directories.
bool has_patterns(const Policy& policy);

// Reads the entries of `directory` into view.listings, once. Bounded to 4096 entries.
Status list_directory(View& view, const std::string& directory);

}  // namespace sbx
