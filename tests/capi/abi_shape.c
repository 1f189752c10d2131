/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of sbx.h with nothing in them. Their debug information is the ABI that abidiff
 * compares with libsbx.so.1.abi; compiled with -Wmissing-prototypes, so that a function that has
 * left the header fails. A new function comes in here too (`capi_test.py --baseline` rewrites the
 * baseline). */
#include <stddef.h>

#include "sbx.h"

struct sbx_session {
  int unused;
};
struct sbx_error {
  int unused;
};

int sbx_open(const char* o, sbx_session** s, sbx_error** e) { return o == NULL || !s || !e; }
int sbx_call(sbx_session* s, const char* m, const char* p, char** r, sbx_error** e) {
  return !s || !m || !p || !r || !e;
}
int sbx_submit(sbx_session* s, const char* m, const char* p, uint64_t* i, sbx_error** e) {
  return !s || !m || !p || !i || !e;
}
int sbx_next(sbx_session* s, int t, char** v, sbx_error** e) { return !s || t || !v || !e; }
int sbx_fd(const sbx_session* s) { return s == NULL; }
int sbx_cancel(sbx_session* s, uint64_t i, sbx_error** e) { return !s || i || !e; }
const char* sbx_operator_token(const sbx_session* s) { return s ? "" : NULL; }
void sbx_close(sbx_session* s) { (void)s; }
void sbx_free(char* t) { (void)t; }
const char* sbx_error_code(const sbx_error* e) { return e ? "" : NULL; }
const char* sbx_error_message(const sbx_error* e) { return e ? "" : NULL; }
const char* sbx_error_where(const sbx_error* e) { return e ? "" : NULL; }
const char* sbx_error_hint(const sbx_error* e) { return e ? "" : NULL; }
void sbx_error_free(sbx_error* e) { (void)e; }
const char* sbx_version(void) { return ""; }
int sbx_abi_version(void) { return 0; }
