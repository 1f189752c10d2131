// SPDX-License-Identifier: Apache-2.0
// What libcap-ng's capng_change_id() asks of a user's account, and nothing here calls it: glibc's
// own would bring the name service switch, with DNS, into a static program. A call ends the
// program.
#include <grp.h>
#include <pwd.h>

#include <cstdlib>

extern "C" {

struct passwd* getpwuid(uid_t /*user*/) {
  std::abort();
}

int initgroups(const char* /*user*/, gid_t /*group*/) { std::abort(); }

}  // extern "C"
