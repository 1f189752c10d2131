// SPDX-License-Identifier: Apache-2.0
// The planner: the same order of steps as bubblewrap's, since command lines rely on it. Pure.
#include "bwrap/plan.h"

#include <sched.h>
#include <sys/mount.h>

#include <algorithm>
#include <utility>

#include "launch/inside.h"
#include "plan/builder.h"
#include "sys/kernel.h"

namespace sbx::bwrap {
namespace {

constexpr std::uint64_t kPlain = sys::kMountAttrNosuid | sys::kMountAttrNodev;
constexpr std::uint64_t kReadOnly = kPlain | sys::kMountAttrReadOnly;
constexpr std::uint64_t kDevices = sys::kMountAttrNosuid;

std::string map_line(std::int64_t inside, std::int64_t outside) {
  return std::to_string(inside) + " " + std::to_string(outside) + " 1\n";
}

std::string below(const char* root, std::string_view path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  return std::string(root) + "/" + std::string(path);
}

// overlayfs reads ":" and "," as separators.
std::string escaped(const std::string& path) {
  std::string out = kOldRoot;
  for (const char c : path) {
    if (c == '\\' || c == ',' || c == ':') out += '\\';
    out += c;
  }
  return out;
}

std::string octal(unsigned mode) {
  std::string digits;
  for (; mode != 0; mode >>= 3) digits.insert(digits.begin(), static_cast<char>('0' + (mode & 7)));
  return "0" + digits;
}

class Planner {
 public:
  Planner(const Options& options, const Caller& caller) : options_(options), caller_(caller) {}

  LaunchPlan run(const std::vector<FilterProgram>& programs) {
    LaunchPlan& plan = builder_.plan();
    plan.passes_through = true;
    plan.has_pid_namespace = options_.unshare_pid;
    plan.sync_fd = options_.sync_fd;
    plan.clone_flags = clone_flags();
    set_command();
    builder_.add(OpKind::kNoNewPrivs);
    if (options_.starts_after_go()) builder_.add(OpKind::kAwaitGo);
    enter_user_namespace();
    make_root();
    for (const Action& action : options_.actions) add_action(action);
    leave_old_root();
    drop_privileges();
    if (options_.block_fd >= 0) builder_.add(OpKind::kAwaitFd).slot = options_.block_fd;
    if (options_.new_session) builder_.add(OpKind::kNewSession);
    if (options_.has_init()) {
      for (const std::string& path : options_.lock_files) at(OpKind::kLockFile, path);
      if (options_.die_with_parent) builder_.add(OpKind::kDieWithParent);
      // Until PID 1 is under the same filters; without any it is no freer than the command.
      if (!programs.empty()) builder_.add(OpKind::kNotDumpable);
      builder_.add(OpKind::kForkCommand);
    }
    add_working_directory();
    if (options_.die_with_parent) builder_.add(OpKind::kDieWithParent);
    for (const FilterProgram& program : programs) {
      Op& op = builder_.add(OpKind::kSeccompProgram);
      op.dev = plan.filter.size();
      op.ino = program.size();
      plan.filter.insert(plan.filter.end(), program.begin(), program.end());
    }
    at(OpKind::kExecute, options_.command.front());
    return std::move(plan);
  }

 private:
  Op& at(OpKind kind, std::string_view path, std::uint64_t flags = 0) {
    const std::uint32_t text = builder_.text(path);
    Op& op = builder_.add(kind);
    op.a = text;
    op.flags = flags;
    return op;
  }

  std::uint64_t clone_flags() const {
    std::uint64_t flags = CLONE_NEWNS;
    if (options_.unshare_user) flags |= CLONE_NEWUSER;
    if (options_.unshare_pid) flags |= CLONE_NEWPID;
    if (options_.unshare_net) flags |= CLONE_NEWNET;
    if (options_.unshare_ipc) flags |= CLONE_NEWIPC;
    if (options_.unshare_uts) flags |= CLONE_NEWUTS;
    if (options_.unshare_cgroup) flags |= CLONE_NEWCGROUP;
    return flags;
  }

  // execvp(3) with the PATH that the command gets.
  void set_command() {
    LaunchPlan& plan = builder_.plan();
    plan.argv = options_.command;
    plan.environment = options_.environment;
    const std::string& program = options_.command.front();
    if (program.find('/') != std::string::npos || program.empty()) {
      plan.executables.push_back(program);
    } else {
      const std::string path = variable("PATH").value_or("/bin:/usr/bin");
      for (std::size_t begin = 0; begin <= path.size();) {
        const std::size_t end = std::min(path.find(':', begin), path.size());
        const std::string directory = path.substr(begin, end - begin);
        plan.executables.push_back(directory.empty() ? program : directory + "/" + program);
        begin = end + 1;
      }
    }
    if (options_.argv0) plan.argv.front() = *options_.argv0;
    pwd_place_ = plan.environment.size();
    for (std::size_t i = 0; i < plan.environment.size(); ++i) {
      if (plan.environment[i].starts_with("PWD=")) pwd_place_ = i;
    }
    if (pwd_place_ == plan.environment.size()) plan.environment.emplace_back();
    plan.environment[pwd_place_] = "PWD=/";
  }

  std::optional<std::string> variable(std::string_view name) const {
    for (const std::string& entry : options_.environment) {
      if (entry.starts_with(name) && entry[name.size()] == '=')
        return entry.substr(name.size() + 1);
    }
    return std::nullopt;
  }

  bool writes_maps() const { return options_.unshare_user && options_.userns_block_fd < 0; }
  // devpts wants a root to own its nodes, so the first user namespace maps the caller to it and a
  // second one maps back.
  std::int64_t first_uid() const { return options_.needs_devpts() ? 0 : options_.uid; }
  std::int64_t first_gid() const { return options_.needs_devpts() ? 0 : options_.gid; }
  bool needs_second_user_namespace() const {
    return writes_maps() &&
           (first_uid() != options_.uid || first_gid() != options_.gid || options_.disable_userns);
  }

  void write(OpKind kind, std::string_view path, const std::string& text) {
    const std::uint32_t content = builder_.text(text);
    Op& op = at(kind, path);
    op.b = content;
    op.b_size = static_cast<std::uint32_t>(text.size());
  }

  void bound_capabilities() {
    builder_.add(OpKind::kBoundCapabilities).dev = options_.capabilities;
  }

  void enter_user_namespace() {
    if (options_.unshare_user || options_.userns_fd >= 0) bound_capabilities();
    if (options_.userns_fd >= 0) {
      Op& op = builder_.add(OpKind::kSetIds);
      op.dev = static_cast<std::uint64_t>(options_.uid);
      op.ino = static_cast<std::uint64_t>(options_.gid);
    }
    if (options_.unshare_net) builder_.add(OpKind::kLoopbackUp);
    if (!writes_maps()) return;
    write(OpKind::kWriteFile, "/proc/self/uid_map", map_line(first_uid(), caller_.uid));
    write(OpKind::kWriteFile, "/proc/self/setgroups", "deny\n");
    write(OpKind::kWriteFile, "/proc/self/gid_map", map_line(first_gid(), caller_.gid));
  }

  void make_root() {
    if (needs_second_user_namespace()) builder_.add(OpKind::kOpenProc);
    builder_.add(OpKind::kSlaveMounts);
    // Any place that surely exists: the pivot takes it away again.
    Op& base = at(OpKind::kMountTmpfs, "/tmp", MS_NODEV | MS_NOSUID);
    base.b = builder_.text("");
    at(OpKind::kEnterRoot, "/tmp");
    at(OpKind::kMakeDir, "newroot", 0755);
    builder_.bind_system("newroot", "newroot", 0);
    at(OpKind::kMakeDir, "oldroot", 0755);
    int overlays = 0;
    for (const Action& action : options_.actions) {
      if (action.kind != ActionKind::kTmpOverlay) continue;
      at(OpKind::kMakeDir, "tmp-overlay-upper-" + std::to_string(overlays), 0755);
      at(OpKind::kMakeDir, "tmp-overlay-work-" + std::to_string(overlays), 0755);
      ++overlays;
    }
    at(OpKind::kPivotUnder, "oldroot");
  }

  void leave_old_root() {
    at(OpKind::kDetach, kOldRoot);
    at(OpKind::kEnterRoot, kNewRoot);
    builder_.add(OpKind::kPivot);
  }

  void drop_privileges() {
    if (options_.userns2_fd >= 0) builder_.add(OpKind::kJoinUser).slot = options_.userns2_fd;
    if (needs_second_user_namespace()) {
      if (options_.disable_userns) {
        write(OpKind::kWriteProc, "sys/user/max_user_namespaces", "1");
      }
      builder_.add(OpKind::kUnshareUser);
      bound_capabilities();
      write(OpKind::kWriteProc, "self/uid_map", map_line(options_.uid, first_uid()));
      write(OpKind::kWriteProc, "self/gid_map", map_line(options_.gid, first_gid()));
    }
    if (options_.disable_userns || options_.assert_userns_disabled) {
      builder_.add(OpKind::kRefuseUser);
    }
    Op& keep = builder_.add(OpKind::kKeepCapabilities);
    keep.dev = options_.capabilities;
    // Root keeps what it has unless told otherwise.
    keep.flags = !options_.sets_capabilities && caller_.uid == 0 ? 1 : 0;
  }

  void add_working_directory() {
    if (options_.chdir) {
      builder_.plan().cwd = *options_.chdir;
      builder_.plan().environment[pwd_place_] = "PWD=" + *options_.chdir;
      at(OpKind::kChangeDir, *options_.chdir);
      return;
    }
    try_dir(caller_.cwd);
    if (const auto home = variable("HOME"); home) try_dir(*home);
  }

  void try_dir(const std::string& path) {
    const std::uint32_t entry = builder_.text("PWD=" + path);
    Op& op = at(OpKind::kTryDir, path);
    op.b = entry;
    op.slot = static_cast<std::int32_t>(pwd_place_);
  }

  // --- the file system ---

  void add_action(const Action& action) {
    const std::string& dest = action.dest;
    if (action.kind == ActionKind::kHostname) {
      at(OpKind::kSetHostname, dest);
      return;
    }
    if (action.kind == ActionKind::kChmod) {
      at(OpKind::kChmodInside, dest, static_cast<std::uint64_t>(action.perms));
      return;
    }
    make_parents(action);
    switch (action.kind) {
      case ActionKind::kBind:
      case ActionKind::kRoBind:
      case ActionKind::kDevBind:
        return add_bind(action);
      case ActionKind::kOverlay:
      case ActionKind::kTmpOverlay:
      case ActionKind::kRoOverlay:
        return add_overlay(action);
      case ActionKind::kProc:
        return add_proc(dest);
      case ActionKind::kDev:
        return add_dev(dest);
      case ActionKind::kTmpfs: {
        std::string options = "mode=" + octal(static_cast<unsigned>(action.perms));
        if (action.size != 0) options += ",size=" + std::to_string(action.size);
        at(OpKind::kNeedDir, dest, 0755);
        return mount(FileSystem::kTmpfs, dest, options, MS_NOSUID | MS_NODEV);
      }
      case ActionKind::kMqueue:
        at(OpKind::kNeedDir, dest, 0755);
        return mount(FileSystem::kMqueue, dest, "", 0);
      case ActionKind::kDir:
        at(OpKind::kNeedDir, dest, static_cast<std::uint64_t>(action.perms));
        return;
      case ActionKind::kFile:
        at(OpKind::kOpenInside, dest, static_cast<std::uint64_t>(action.perms));
        copy_data(action);
        return;
      case ActionKind::kBindData:
      case ActionKind::kRoBindData:
        return add_data(action);
      case ActionKind::kSymlink: {
        const std::uint32_t target = builder_.text(action.source);
        at(OpKind::kLinkInside, dest).b = target;
        return;
      }
      case ActionKind::kRemountRo:
        at(OpKind::kSetInside, dest, kReadOnly);
        return;
      case ActionKind::kHostname:
      case ActionKind::kChmod:
        return;
    }
  }

  // What its group, or others, cannot read gets parents that they cannot enter; so does what has
  // no mode of its own, such as a bind: bubblewrap's parents of mount points are private.
  void make_parents(const Action& action) {
    unsigned mode = 0755;
    if ((action.perms & 0070) == 0) mode &= ~0050U;
    if ((action.perms & 0007) == 0) mode &= ~0005U;
    at(OpKind::kMakeParents, action.dest, mode);
  }

  void bind(const std::string& source, std::string_view dest, std::uint64_t attributes,
            const Action* what = nullptr) {
    const std::uint32_t from = builder_.text(source);
    Op& op = at(OpKind::kBindTo, dest, attributes);
    op.b = from;
    if (what == nullptr) return;
    op.dev = what->dev;
    op.ino = what->ino;
  }

  void add_bind(const Action& action) {
    // Made as a file or a directory, whichever the source is.
    at(action.is_directory ? OpKind::kNeedDir : OpKind::kNeedFile, action.dest,
       action.is_directory ? 0755 : 0444);
    bind(below(kOldRoot, action.source), action.dest,
         action.kind == ActionKind::kRoBind    ? kReadOnly
         : action.kind == ActionKind::kDevBind ? kDevices
                                               : kPlain,
         &action);
  }

  void mount(FileSystem type, std::string_view dest, const std::string& options,
             std::uint64_t flags) {
    const std::uint32_t text = builder_.text(options);
    Op& op = at(OpKind::kMountTo, dest, flags);
    op.b = text;
    op.slot = static_cast<std::int32_t>(type);
  }

  void add_overlay(const Action& action) {
    at(OpKind::kNeedDir, action.dest, 0755);
    std::string options;
    if (action.kind == ActionKind::kOverlay) {
      options = "upperdir=" + escaped(action.source) + ",workdir=" + escaped(action.work) + ",";
    } else if (action.kind == ActionKind::kTmpOverlay) {
      const std::string index = std::to_string(tmp_overlays_++);
      options =
          "upperdir=/tmp-overlay-upper-" + index + ",workdir=/tmp-overlay-work-" + index + ",";
    }
    options += "lowerdir=";
    for (std::size_t i = 0; i < action.lowers.size(); ++i) {
      options += (i == 0 ? "" : ":") + escaped(action.lowers[i]);
    }
    mount(FileSystem::kOverlay, action.dest, options + ",userxattr", 0);
  }

  void add_proc(const std::string& dest) {
    at(OpKind::kNeedDir, dest, 0755);
    if (options_.unshare_pid || options_.pidns_fd >= 0) {
      mount(FileSystem::kProc, dest, "", MS_NOSUID | MS_NOEXEC | MS_NODEV);
    } else {
      bind(below(kOldRoot, "proc"), dest, kPlain);
    }
    at(OpKind::kCoverProc, dest, kReadOnly);
  }

  void add_dev(const std::string& dest) {
    at(OpKind::kNeedDir, dest, 0755);
    mount(FileSystem::kTmpfs, dest, "mode=0755", MS_NOSUID | MS_NODEV);
    for (const char* name : {"null", "zero", "full", "random", "urandom", "tty"}) {
      add_device(dest + "/" + name, std::string("dev/") + name);
    }
    for (const auto& [name, target] : {std::pair{"/stdin", "/proc/self/fd/0"},
                                       {"/stdout", "/proc/self/fd/1"},
                                       {"/stderr", "/proc/self/fd/2"},
                                       {"/fd", "/proc/self/fd"},
                                       {"/core", "/proc/kcore"},
                                       {"/ptmx", "pts/ptmx"}}) {
      const std::uint32_t text = builder_.text(target);
      at(OpKind::kLinkInside, dest + name).b = text;
    }
    at(OpKind::kNeedDir, dest + "/shm", 0755);
    at(OpKind::kNeedDir, dest + "/pts", 0755);
    mount(FileSystem::kDevpts, dest + "/pts", "newinstance,ptmxmode=0666,mode=620",
          MS_NOSUID | MS_NOEXEC);
    // The command can write to that terminal already; so ttyname(3) works.
    if (!caller_.terminal.empty()) add_device(dest + "/console", caller_.terminal);
  }

  void add_device(const std::string& dest, const std::string& source) {
    at(OpKind::kNeedFile, dest, 0444);
    bind(below(kOldRoot, source), dest, kDevices);
  }

  void copy_data(const Action& action) {
    const std::uint32_t dest = builder_.text(action.dest);
    Op& op = builder_.add(OpKind::kCopyData);
    op.a = dest;
    op.slot = action.fd;
  }

  void add_data(const Action& action) {
    const std::string file = "/bindfile" + std::to_string(bind_files_++);
    at(OpKind::kOpenOutside, file, static_cast<std::uint64_t>(action.perms));
    copy_data(action);
    at(OpKind::kNeedFile, action.dest, 0444);
    bind(file, action.dest, action.kind == ActionKind::kRoBindData ? kReadOnly : kPlain);
    at(OpKind::kUnlink, file);
  }

  const Options& options_;
  const Caller& caller_;
  PlanBuilder builder_;
  std::size_t pwd_place_ = 0;
  int tmp_overlays_ = 0;
  int bind_files_ = 0;
};

}  // namespace

LaunchPlan make_plan(const Options& options, const Caller& caller,
                     const std::vector<FilterProgram>& programs) {
  return Planner(options, caller).run(programs);
}

}  // namespace sbx::bwrap
