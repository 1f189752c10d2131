// SPDX-License-Identifier: Apache-2.0
// Which step failed, and why → the message that bubblewrap gives for it. Pure.
#include <cerrno>
#include <cstring>

#include "bwrap/operations.h"
#include "bwrap/plan.h"

namespace sbx::bwrap {
namespace {

using std::string;

struct Failure {
  const LaunchPlan& plan;
  int error;
  const char* detail;

  string why() const { return string(": ") + std::strerror(error); }
  string why_mount() const { return ": " + mount_error_words(error); }
  // The path as bubblewrap names it.
  string inside(op::Text path) const {
    const char* text = plan.text(path);
    while (*text == '/') ++text;
    return string(kNewRoot) + "/" + text;
  }
};

string octal(std::uint64_t mode) {
  string digits;
  for (; mode != 0; mode >>= 3) digits.insert(digits.begin(), static_cast<char>('0' + (mode & 7)));
  return "0" + digits;
}

string map_words(std::string_view path) {
  if (path.ends_with("uid_map")) return "setting up uid map";
  if (path.ends_with("gid_map")) return "setting up gid map";
  if (path.ends_with("setgroups")) return "error writing to setgroups";
  return "sysctl user.max_user_namespaces = 1";
}

// --- what depends on more than the path ---

string words_of(const op::WriteFile& step, const Failure& failure) {
  return map_words(failure.plan.text(step.path)) + failure.why();
}

string words_of(const op::WriteProc& step, const Failure& failure) {
  return map_words(failure.plan.text(step.path)) + failure.why();
}

string words_of(const op::SetIds& step, const Failure& failure) {
  return "unable to switch to uid " + std::to_string(step.uid) + ", gid " +
         std::to_string(step.gid) + failure.why();
}

string words_of(const op::LinkInside& step, const Failure& failure) {
  const string start = string("Can't make symlink at ") + failure.plan.text(step.path) + ": ";
  if (*failure.detail == '\0') return start + std::strerror(failure.error);
  if (failure.error == EEXIST) return start + "existing destination is " + failure.detail;
  if (failure.error == EINVAL) return start + "destination exists and is not a symlink";
  return start + "destination exists, and cannot read symlink target" + failure.why();
}

string words_of(const op::ChmodInside& step, const Failure& failure) {
  return "Can't chmod " + octal(step.mode) + " " + failure.plan.text(step.path) + failure.why();
}

string words_of(const op::BindTo& step, const Failure& failure) {
  return string("Can't bind mount ") + failure.plan.text(step.source) + " on " +
         failure.inside(step.path) + ": Unable to mount source on destination" +
         failure.why_mount();
}

string words_of(const op::MountTo& step, const Failure& failure) {
  const string dest = failure.inside(step.path);
  if (step.type != FileSystem::kOverlay) {
    return string("Can't mount ") + file_system_name(step.type) + " on " + dest +
           failure.why_mount();
  }
  return "Can't make overlay mount on " + dest + " with options " +
         failure.plan.text(step.options) +
         (failure.error == ELOOP ? ": Overlay directories may not overlap" : failure.why_mount());
}

string words_of(const op::SetInside& step, const Failure& failure) {
  const string dest = failure.inside(step.path);
  const string start = "Can't remount readonly on " + dest + ": ";
  if (failure.error == EINVAL) return start + "Unable to find \"" + dest + "\" in mount table";
  if (failure.error == ENOENT) return start + "realpath(destination)" + failure.why();
  return start + "Unable to apply mount flags: remount \"" + dest + "\"" + failure.why_mount();
}

string words_of(const op::CoverProc& step, const Failure& failure) {
  return "Can't remount readonly below " + failure.inside(step.path) + failure.why();
}

string words_of(const op::RefuseUser& /*step*/, const Failure& /*failure*/) {
  return "creation of new user namespaces was not disabled as requested";
}

string words_of(const op::LockFile& step, const Failure& failure) {
  const char* const what =
      failure.error == EAGAIN ? "Unable to lock file " : "Unable to open lock file ";
  return what + string(failure.plan.text(step.path)) + failure.why();
}

string words_of(const op::SeccompProgram& /*step*/, const Failure& failure) {
  if (failure.error != EINVAL) return "prctl(PR_SET_SECCOMP)" + failure.why();
  return "Unable to set up system call filtering as requested: prctl(PR_SET_SECCOMP) reported "
         "EINVAL. (Hint: this requires a kernel configured with CONFIG_SECCOMP and "
         "CONFIG_SECCOMP_FILTER.)";
}

// --- the table ---

struct Row {
  const OpRow* of;
  const char* words;  // "{}": what `subject` names
  op::Text (*subject)(const Op& step);
  bool is_mount;
  string (*special)(const Op& step, const Failure& failure);
};

template <Operation T>
op::Text subject_of(const Op& step) {
  if constexpr (requires(const T& own) { own.path; }) return step.as<T>()->path;
  if constexpr (requires(const T& own) { own.name; }) return step.as<T>()->name;
  if constexpr (requires(const T& own) { own.program; }) return step.as<T>()->program;
  return {};
}

template <Operation T>
constexpr Row plain(const char* words) {
  return {&kRowOf<T>, words, subject_of<T>, false, nullptr};
}

template <Operation T>
constexpr Row mount(const char* words) {
  return {&kRowOf<T>, words, subject_of<T>, true, nullptr};
}

template <Operation T>
constexpr Row special() {
  return {&kRowOf<T>, "", nullptr, false,
          [](const Op& step, const Failure& failure) { return words_of(*step.as<T>(), failure); }};
}

constexpr Row kRows[] = {
    plain<op::NoNewPrivs>("prctl(PR_SET_NO_NEW_PRIVS) failed"),
    special<op::WriteFile>(),
    special<op::WriteProc>(),
    special<op::SetIds>(),
    plain<op::LoopbackUp>("loopback: Failed RTM_NEWADDR"),
    plain<op::OpenProc>("Can't open /proc"),
    mount<op::SlaveMounts>("Failed to make / slave"),
    mount<op::Mount>("Failed to mount tmpfs"),
    plain<op::EnterRoot>("chdir {}"),
    plain<op::MakeDir>("Creating {} failed"),
    mount<op::BindSystem>("setting up newroot bind"),
    plain<op::PivotUnder>("pivot_root"),
    plain<op::Pivot>("pivot_root(/newroot)"),
    plain<op::Detach>("unmount old root"),
    plain<op::MakeParents>("Can't mkdir parents for {}"),
    plain<op::NeedDir>("Can't mkdir {}"),
    plain<op::NeedFile>("Can't create file at {}"),
    special<op::LinkInside>(),
    special<op::ChmodInside>(),
    plain<op::OpenInside>("Can't create file {}"),
    plain<op::OpenOutside>("Can't create tmpfile"),
    plain<op::CopyData>("Can't write data to file {}"),
    plain<op::Unlink>("unlink {}"),
    special<op::BindTo>(),
    special<op::MountTo>(),
    special<op::SetInside>(),
    special<op::CoverProc>(),
    plain<op::SetHostname>("Can't set hostname to {}"),
    plain<op::JoinUser>("Setting userns2 failed"),
    plain<op::UnshareUser>("unshare user ns"),
    special<op::RefuseUser>(),
    plain<op::BoundCapabilities>("Dropping capabilities from bounds"),
    plain<op::KeepCapabilities>("capset failed"),
    plain<op::NewSession>("setsid"),
    special<op::LockFile>(),
    plain<op::ForkCommand>("Can't fork for pid 1"),
    plain<op::DieWithLauncher>("prctl"),
    plain<op::ChangeDir>("Can't chdir to {}"),
    special<op::SeccompProgram>(),
    plain<op::Execute>("execvp {}"),
};

string filled(string words, const char* subject) {
  const std::size_t at = words.find("{}");
  return at == string::npos ? words : words.replace(at, 2, subject);
}

}  // namespace

string mount_error_words(int error) {
  if (error == ENOSPC) {
    return "Limit exceeded (ENOSPC). (Hint: Check that /proc/sys/fs/mount-max is sufficient, "
           "typically 100000.)";
  }
  return std::strerror(error);
}

string failure_words(const LaunchPlan& plan, const Op& step, int error, const char* detail) {
  const Failure failure{plan, error, detail};
  for (const Row& row : kRows) {
    if (row.of != step.row()) continue;
    if (row.special != nullptr) return row.special(step, failure);
    return filled(row.words, plan.text(row.subject(step))) +
           (row.is_mount ? failure.why_mount() : failure.why());
  }
  return step.describe(plan) + failure.why();
}

}  // namespace sbx::bwrap
