// SPDX-License-Identifier: Apache-2.0
// Start: what the supervisor sends of a policy → rules, secrets and their placeholders, the
// authority. A process that takes another one's place gets all of it from the state that this one
// left.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"
#include "http/authority.h"
#include "http/credentials.h"
#include "profile/profile.h"

namespace sbx::http {

struct Started {
  NetworkProfile network;
  std::vector<BoundSecret> secrets;
  std::vector<std::string> dropped;  // other variables that hold a secret
  std::unique_ptr<Authority> authority;
  OwnedFd bundle;  // for the inside, a file in memory: PEM, and behind it Java's store
  std::size_t bundle_size = 0;
  OwnedFd state;
};

struct StartFiles {
  std::string trust_path;
  OwnedFd rules;        // JSON, a NUL, the variables that the policy sets
  OwnedFd environment;  // the operator's, the only one that a credential's value comes from
  OwnedFd state;
};

// Before the jail. Errors: kBadValue with the pointer of a credential's source; kSetupFailed.
Result<Started> start(StartFiles files);

// In the jail: a policy that another process has started, by the state that it left; without a
// bundle. Errors: kSetupFailed.
Result<Started> resume(const OwnedFd& rules, OwnedFd state, X509_STORE* store);

// Into the state: what the next process is to go on with, when values are others.
Status write_state(const OwnedFd& state, const Authority& authority,
                   const std::vector<BoundSecret>& secrets);

}  // namespace sbx::http
