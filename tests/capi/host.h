/* SPDX-License-Identifier: Apache-2.0
 *
 * What the test hosts of the C ABI share: checks that end the process with a line on stderr, and
 * the sessions and runs that they are about. */
#ifndef SBX_TESTS_CAPI_HOST_H
#define SBX_TESTS_CAPI_HOST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sbx.h"

static const char* workspace;

#define CHECK(condition)                                                             \
  do {                                                                               \
    if (!(condition)) {                                                              \
      fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                       \
    }                                                                                \
  } while (0)

static inline void die(sbx_error* error, int line) {
  fprintf(stderr, "line %d: %s: %s [%s] (%s)\n", line, sbx_error_code(error),
          sbx_error_message(error), sbx_error_where(error), sbx_error_hint(error));
  exit(1);
}

#define OK(call)                          \
  do {                                    \
    if ((call) < 0) die(error, __LINE__); \
  } while (0)

static inline sbx_session* open_session(void) {
  sbx_session* session = NULL;
  sbx_error* error = NULL;
  char options[4096];
  snprintf(options, sizeof options, "{\"profile\": \"default\", \"workspace\": \"%s\"}", workspace);
  OK(sbx_open(options, &session, &error));
  CHECK(session != NULL);
  return session;
}

static inline void expect_call(sbx_session* session, const char* method, const char* params,
                               const char* wanted) {
  sbx_error* error = NULL;
  char* result = NULL;
  OK(sbx_call(session, method, params, &result, &error));
  if (strstr(result, wanted) == NULL) {
    fprintf(stderr, "%s is not in %s\n", wanted, result);
    exit(1);
  }
  sbx_free(result);
}

static inline void expect_run(sbx_session* session, const char* params, const char* wanted) {
  expect_call(session, "run", params, wanted);
}

#endif
