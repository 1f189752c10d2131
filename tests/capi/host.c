/* SPDX-License-Identifier: Apache-2.0
 *
 * A host of the C ABI, in C99: `host SCENARIO [ARG…]` does what its name says, exit 0; what did not
 * hold is a line on stderr, exit 1. capi_test.py runs them and looks from outside. */
#define _GNU_SOURCE
#include "host.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kThreads = 16, kCallsPerThread = 4, kCycles = 50, kPatienceMs = 20000 };

static void expect_open_error(const char* options, const char* code, const char* where) {
  sbx_session* session = NULL;
  sbx_error* error = NULL;
  CHECK(sbx_open(options, &session, &error) == -1);
  CHECK(session == NULL && error != NULL);
  if (strcmp(sbx_error_code(error), code) != 0 || strcmp(sbx_error_where(error), where) != 0) {
    fprintf(stderr, "%s: expected %s at '%s', got:\n", options, code, where);
    die(error, __LINE__);
  }
  CHECK(sbx_error_message(error)[0] != '\0');
  sbx_error_free(error);
  CHECK(sbx_open(options, &session, NULL) == -1);
}

static void open_errors(void) {
  expect_open_error("{", "bad_json", "");
  expect_open_error("[]", "wrong_type", "");
  expect_open_error("{\"profile\": 1}", "wrong_type", "/profile");
  expect_open_error("{\"flags\": \"--ro\"}", "wrong_type", "/flags");
  expect_open_error("{\"flags\": [1]}", "wrong_type", "/flags");
  expect_open_error("{\"server_timeout_ms\": 1.5}", "wrong_type", "/server_timeout_ms");
  expect_open_error("{\"server_timeout_ms\": 0}", "out_of_range", "/server_timeout_ms");
  expect_open_error("{\"server_timeout_ms\": 3600001}", "out_of_range", "/server_timeout_ms");
  expect_open_error("{\"workspace\": \"\"}", "bad_value", "/workspace");
  expect_open_error("{\"workspace\": \"/no/such\"}", "path_not_found", "/workspace");
  expect_open_error("{\"profile\": \"nope\"}", "profile_not_found", "/profile");
  expect_open_error("{\"flags\": [\"--profile\", \"nope\"]}", "profile_not_found", "--profile");
  expect_open_error("{\"profil\": \"default\"}", "unknown_field", "/profil");
  expect_open_error("{\"flags\": [\"a\\u0000b\"]}", "bad_value", "/flags");
  expect_open_error("{\"profile\": \"a\\u0000b\"}", "bad_value", "/profile");
  expect_open_error("{\"program\": \"/bin/true\\u0000b\"}", "bad_value", "/program");
  expect_open_error("{\"a\\u0000b\": 1}", "unknown_field", "/a\\x00b");
  expect_open_error("{\"flags\": [\"--ro\"]}", "bad_flag", "--ro");
  expect_open_error("{\"program\": \"/nonexistent/sbx-run\"}", "not_found",
                    "execve(/nonexistent/sbx-run)");
  expect_open_error("{\"program\": \"/bin/true\"}", "session_failed", "");
  expect_open_error("{\"program\": \"/etc/passwd\"}", "not_executable", "execve(/etc/passwd)");
  expect_open_error("{\"program\": \"/etc/passwd/x\"}", "not_found", "execve(/etc/passwd/x)");
  /* What sbx-run itself says. */
  sbx_session* session = NULL;
  sbx_error* error = NULL;
  CHECK(sbx_open("{\"profile\": \"no-such-profile\"}", &session, &error) == -1);
  CHECK(strcmp(sbx_error_code(error), "internal") != 0);
  CHECK(strstr(sbx_error_message(error), "no-such-profile") != NULL);
  sbx_error_free(error);
  error = NULL;
  CHECK(sbx_open("{\"flags\": [\"--no-such-flag\"]}", &session, &error) == -1);
  CHECK(strcmp(sbx_error_code(error), "bad_flag") == 0);
  sbx_error_free(error);
  error = NULL;
  CHECK(sbx_open("{}", NULL, &error) == -1);
  CHECK(strcmp(sbx_error_where(error), "session") == 0);
  sbx_error_free(error);
  CHECK(strcmp(sbx_error_code(NULL), "") == 0);
  sbx_error_free(NULL);
  sbx_free(NULL);
  sbx_close(NULL);
}

static void expect_call_error(sbx_session* session, const char* method, const char* params,
                              const char* code, const char* where) {
  sbx_error* error = NULL;
  char* result = NULL;
  CHECK(sbx_call(session, method, params, &result, &error) == -1);
  CHECK(result == NULL);
  if (strcmp(sbx_error_code(error), code) != 0 || strcmp(sbx_error_where(error), where) != 0) {
    fprintf(stderr, "%s %s: expected %s at '%s', got:\n", method, params, code, where);
    die(error, __LINE__);
  }
  sbx_error_free(error);
}

static void expect_message(sbx_session* session, const char* params, const char* wanted) {
  sbx_error* error = NULL;
  CHECK(sbx_call(session, "run", params, NULL, &error) == -1);
  if (strstr(sbx_error_message(error), wanted) == NULL) die(error, __LINE__);
  sbx_error_free(error);
}

static void call_errors(void) {
  sbx_session* session = open_session();
  expect_message(session, "{\"command\": \"echo a\\u0000b\"}", "\"echo a\\x00b\"");
  expect_message(session, "{\"command\": \"\xff\"}", "(byte 14)");
  expect_message(session, "{\"command\": x}", "(byte 13)");
  expect_call_error(session, "run", "{\"a\\u0000b\": 1}", "unknown_field", "/a\\x00b");
  expect_call_error(session, "run", "{\"command\": \"true\", \"timeout_ms\": -1}", "out_of_range",
                    "/timeout_ms");
  expect_call_error(session, "run", "{\"comand\": \"true\"}", "unknown_field", "/comand");
  expect_call_error(session, "no_such", NULL, "unknown_method", "");
  expect_call_error(session, "run\"\n", NULL, "unknown_method", "");
  expect_call_error(session, "run", "[]", "wrong_type", "");
  expect_call_error(session, "run", "{\"command\":", "bad_json", "");
  expect_call_error(session, "run", "{\"command\": \"a\", \"command\": \"b\"}", "duplicate_key",
                    "/command");
  expect_call_error(session, NULL, NULL, "bad_value", "method");
  expect_call_error(NULL, "run", NULL, "bad_value", "session");
  /* A line break between tokens is no second message. */
  expect_run(session, "{\"command\":\n\r\n\"echo o\\\\ne\"\n}", "\"exit_code\":0");
  sbx_close(session);
}

static void run(void) {
  sbx_session* session = open_session();
  expect_run(session, "{\"command\": \"echo out; echo err >&2; exit 3\"}", "\"exit_code\":3");
  expect_run(session, "{\"argv\": [\"echo\", \"a b\"]}", "\"stdout\":\"a b\\n\"");
  expect_run(session, "{\"command\": \"head -c 3000000 /dev/zero | tr '\\\\0' x\"}",
             "\"stdout_bytes\":3000000");
  sbx_error* error = NULL;
  OK(sbx_call(session, "list", NULL, NULL, &error));
  CHECK(strlen(sbx_operator_token(session)) >= 32);
  CHECK(strcmp(sbx_operator_token(NULL), "") == 0);
  CHECK(sbx_abi_version() >= SBX_ABI_VERSION);
  CHECK(sbx_version()[0] != '\0');
  sbx_close(session);
}

struct worker {
  sbx_session* session;
  int number;
};

static void* work(void* argument) {
  const struct worker* worker = argument;
  for (int i = 0; i < kCallsPerThread; ++i) {
    char params[128];
    char wanted[64];
    snprintf(params, sizeof params, "{\"command\": \"echo t%d.%d\"}", worker->number, i);
    snprintf(wanted, sizeof wanted, "\"stdout\":\"t%d.%d\\n\"", worker->number, i);
    expect_run(worker->session, params, wanted);
  }
  return NULL;
}

static void threads(void) {
  sbx_session* session = open_session();
  pthread_t ids[kThreads];
  struct worker workers[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    workers[i].session = session;
    workers[i].number = i;
    CHECK(pthread_create(&ids[i], NULL, work, &workers[i]) == 0);
  }
  /* One more takes events meanwhile: none of them is lost, none of the answers goes astray. */
  sbx_error* error = NULL;
  uint64_t id = 0;
  OK(sbx_submit(session, "run", "{\"command\": \"echo event\"}", &id, &error));
  char* event = NULL;
  CHECK(sbx_next(session, kPatienceMs, &event, &error) == 1);
  CHECK(strstr(event, "event\\n") != NULL);
  sbx_free(event);
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_join(ids[i], NULL) == 0);
  sbx_close(session);
}

static void expect_id(const char* event, uint64_t id) {
  char wanted[64];
  snprintf(wanted, sizeof wanted, "{\"id\":%llu,", (unsigned long long)id);
  if (strncmp(event, wanted, strlen(wanted)) != 0) {
    fprintf(stderr, "%s does not begin with %s\n", event, wanted);
    exit(1);
  }
}

static int is_readable(const sbx_session* session, int timeout_ms) {
  struct pollfd ready;
  ready.fd = sbx_fd(session);
  ready.events = POLLIN;
  ready.revents = 0;
  return poll(&ready, 1, timeout_ms) == 1;
}

/* The next event as an event loop takes it: poll, then take without waiting. */
static char* polled(sbx_session* session) {
  sbx_error* error = NULL;
  char* event = NULL;
  for (int i = 0; i < 10000; ++i) {
    CHECK(is_readable(session, kPatienceMs));
    const int got = sbx_next(session, 0, &event, &error);
    if (got < 0) die(error, __LINE__);
    if (got == 1) return event;
  }
  CHECK(!"an event within 10,000 wakes");
  return NULL;
}

static void events(void) {
  sbx_session* session = open_session();
  sbx_error* error = NULL;
  char* event = NULL;
  uint64_t slow = 0;
  uint64_t fast = 0;
  uint64_t bad = 0;
  CHECK(sbx_next(session, 0, &event, &error) == 0);
  CHECK(sbx_next(session, 20, &event, &error) == 0);
  CHECK(!is_readable(session, 0));
  OK(sbx_submit(session, "run", "{\"command\": \"sleep 1000\"}", &slow, &error));
  OK(sbx_submit(session, "run", "{\"command\": \"echo fast\"}", &fast, &error));
  CHECK(slow != 0 && fast != 0 && slow != fast);
  event = polled(session);
  expect_id(event, fast);
  sbx_free(event);
  OK(sbx_cancel(session, slow, &error));
  event = polled(session);
  expect_id(event, slow);
  CHECK(strstr(event, "\"status\":\"cancelled\"") != NULL);
  sbx_free(event);
  OK(sbx_cancel(session, slow, &error));
  OK(sbx_cancel(session, 123456789, &error));
  OK(sbx_submit(session, "run", "{\"command\": 5}", &bad, &error));
  event = polled(session);
  expect_id(event, bad);
  CHECK(strstr(event, "\"error\":{\"code\":\"wrong_type\"") != NULL);
  sbx_free(event);
  OK(sbx_call(session, "start", "{\"command\": \"echo one\"}", NULL, &error));
  int has_output = 0;
  int has_exit = 0;
  for (int i = 0; i < 10 && !has_exit; ++i) {
    event = polled(session);
    has_output |= strstr(event, "{\"method\":\"task.output\"") == event &&
                  strstr(event, "\"text\":\"one\\n\"") != NULL;
    has_exit |= strstr(event, "{\"method\":\"task.exit\"") == event;
    sbx_free(event);
  }
  CHECK(has_output && has_exit);
  CHECK(!is_readable(session, 0));
  /* The end is an event too, and stays one. */
  OK(sbx_submit(session, "shutdown", NULL, &bad, &error));
  int got = 1;
  for (int i = 0; i < 10 && got >= 0; ++i) {
    CHECK(is_readable(session, kPatienceMs));
    got = sbx_next(session, kPatienceMs, &event, &error);
    if (got == 1) sbx_free(event);
  }
  CHECK(got == -1);
  CHECK(strcmp(sbx_error_code(error), "session_failed") == 0);
  sbx_error_free(error);
  CHECK(is_readable(session, 0));
  CHECK(sbx_call(session, "list", NULL, NULL, NULL) == -1);
  CHECK(sbx_submit(session, "list", NULL, &bad, NULL) == -1);
  sbx_close(session);
}

static volatile sig_atomic_t child_signals;

static void on_child(int number) {
  (void)number;
  ++child_signals;
}

/* Opens, runs and closes; no signal comes and wait(2) knows of nobody. */
static void sigchld(const char* disposition) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = strcmp(disposition, "ignored") == 0 ? SIG_IGN : on_child;
  CHECK(sigaction(SIGCHLD, &action, NULL) == 0);
  for (int i = 0; i < 3; ++i) {
    sbx_session* session = open_session();
    errno = 0;
    CHECK(waitpid(-1, NULL, WNOHANG | __WALL) == -1 && errno == ECHILD);
    expect_run(session, "{\"command\": \"exit 7\"}", "\"exit_code\":7");
    CHECK(waitpid(-1, NULL, WNOHANG | __WALL) == -1 && errno == ECHILD);
    sbx_close(session);
    CHECK(waitpid(-1, NULL, WNOHANG | __WALL) == -1 && errno == ECHILD);
  }
  sbx_session* session = NULL;
  CHECK(sbx_open("{\"program\": \"/nonexistent\"}", &session, NULL) == -1);
  CHECK(waitpid(-1, NULL, WNOHANG | __WALL) == -1 && errno == ECHILD);
  CHECK(child_signals == 0);
  struct sigaction after;
  CHECK(sigaction(SIGCHLD, NULL, &after) == 0 && after.sa_handler == action.sa_handler);
  sigset_t mask;
  CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0);
  for (int number = 1; number < 32; ++number) CHECK(sigismember(&mask, number) == 0);
}

static void* opens(void* out) {
  *(sbx_session**)out = open_session();
  return NULL;
}

/* A parent-death signal would follow the thread. */
static void thread_ends(void) {
  sbx_session* session = NULL;
  pthread_t id;
  CHECK(pthread_create(&id, NULL, opens, &session) == 0);
  CHECK(pthread_join(id, NULL) == 0);
  const struct timespec while_it_would_die = {0, 300000000};
  nanosleep(&while_it_would_die, NULL);
  expect_run(session, "{\"command\": \"echo there\"}", "there");
  sbx_close(session);
}

/* Says "ready" with a task and a run going on, and waits to be killed. */
static void stay(void) {
  sbx_session* session = open_session();
  sbx_error* error = NULL;
  uint64_t id = 0;
  char task[5000];
  char command[5000];
  snprintf(task, sizeof task, "{\"command\": \"trap '' TERM; sleep 1000 & sleep 1000; : %s\"}",
           workspace);
  snprintf(command, sizeof command, "{\"command\": \"sleep 1000; : %s\"}", workspace);
  OK(sbx_call(session, "start", task, NULL, &error));
  OK(sbx_submit(session, "run", command, &id, &error));
  expect_run(session, "{\"command\": \"true\"}", "\"exit_code\":0");
  puts("ready");
  fflush(stdout);
  for (;;) pause();
}

static void heap(void) {
  const size_t size = (size_t)1 << 30;
  char* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  for (size_t i = 0; i < size; i += 4096) memory[i] = 1;
  run();
}

static int open_descriptors(void) {
  DIR* directory = opendir("/proc/self/fd");
  CHECK(directory != NULL);
  int count = 0;
  while (readdir(directory) != NULL) ++count;
  closedir(directory);
  return count;
}

static void descriptors(void) {
  sbx_close(open_session());
  const int before = open_descriptors();
  for (int i = 0; i < kCycles; ++i) {
    sbx_close(open_session());
    CHECK(sbx_open("{\"program\": \"/nonexistent\"}", &(sbx_session*){NULL}, NULL) == -1);
  }
  CHECK(open_descriptors() == before);
}

/* A fork that never execs holds copies of everything: the session ends all the same when its owner
 * closes it, and the fork's own close does nothing to it. */
static void forks(void) {
  sbx_session* session = open_session();
  int gate[2];
  CHECK(pipe(gate) == 0);
  const pid_t first = fork();
  CHECK(first >= 0);
  if (first == 0) {
    CHECK(sbx_fd(session) == -1 && strcmp(sbx_operator_token(session), "") == 0);
    sbx_close(session);
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(first, &status, 0) == first && status == 0);
  CHECK(sbx_fd(session) >= 0 && strcmp(sbx_operator_token(session), "") != 0);
  const pid_t second = fork();
  CHECK(second >= 0);
  if (second == 0) {
    char byte = 0;
    close(gate[1]);
    _exit((int)read(gate[0], &byte, 1));
  }
  expect_run(session, "{\"command\": \"echo whole\"}", "whole");
  struct timespec begin;
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  sbx_close(session);
  clock_gettime(CLOCK_MONOTONIC, &end);
  /* Half of what it takes to give up waiting and kill the helper. */
  CHECK(end.tv_sec - begin.tv_sec < 5);
  close(gate[1]);
  CHECK(waitpid(second, NULL, 0) == second);
}

/* An orphan becomes a child of the host's where the host is a subreaper, or PID 1 of a container:
 * it leaves no zombie there. */
static void subreaper(void) {
  CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
  sbx_session* session = open_session();
  expect_run(session, "{\"command\": \"echo reaped\"}", "reaped");
  sbx_close(session);
  int seconds_tenths = 0;
  pid_t pid = 0;
  const struct timespec tenth = {0, 100000000};
  while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0 && seconds_tenths++ < 50) {
    CHECK(pid == 0); /* the session's own watchdog may still be leaving, but as nobody's zombie */
    nanosleep(&tenth, NULL);
  }
  CHECK(errno == ECHILD);
}

/* The notifications of a host that never takes them. */
static void untaken(void) {
  sbx_session* session = open_session();
  sbx_error* error = NULL;
  char* result = NULL;
  OK(sbx_call(session, "start", "{\"command\": \"head -c 4000000 /dev/zero | tr '\\\\0' '\\\\n'\"}",
              &result, &error));
  sbx_free(result);
  for (int i = 0; i < 20; ++i) expect_run(session, "{\"command\": \"true\"}", "\"exit_code\":0");
  sbx_close(session);
}

/* `commit` is the operator's, which the one who opened is. */
static void layer(void) {
  char options[4096];
  snprintf(options, sizeof options, "{\"workspace\": \"%s\", \"flags\": [\"--layer\", \"x\"]}",
           workspace);
  sbx_session* session = NULL;
  sbx_error* error = NULL;
  OK(sbx_open(options, &session, &error));
  expect_run(session, "{\"command\": \"echo new > made\"}", "\"layer\":{\"name\":\"x\",\"kind\":");
  CHECK(chdir(workspace) == 0 && access("made", F_OK) != 0);
  expect_call(session, "layer.diff", "{}", "+new");
  expect_call(session, "layer.checkpoint", "{\"label\": \"one\"}", "\"one\"");
  expect_call_error(session, "layer.commit", "{}", "not_granted", "");
  char token[512];
  snprintf(token, sizeof token, "{\"token\": \"%s\"}", sbx_operator_token(session));
  OK(sbx_call(session, "hello", token, NULL, &error));
  expect_call(session, "layer.commit", "{}", "\"created\"");
  CHECK(access("made", F_OK) == 0);
  expect_call(session, "layer.undo", "{}", "made");
  CHECK(access("made", F_OK) != 0);
  expect_call(session, "layer.discard", "{}", "x");
  sbx_close(session);
}

/* Of a machine whose managed policy shows the workspace read-only, and forbids `unconfined`. */
static void managed(void) {
  expect_open_error("{\"profile\": \"unconfined\"}", "managed_policy", "/profile");
  sbx_session* session = open_session();
  expect_run(session, "{\"command\": \"touch made\"}", "Read-only file system");
  expect_run(session, "{\"command\": \"true\"}", "\"managed\":[{\"path\":\"/etc/sbx/managed.d/");
  sbx_close(session);
}

int main(int argc, char** argv) {
  CHECK(argc == 3);
  workspace = argv[2];
  const char* name = argv[1];
  static const struct {
    const char* name;
    void (*run)(void);
  } scenarios[] = {{"open_errors", open_errors},
                   {"call_errors", call_errors},
                   {"run", run},
                   {"threads", threads},
                   {"events", events},
                   {"thread_ends", thread_ends},
                   {"stay", stay},
                   {"heap", heap},
                   {"descriptors", descriptors},
                   {"forks", forks},
                   {"subreaper", subreaper},
                   {"untaken", untaken},
                   {"layer", layer},
                   {"managed", managed}};
  if (strncmp(name, "sigchld_", 8) == 0) {
    sigchld(name + 8);
    return 0;
  }
  for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; ++i) {
    if (strcmp(scenarios[i].name, name) == 0) {
      scenarios[i].run();
      return 0;
    }
  }
  fprintf(stderr, "no scenario %s\n", name);
  return 2;
}
