// SPDX-License-Identifier: Apache-2.0
// libgit2's archive names Kerberos, of which Debian has no archive, for a transport that is never
// used here: each call fails (GSS_S_FAILURE).
enum { kFailure = 13 << 16 };

const void* GSS_C_NT_HOSTBASED_SERVICE = 0;
unsigned gss_delete_sec_context(void) { return kFailure; }
unsigned gss_display_status(void) { return kFailure; }
unsigned gss_import_name(void) { return kFailure; }
unsigned gss_indicate_mechs(void) { return kFailure; }
unsigned gss_init_sec_context(void) { return kFailure; }
unsigned gss_release_buffer(void) { return kFailure; }
unsigned gss_release_name(void) { return kFailure; }
unsigned gss_release_oid_set(void) { return kFailure; }
