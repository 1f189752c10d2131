// SPDX-License-Identifier: Apache-2.0
// What libraries would look up by glibc's name services and its loader, and nothing here asks for:
// users (libcap-ng, libgit2), hosts (OpenSSL, libgit2), modules (OpenSSL). A static program would
// have to load them from the host's glibc. None is found.
#include <grp.h>
#include <netdb.h>
#include <pwd.h>

#include <cerrno>

extern "C" {

struct passwd* getpwuid(uid_t /*user*/) {
  errno = ENOENT;
  return nullptr;
}

int getpwuid_r(uid_t /*user*/, struct passwd* /*space*/, char* /*text*/, size_t /*size*/,
               struct passwd** found) {
  *found = nullptr;
  return 0;
}

int initgroups(const char* /*user*/, gid_t /*group*/) {
  errno = EPERM;
  return -1;
}

int getaddrinfo(const char* /*host*/, const char* /*service*/, const struct addrinfo* /*hints*/,
                struct addrinfo** /*found*/) {
  return EAI_FAIL;
}

void freeaddrinfo(struct addrinfo* /*found*/) noexcept {}

struct hostent* gethostbyname(const char* /*host*/) {
  h_errno = NO_RECOVERY;
  return nullptr;
}

// In dlopen's place, as the linker is told: glibc's own start needs the real one.
void* __wrap_dlopen(const char* /*file*/, int /*mode*/) {  // NOLINT(bugprone-reserved-identifier)
  return nullptr;
}

}  // extern "C"
