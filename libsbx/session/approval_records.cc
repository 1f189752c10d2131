// SPDX-License-Identifier: Apache-2.0
// O_EXCL makes one of two processes the first, whichever way they run.
#include "session/approval_records.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "host_files/places.h"

namespace sbx {
namespace {

// Longer than an approval is good for: a clock that is set back must not make one good again.
constexpr std::chrono::hours kKeptFor{24};
constexpr std::size_t kMostRecords = 4096;

Error full(const std::string& path) {
  return Error{ErrorCode::kSetupFailed,
               "more than " + std::to_string(kMostRecords) + " approvals within a day", path,
               "remove the directory once all that it names are older than ten minutes"};
}

// Removes what is old. False: there is no room.
bool make_room(int directory) {
  Listing listing(directory, ".");
  if (!listing.is_open()) return false;
  std::size_t count = 0;
  while (const dirent* entry = listing.next()) {
    if (entry->d_name[0] == '.') continue;
    const auto made = approval_time(entry->d_name);
    const bool is_old = made && Approvals::Clock::now() - *made >= kKeptFor;
    if (is_old && unlinkat(directory, entry->d_name, 0) == 0) continue;
    if (++count >= kMostRecords) return false;
  }
  return true;
}

Result<bool> record(const std::string& path, const std::string& digest) {
  SBX_TRY(const OwnedFd directory, open_private_directory(path));
  if (!make_room(directory.get())) return full(path);
  const OwnedFd file(openat(directory.get(), digest.c_str(),
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.is_open()) return true;
  if (errno == EEXIST) return false;
  return call_failed(ErrorCode::kSetupFailed, "no approval can be recorded in " + path, path,
                     "make room in it, or set XDG_STATE_HOME to a directory of your own");
}

}  // namespace

Approvals::Record approval_record(const Environment& environment) {
  // The first place alone: with a second one to fall back on, an approval would count in both.
  return [path = approval_places(environment).front()](const std::string& digest) {
    return record(path, digest);
  };
}

Result<std::uint64_t> approval_nonce() {
  std::uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof nonce, 0) == sizeof nonce) return nonce;
  return call_failed(ErrorCode::kSetupFailed, "getrandom", "getrandom");
}

std::optional<NotApproved> decide_request(Approvals& approvals, const Policy& policy,
                                          const Request& request, const guard::Judgement& judgement,
                                          const std::string& cwd, const AskPerson& ask) {
  const std::string digest = approval_digest(policy, request, cwd, judgement);
  std::string failure;
  if (!request.approval.empty()) {
    failure = "the approval named is for another request, or used up, or too old";
  }
  const Result<bool> is_granted = approvals.take(request.approval, digest);
  if (is_granted.ok() && is_granted.value()) return std::nullopt;
  if (!is_granted.ok()) {
    const Error& why = is_granted.error();
    failure = "the approval is not used: " + why.message + " (" + why.hint + ")";
  }
  const Result<std::uint64_t> nonce = approval_nonce();
  if (!nonce.ok()) return NotApproved{nonce.error(), std::nullopt};
  Approval approval{stamp_approval(digest, Approvals::Clock::now(), nonce.value()),
                    judgement.findings, failure};
  const PersonSaid said = ask ? ask(approval) : PersonSaid{};
  if (said.is_yes) return std::nullopt;
  if (!ask) approvals.note({approval.digest, policy, request, cwd, approval.rules});
  const Finding& first = approval.rules.front();
  Error error{ErrorCode::kNeedsApproval,
              "a person has to decide: " + first.reason + (failure.empty() ? "" : "; " + failure),
              first.id, "the operator may allow it once with --approve " + approval.digest};
  return NotApproved{std::move(error), std::move(approval), said.signal};
}

}  // namespace sbx
