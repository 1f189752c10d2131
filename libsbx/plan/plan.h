// SPDX-License-Identifier: Apache-2.0
// LaunchPlan: an ordered list of trivially copyable operations and an arena of strings. The child
// only walks the list; everything is decided before the clone, so the plan can be printed,
// compared, fuzzed and checked for order. Built by make_plan, executed by launch/.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/facts.h"
#include "host/view.h"
#include "model/promise.h"
#include "plan/filter.h"
#include "plan/operations.h"
#include "policy/environment.h"
#include "policy/policy.h"

namespace sbx {

// As op::Bind has it, but made by spawn() before the clone, since that takes the caller's rights.
struct MappedTree {
  Node source;  // an inode of 0: whatever is there
  std::uint64_t attributes = 0;
  IdMap ids;
};

struct LaunchPlan {
  std::uint64_t clone_flags = 0;    // CLONE_NEW* of the namespaces
  std::uint64_t made_by_steps = 0;  // those of them that the clone leaves to op::JoinNetwork
  std::vector<Op> ops;
  std::string arena;                     // NUL-terminated strings
  std::vector<MappedTree> mapped_trees;  // for op::AttachMapped
  std::vector<sock_filter> filter;
  bool filter_notifies = false;
  bool mediates_connect = false;             // the filter hands connect to the supervisor
  bool without_network = false;              // no namespace for it, and not the host's: no sockets
  bool holds_attributes = false;             // FilterSpec::read_only
  std::optional<OwnIds> own_ids;             // the only ones that the filter lets files be given to
  std::vector<int> reported_calls;           // whose notifications are answered with "continue"
  std::vector<std::string> denied_programs;  // masked, or not executable under Landlock
  bool has_pid_namespace = false;
  bool use_pty = false;
  bool awaits_command = false;  // argv, environment, executables and cwd come later
  // As bubblewrap: descriptors, umask and signals of the caller pass to the command, PID 1 stays
  // until nothing is left inside, nobody watches from outside.
  bool passes_through = false;
  bool shows_limits = false;  // in /sys/fs/cgroup
  bool shows_java_store = false;
  bool shows_queues = false;  // in /dev/mqueue

  std::vector<std::string> argv;
  std::vector<std::string> environment;  // "NAME=value"
  std::vector<std::string> executables;  // paths to try in turn

  // What is promised, for explain and for the answer.
  LayerSet wanted;
  int landlock_abi = 0;
  bool landlock_holds_sockets = false;  // refuses connects to socket files of the host
  int filter_allowed = 0;
  int filter_refused = 0;
  int filter_checked = 0;
  std::vector<LimitReport> limits;
  std::vector<Degradation> degraded;
  std::vector<std::string> warnings;
  std::vector<ViewProtect> report_created;  // named in denials if they exist afterwards
  std::vector<std::string> taken_away;      // of those: what stands there then is taken away
  std::vector<std::string> stubs;  // missing protected paths, held by a stub during the run
  std::string cwd;
  std::string home;
  // The visible paths and how they are shown, for explain: path → "rw" | "ro" | "none" | …
  std::vector<std::pair<std::string, std::string>> shown;
  bool reports_writes = false;     // that an overlay may not be able to copy up
  std::vector<std::string> named;  // paths whose refusal is reported
  // With overlay: host directory and its ReportTag::kOverlay index order.
  std::vector<std::string> overlays;
  ViewLayer layer;  // what lies over the writable roots where their writes are kept

  const char* text(op::Text at) const { return arena.data() + at.offset; }
};

struct PlanInput {
  const Policy& policy;
  const Request& request;
  const HostFacts& facts;
  const View& view;
  Environment environment;  // of the command
  bool use_pty = false;
  unsigned pty_rows = 24;
  unsigned pty_columns = 80;
  bool is_job = false;  // with a pty: it can be stopped from there, and PID 1 tells of that
  bool awaits_command = false;
  bool report_execs = false;         // that reach a denied program
  bool report_writes = false;        // that an overlay may not be able to copy up
  std::vector<std::string> named{};  // paths whose refusal is reported
  std::vector<LaidFile> files{};     // to be there in overlays
};

// Pure. Errors: kCwdNotVisible, kLayerUnavailable, kBadValue for system call names.
Result<LaunchPlan> make_plan(const PlanInput& input);

// The command's part of a plan: argv, environment, executables, cwd. For a plan that awaits it,
// `input` may hold another request and environment than the plan was made with. Pure.
// Errors: kNotFound when no program is named.
Status set_command(LaunchPlan& plan, const PlanInput& input);

// The order rules that every plan keeps: nothing is mounted after the pivot, capabilities go after
// the last mount, no_new_privs before Landlock and the filter, the filter last before exec; the
// clone makes every namespace in `wanted`, and a step confirms every other layer. Error: kInternal
// naming the step.
Status check_plan(const LaunchPlan& plan);

// CLONE_NEW* of one of the seven namespaces; 0 for other layers.
std::uint64_t namespace_flag(Layer layer);

}  // namespace sbx
