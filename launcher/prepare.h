// SPDX-License-Identifier: Apache-2.0
// Options → everything that a run needs: the profile, the policy, the request, the facts.
#pragma once

#include <memory>
#include <string>

#include "base/owned_fd.h"
#include "options.h"
#include "profile/store.h"
#include "run/http_process.h"
#include "run/run.h"
#include "session/session.h"
#include "verbs.h"

namespace sbx {

struct Prepared {
  SharedPolicy policy;
  Request request;
  HostFacts facts;
};

// Where installed profiles lie.
ProfileSearch profile_search(const Environment& environment);

// The part that a session and a single run share: everything but the command. The environment is
// copied. `tool`: the one that is called; empty: none. Errors: those of the profile, the flags, the
// variables and the workspace.
Result<SessionOptions> prepare_session(const RunOptions& options, const Invocation& invocation,
                                       std::string_view tool = {});

// The one of this process, which serves the policies of all its tools.
HttpProcess& session_http();

// Where a session works that these options start, when no flag says: the current directory, as for
// a run; empty where the profile makes a fresh one for each run. Errors: those of the profile, and
// of a directory that is no workspace unless it is named.
Result<std::string> default_workspace(const RunOptions& options, const Invocation& invocation,
                                      std::vector<std::string>& warnings);

// One command, by -c or behind `--`. Errors: kBadFlag.
Status check_command(const RunOptions& options, const Verb& verb);

// Errors: those of prepare_session(), of check_command() and of the working directory.
Result<Prepared> prepare(const RunOptions& options, const Invocation& invocation);
// The same; with an error `out` has what there was by then: its policy may name an audit log.
Status prepare(const RunOptions& options, const Invocation& invocation, Prepared& out);

// How long a FIFO may be without a writer; what may end the wait: -1, nothing.
struct StdinWait {
  std::int64_t timeout_ms = 120'000;
  int signal_fd = -1;
  int owner_fd = -1;
};

// What becomes descriptor 0 of a captured run: -1 stands for /dev/null. `opened` keeps a file open.
// Errors: kPathNotFound, kPathRefused, kBadDescriptor; kCancelled by a signal or the owner's end.
Result<int> choose_stdin(const std::string& source, OwnedFd& opened, const StdinWait& wait);

}  // namespace sbx
