/* SPDX-License-Identifier: Apache-2.0
 *
 * sbx.h: run shell commands in a sandbox, from any language that can call C.
 *
 *     sbx_session *session = NULL;
 *     sbx_error *error = NULL;
 *     char *result = NULL;
 *     if (sbx_open("{\"profile\": \"default\", \"workspace\": \"/home/me/project\"}",
 *                  &session, &error) != 0 ||
 *         sbx_call(session, "run", "{\"command\": \"make test\"}", &result, &error) != 0) {
 *       fprintf(stderr, "%s: %s\n", sbx_error_code(error), sbx_error_message(error));
 *       sbx_error_free(error);
 *     } else {
 *       puts(result);   // the JSON result, see docs/result.md
 *     }
 *     sbx_free(result);
 *     sbx_close(session);
 *
 * A session is one helper process, `sbx-run serve`, which this library starts and talks to. The
 * process is no child that wait(2) would see, sends no SIGCHLD and hears no signal to the host's
 * process group (where the host is PID 1 or a subreaper, orphans are its own: sbx_close() reaps
 * this one). It ends with the session, and with the host however that ends, and every sandboxed
 * process with it. The library keeps no globals, installs no signal handler, reads no environment
 * variable (sbx-run itself does: the SBX_* ones are the operator's) and prints nothing.
 *
 * Texts are UTF-8, NUL-terminated JSON. Methods and their params are those of docs/sessions.md.
 *
 * Threads: every function may be called from any thread. One session may be used by any number of
 * threads at once; sbx_close() must be the last call of all to begin. A thread that is cancelled
 * (pthread_cancel) ends after the call that it is in. After fork() a session is the parent's: the
 * only call for it in the child is sbx_close(), which closes the child's copies of its descriptors;
 * every other one is an error there (session_failed).
 *
 * Functions that can fail answer -1 and, where `error` is not NULL, store an error that the caller
 * releases with sbx_error_free(). `error` is left alone on success.
 */
#ifndef SBX_H
#define SBX_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a function is added. A program built against 1 runs on every later one. */
#define SBX_ABI_VERSION 1

#if defined(__GNUC__)
#define SBX_API __attribute__((visibility("default")))
#else
#define SBX_API
#endif

/* A session: one profile, one workspace, the commands in it. Opaque. */
typedef struct sbx_session sbx_session;

/* What failed, where, and what would mend it. Opaque; immutable; may be read by many threads. */
typedef struct sbx_error sbx_error;

/* Opens a session.
 *
 * options_json: an object, or NULL for {}. Known keys, each optional:
 *   "profile"    string: name or file of the operator's profile (default "default")
 *   "workspace"  string: a directory; absent: one that the session makes and removes
 *   "flags"      array of strings: further options of `sbx-run serve`, such as "--ro", "/data"
 *   "program"    string: the sbx-run to start; absent: the one that was installed with this library
 *   "server_timeout_ms"  1 to 3600000 (default 30000): how long sbx-run may take to come up, and
 *                later to read a byte of a call, before it is given up with session_failed
 * Unknown keys are an error. These options are the operator's: never fill them from a model.
 * session: receives the handle; the caller gives it back with sbx_close().
 * Blocks until the session is up: some milliseconds; at most server_timeout_ms and a second.
 * Errors: bad_json, unknown_field, wrong_type, out_of_range, not_found (no sbx-run), not_executable
 * (it may not be executed), setup_failed (descriptors or processes have run out), session_failed,
 * and what sbx-run says of the profile and the flags. */
SBX_API int sbx_open(const char* options_json, sbx_session** session, sbx_error** error);

/* Calls a method and waits for its answer.
 *
 * method: any of docs/sessions.md, such as "run".
 * params_json: an object, or NULL for {}.
 * result_json: receives the answer, which the caller releases with sbx_free(); may be NULL.
 * A command that is refused or fails is an answer, not an error. A call is at most 16 MiB
 * (too_large). It waits for as long as the command runs: give a "timeout_ms" in the params, or
 * submit it, to be able to sbx_cancel() it from another thread. */
SBX_API int sbx_call(sbx_session* session, const char* method, const char* params_json,
                     char** result_json, sbx_error** error);

/* Sends a call and returns at once; its answer comes from sbx_next(). Blocks only while the session
 * reads no more, at most server_timeout_ms. While 64 MiB of events wait for sbx_next() it fails
 * with too_many. `id` receives the number that the answer will carry; never 0. */
SBX_API int sbx_submit(sbx_session* session, const char* method, const char* params_json,
                       uint64_t* id, sbx_error** error);

/* The next answer to a submitted call, or notification, in the order of arrival.
 *
 * timeout_ms: how long to wait; 0: not at all; -1: without end.
 * event_json: receives one of, to be released with sbx_free():
 *   {"id": N, "result": …}   {"id": N, "error": {"code", "message", "where", "hint"}}
 *   {"method": "task.output", "params": {…}}
 * They wait in memory until they are taken. Answers are never lost; but where 16 MiB wait, no more
 * task.output and task.match are kept, and where 20 MiB do, no notification at all. What was left
 * out is told at its place in the order:
 *   {"method": "events.dropped", "params": {"notifications": N, "bytes": N}}
 * ("output" with "since" brings the text again, "list" the states of tasks). A host that never asks
 * starts tasks with "follow": false.
 * Returns 1 with an event, 0 when none came in time, -1 when the session has ended (session_failed)
 * and everything that came before has been taken. */
SBX_API int sbx_next(sbx_session* session, int timeout_ms, char** event_json, sbx_error** error);

/* A descriptor that can be polled for reading: it is readable when sbx_next(session, 0, …) may have
 * something. Owned by the session; never read from it or close it. -1 in a forked child. */
SBX_API int sbx_fd(const sbx_session* session);

/* Asks the session to cancel a submitted call; its answer still comes (status "cancelled"). No
 * effect on one that has been answered. */
SBX_API int sbx_cancel(sbx_session* session, uint64_t id, sbx_error** error);

/* The secret that shows its bearer to be the operator, for clients of this session's own that may
 * approve commands. Owned by the session. A connection of this library is the operator's once it
 * has called "hello" with {"token": …}; never hand it to a model. "" in a forked child. */
SBX_API const char* sbx_operator_token(const sbx_session* session);

/* Ends the session: tasks get SIGTERM, and SIGKILL after two seconds. Returns when nothing of it is
 * left; sbx-run itself is killed where it has not ended in ten seconds. Calls that are in progress
 * in other threads fail with session_failed first; none may begin from now on. NULL is ignored. */
SBX_API void sbx_close(sbx_session* session);

/* Releases a text that this library answered. NULL is ignored. */
SBX_API void sbx_free(char* text);

/* The parts of an error; valid until sbx_error_free(). The code is one of `sbx-run schema errors`
 * and never renamed; where and hint may be empty. A NUL that they repeat is \x00. For NULL: "". */
SBX_API const char* sbx_error_code(const sbx_error* error);
SBX_API const char* sbx_error_message(const sbx_error* error);
SBX_API const char* sbx_error_where(const sbx_error* error);
SBX_API const char* sbx_error_hint(const sbx_error* error);
SBX_API void sbx_error_free(sbx_error* error);

/* The version of the library, such as "0.1.0"; static. */
SBX_API const char* sbx_version(void);
/* SBX_ABI_VERSION of the library, which may be higher than that of the header. */
SBX_API int sbx_abi_version(void);

#ifdef __cplusplus
}
#endif

#endif
