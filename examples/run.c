/* SPDX-License-Identifier: Apache-2.0
 *
 * run COMMAND: one command in a sandbox, its JSON result on stdout.
 *     cc run.c $(pkg-config --cflags --libs sbx) -o run */
#include <sbx.h>
#include <stdio.h>

/* JSON text of a string; the command line has no control characters but these. */
static void quote(const char* text, char* out, size_t size) {
  size_t at = 0;
  out[at++] = '"';
  for (; *text != '\0' && at + 8 < size; ++text) {
    if (*text == '"' || *text == '\\') out[at++] = '\\';
    if ((unsigned char)*text < 0x20) {
      at += (size_t)snprintf(out + at, size - at, "\\u%04x", (unsigned)*text);
    } else {
      out[at++] = *text;
    }
  }
  out[at++] = '"';
  out[at] = '\0';
}

int main(int argc, char** argv) {
  char command[4096];
  char params[5000];
  sbx_session* session = NULL;
  sbx_error* error = NULL;
  char* result = NULL;
  if (argc != 2) return 2;
  quote(argv[1], command, sizeof command);
  snprintf(params, sizeof params, "{\"command\": %s, \"timeout_ms\": 60000}", command);
  const int status = sbx_open(NULL, &session, &error) != 0
                         ? 1
                         : sbx_call(session, "run", params, &result, &error) != 0;
  if (status != 0) {
    fprintf(stderr, "%s: %s (%s)\n", sbx_error_code(error), sbx_error_message(error),
            sbx_error_hint(error));
  } else {
    puts(result);
  }
  sbx_free(result);
  sbx_error_free(error);
  sbx_close(session);
  return status;
}
