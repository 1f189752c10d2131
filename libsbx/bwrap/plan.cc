// SPDX-License-Identifier: Apache-2.0
// The planner: the same order of steps as bubblewrap's, since command lines rely on it. Pure.
#include "bwrap/plan.h"

#include <sched.h>
#include <sys/mount.h>

#include <algorithm>
#include <utility>

#include "bwrap/operations.h"
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
    plan.clone_flags = clone_flags();
    set_command();
    builder_.add(op::NoNewPrivs{});
    if (options_.starts_after_go()) builder_.add(op::AwaitGo{});
    enter_user_namespace();
    make_root();
    for (const Action& action : options_.actions) add_action(action);
    leave_old_root();
    drop_privileges();
    // Before the wait, and after what clears it: a change of credentials (prctl(2)).
    if (options_.die_with_parent) builder_.add(op::DieWithLauncher{});
    if (options_.block_fd >= 0) builder_.add(op::AwaitFd{options_.block_fd});
    if (options_.new_session) builder_.add(op::NewSession{});
    if (options_.has_init()) {
      for (const std::string& path : options_.lock_files) builder_.add(op::LockFile{text(path)});
      builder_.add(op::ForkCommand{});
      if (options_.die_with_parent) builder_.add(op::DieWithLauncher{});  // a fork clears it too
    }
    add_working_directory();
    // Of PID 1, whose memory it is until the exec. Not earlier: its user looks for it in /proc.
    if (options_.has_init()) builder_.add(op::NotDumpable{});
    for (const FilterProgram& program : programs) {
      builder_.add(op::SeccompProgram{static_cast<std::uint32_t>(plan.filter.size()),
                                      static_cast<std::uint32_t>(program.size())});
      plan.filter.insert(plan.filter.end(), program.begin(), program.end());
    }
    builder_.add(op::Execute{text(options_.command.front())});
    return std::move(plan);
  }

 private:
  op::Text text(std::string_view value) { return builder_.text(value); }

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

  void write_map(std::string_view path, const std::string& line) {
    builder_.add(op::WriteFile{text(path), builder_.content(line)});
  }
  void write_proc(std::string_view path, const std::string& line) {
    builder_.add(op::WriteProc{text(path), builder_.content(line)});
  }

  void bound_capabilities() { builder_.add(op::BoundCapabilities{options_.capabilities}); }

  void enter_user_namespace() {
    if (options_.unshare_user || options_.userns_fd >= 0) bound_capabilities();
    if (options_.userns_fd >= 0) {
      builder_.add(op::SetIds{static_cast<std::uint32_t>(options_.uid),
                              static_cast<std::uint32_t>(options_.gid)});
    }
    if (options_.unshare_net) builder_.add(op::LoopbackUp{});
    if (!writes_maps()) return;
    write_map("/proc/self/uid_map", map_line(first_uid(), caller_.uid));
    write_map("/proc/self/setgroups", "deny\n");
    write_map("/proc/self/gid_map", map_line(first_gid(), caller_.gid));
  }

  void make_root() {
    if (needs_second_user_namespace()) builder_.add(op::OpenProc{});
    builder_.add(op::SlaveMounts{});
    // Any place that surely exists: the pivot takes it away again.
    builder_.add(op::Mount{FileSystem::kTmpfs, text("/tmp"), {}, MS_NODEV | MS_NOSUID});
    builder_.add(op::EnterRoot{text("/tmp")});
    make_dir("newroot");
    builder_.bind_system("newroot", "newroot", 0);
    make_dir("oldroot");
    int overlays = 0;
    for (const Action& action : options_.actions) {
      if (action.kind != ActionKind::kTmpOverlay) continue;
      make_dir("tmp-overlay-upper-" + std::to_string(overlays));
      make_dir("tmp-overlay-work-" + std::to_string(overlays));
      ++overlays;
    }
    builder_.add(op::PivotUnder{text("oldroot")});
  }

  void make_dir(std::string_view path) { builder_.add(op::MakeDir{text(path), 0755}); }

  void leave_old_root() {
    builder_.add(op::Detach{text(kOldRoot)});
    builder_.add(op::EnterRoot{text(kNewRoot)});
    builder_.add(op::Pivot{});
  }

  void drop_privileges() {
    if (options_.userns2_fd >= 0) builder_.add(op::JoinUser{options_.userns2_fd});
    if (needs_second_user_namespace()) {
      if (options_.disable_userns) {
        write_proc("sys/user/max_user_namespaces", "1");
      }
      builder_.add(op::UnshareUser{});
      bound_capabilities();
      write_proc("self/uid_map", map_line(options_.uid, first_uid()));
      write_proc("self/gid_map", map_line(options_.gid, first_gid()));
    }
    if (options_.disable_userns || options_.assert_userns_disabled) {
      builder_.add(op::RefuseUser{});
    }
    // Root keeps what it has unless told otherwise.
    const bool only_ambient = !options_.sets_capabilities && caller_.uid == 0;
    builder_.add(op::KeepCapabilities{options_.capabilities, only_ambient});
  }

  void add_working_directory() {
    if (options_.chdir) {
      builder_.plan().cwd = *options_.chdir;
      builder_.plan().environment[pwd_place_] = "PWD=" + *options_.chdir;
      builder_.add(op::ChangeDir{text(*options_.chdir)});
      return;
    }
    try_dir(caller_.cwd);
    if (const auto home = variable("HOME"); home) try_dir(*home);
  }

  void try_dir(const std::string& path) {
    builder_.add(
        op::TryDir{text(path), text("PWD=" + path), static_cast<std::uint32_t>(pwd_place_)});
  }

  // --- the file system ---

  void add_action(const Action& action) {
    const std::string& dest = action.dest;
    if (action.kind == ActionKind::kHostname) {
      builder_.add(op::SetHostname{text(dest)});
      return;
    }
    if (action.kind == ActionKind::kChmod) {
      builder_.add(op::ChmodInside{text(dest), mode_of(action)});
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
        need_dir(dest);
        return mount(FileSystem::kTmpfs, dest, options, MS_NOSUID | MS_NODEV);
      }
      case ActionKind::kMqueue:
        need_dir(dest);
        return mount(FileSystem::kMqueue, dest, "", 0);
      case ActionKind::kDir:
        builder_.add(op::NeedDir{text(dest), mode_of(action)});
        return;
      case ActionKind::kFile:
        builder_.add(op::OpenInside{text(dest), mode_of(action)});
        copy_data(action);
        return;
      case ActionKind::kBindData:
      case ActionKind::kRoBindData:
        return add_data(action);
      case ActionKind::kSymlink:
        builder_.add(op::LinkInside{text(dest), text(action.source)});
        return;
      case ActionKind::kRemountRo:
        builder_.add(op::SetInside{text(dest), kReadOnly});
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
    builder_.add(op::MakeParents{text(action.dest), mode});
  }

  void need_dir(std::string_view path) { builder_.add(op::NeedDir{text(path), 0755}); }
  void need_file(std::string_view path) { builder_.add(op::NeedFile{text(path), 0444}); }
  static std::uint32_t mode_of(const Action& action) {
    return static_cast<std::uint32_t>(action.perms);
  }

  void bind(const std::string& source, std::string_view dest, std::uint64_t attributes,
            const Action* what = nullptr) {
    const op::FileId file = what == nullptr ? op::FileId{} : op::FileId{what->dev, what->ino};
    builder_.add(op::BindTo{text(source), text(dest), attributes, file});
  }

  void add_bind(const Action& action) {
    // Made as a file or a directory, whichever the source is.
    if (action.is_directory) {
      need_dir(action.dest);
    } else {
      need_file(action.dest);
    }
    bind(below(kOldRoot, action.source), action.dest,
         action.kind == ActionKind::kRoBind    ? kReadOnly
         : action.kind == ActionKind::kDevBind ? kDevices
                                               : kPlain,
         &action);
  }

  void mount(FileSystem type, std::string_view dest, const std::string& options,
             std::uint64_t flags) {
    builder_.add(op::MountTo{type, text(dest), text(options), flags});
  }

  void add_overlay(const Action& action) {
    need_dir(action.dest);
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
    need_dir(dest);
    if (options_.unshare_pid || options_.pidns_fd >= 0) {
      mount(FileSystem::kProc, dest, "", MS_NOSUID | MS_NOEXEC | MS_NODEV);
    } else {
      bind(below(kOldRoot, "proc"), dest, kPlain);
    }
    builder_.add(op::CoverProc{text(dest), kReadOnly});
  }

  void add_dev(const std::string& dest) {
    need_dir(dest);
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
      builder_.add(op::LinkInside{text(dest + name), text(target)});
    }
    need_dir(dest + "/shm");
    need_dir(dest + "/pts");
    mount(FileSystem::kDevpts, dest + "/pts", "newinstance,ptmxmode=0666,mode=620",
          MS_NOSUID | MS_NOEXEC);
    // The command can write to that terminal already; so ttyname(3) works.
    if (!caller_.terminal.empty()) add_device(dest + "/console", caller_.terminal);
  }

  void add_device(const std::string& dest, const std::string& source) {
    need_file(dest);
    bind(below(kOldRoot, source), dest, kDevices);
  }

  void copy_data(const Action& action) { builder_.add(op::CopyData{text(action.dest), action.fd}); }

  void add_data(const Action& action) {
    const std::string file = "/bindfile" + std::to_string(bind_files_++);
    builder_.add(op::OpenOutside{text(file), mode_of(action)});
    copy_data(action);
    need_file(action.dest);
    bind(file, action.dest, action.kind == ActionKind::kRoBindData ? kReadOnly : kPlain);
    builder_.add(op::Unlink{text(file)});
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
