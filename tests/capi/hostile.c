/* SPDX-License-Identifier: Apache-2.0
 *
 * Hosts that make it hard: `hostile SCENARIO WORKSPACE [FAKE-SERVER]`, exit 0 where the library
 * stands it; what did not hold is a line on stderr, exit 1. capi_test.py runs them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host.h"

enum { kCallers = 100, kPatienceMs = 20000 };

static const char* fake;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void nap(double seconds) {
  struct timespec time;
  time.tv_sec = (time_t)seconds;
  time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
  while (nanosleep(&time, &time) != 0 && errno == EINTR) {
  }
}

static int open_fake(int timeout_ms, sbx_session** session, sbx_error** error) {
  char options[4096];
  snprintf(options, sizeof options, "{\"program\": \"%s\", \"server_timeout_ms\": %d}", fake,
           timeout_ms);
  return sbx_open(options, session, error);
}

static sbx_session* opened_fake(int timeout_ms) {
  sbx_session* session = NULL;
  sbx_error* error = NULL;
  OK(open_fake(timeout_ms, &session, &error));
  return session;
}

static void expect_error(sbx_error* error, const char* code, const char* where) {
  CHECK(error != NULL);
  if (strcmp(sbx_error_code(error), code) != 0 || strcmp(sbx_error_where(error), where) != 0) {
    fprintf(stderr, "expected %s at '%s', got:\n", code, where);
    die(error, __LINE__);
  }
  sbx_error_free(error);
}

/* --- a server that is stuck, or another program --- */

static void silent(void) {
  sbx_session* session = NULL;
  sbx_error* error = NULL;
  CHECK(open_fake(300, &session, &error) == -1);
  expect_error(error, "session_failed", "/server_timeout_ms");
  CHECK(session == NULL);
}

static void nonsense(void) {
  sbx_session* session = NULL;
  sbx_error* error = NULL;
  CHECK(open_fake(kPatienceMs, &session, &error) == -1);
  expect_error(error, "session_failed", "/program");
}

static void endless(void) {
  sbx_session* session = NULL;
  sbx_error* error = NULL;
  CHECK(open_fake(kPatienceMs, &session, &error) == -1);
  expect_error(error, "session_failed", "");
}

/* It came up, and reads nothing: what does not fit its socket fails in time, and so does all else.
 */
static void deaf(void) {
  sbx_session* session = opened_fake(4000);
  sbx_error* error = NULL;
  uint64_t id = 0;
  const size_t size = (size_t)4 << 20;
  char* params = malloc(size);
  CHECK(params != NULL);
  memset(params, 'x', size);
  memcpy(params, "{\"command\": \"", 13);
  memcpy(params + size - 3, "\"}", 3);
  CHECK(sbx_submit(session, "run", params, &id, &error) == -1);
  expect_error(error, "session_failed", "");
  CHECK(sbx_call(session, "list", NULL, NULL, NULL) == -1);
  char* event = NULL;
  CHECK(sbx_next(session, -1, &event, NULL) == -1);
  free(params);
  sbx_close(session);
}

/* Its answer cannot be read, so whose it is cannot be known: nobody waits for it. */
static void unreadable(void) {
  sbx_session* session = opened_fake(4000);
  sbx_error* error = NULL;
  CHECK(sbx_call(session, "list", NULL, NULL, &error) == -1);
  expect_error(error, "session_failed", "");
  CHECK(sbx_call(session, "list", NULL, NULL, NULL) == -1);
  sbx_close(session);
}

/* It fails alone: what comes behind it is read as ever. */
static void overlong(void) {
  sbx_session* session = opened_fake(kPatienceMs);
  sbx_error* error = NULL;
  CHECK(sbx_call(session, "large", NULL, NULL, &error) == -1);
  expect_error(error, "too_large", "");
  CHECK(sbx_call(session, "small", NULL, NULL, NULL) == 0);
  uint64_t id = 0;
  char* event = NULL;
  CHECK(sbx_submit(session, "large", NULL, &id, NULL) == 0);
  CHECK(sbx_next(session, -1, &event, NULL) == 1);
  CHECK(strstr(event, "too_large") != NULL);
  sbx_free(event);
  sbx_close(session);
}

/* --- what waits to be taken --- */

static long peak_kib(void) {
  struct rusage usage;
  CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
  return usage.ru_maxrss;
}

static unsigned long long number_of(const char* json, const char* key) {
  const char* found = strstr(json, key);
  CHECK(found != NULL);
  return strtoull(found + strlen(key), NULL, 10);
}

/* 40,000 notifications of some 960 bytes: a part is kept in order, the rest counted. */
static void flood(void) {
  sbx_session* session = opened_fake(kPatienceMs);
  sbx_error* error = NULL;
  const long before = peak_kib();
  for (int round = 0; round < 2; ++round) {
    OK(sbx_call(session, "run", NULL, NULL, &error));
    unsigned long long kept = 0;
    unsigned long long dropped = 0;
    int has_exit = 0;
    while (!has_exit) {
      char* event = NULL;
      CHECK(sbx_next(session, kPatienceMs, &event, &error) == 1);
      if (strstr(event, "{\"method\":\"task.output\"") == event) {
        CHECK(dropped == 0);
        ++kept;
      } else if (strstr(event, "{\"method\":\"events.dropped\"") == event) {
        dropped += number_of(event, "\"notifications\":");
        CHECK(number_of(event, "\"bytes\":") > dropped * 900);
      } else {
        CHECK(strstr(event, "{\"method\":\"task.exit\"") == event);
        has_exit = 1;
      }
      sbx_free(event);
    }
    CHECK(kept > 10000 && dropped > 10000 && kept + dropped == 40000);
  }
  CHECK(peak_kib() - before < 40 * 1024);
  sbx_close(session);
}

/* Answers are kept, and therefore no more is submitted. */
static void big(void) {
  sbx_session* session = opened_fake(kPatienceMs);
  sbx_error* error = NULL;
  uint64_t id = 0;
  int count = 0;
  while (sbx_submit(session, "run", NULL, &id, &error) == 0) {
    CHECK(++count < 20);
    OK(sbx_call(session, "small", NULL, NULL, &error));
  }
  expect_error(error, "too_many", "");
  error = NULL;
  CHECK(count == 8);
  for (int i = 0; i < count; ++i) {
    char* event = NULL;
    CHECK(sbx_next(session, kPatienceMs, &event, &error) == 1);
    CHECK(strlen(event) > ((size_t)8 << 20));
    sbx_free(event);
  }
  OK(sbx_submit(session, "small", NULL, &id, &error));
  char* event = NULL;
  CHECK(sbx_next(session, kPatienceMs, &event, &error) == 1);
  sbx_free(event);
  sbx_close(session);
}

/* --- texts --- */

static void expect_refused(sbx_session* session, const char* params, const char* code) {
  sbx_error* error = NULL;
  uint64_t id = 0;
  CHECK(sbx_call(session, "run", params, NULL, &error) == -1);
  if (strcmp(sbx_error_code(error), code) != 0) {
    fprintf(stderr, "%.80s: expected %s, got:\n", params, code);
    die(error, __LINE__);
  }
  sbx_error_free(error);
  if (sbx_submit(session, "run", params, &id, NULL) != 0) return;
  char* event = NULL;
  OK(sbx_next(session, kPatienceMs, &event, &error));
  CHECK(strstr(event, code) != NULL);
  sbx_free(event);
}

static char* repeated(const char* head, char c, size_t count, const char* tail) {
  char* text = malloc(strlen(head) + count + strlen(tail) + 1);
  CHECK(text != NULL);
  strcpy(text, head);
  memset(text + strlen(head), c, count);
  strcpy(text + strlen(head) + count, tail);
  return text;
}

static void texts(void) {
  sbx_session* session = open_session();
  static const char* const not_json[] = {
      "",           " ",          "{",       "}",          "{}}",
      "{\"a\":1}x", "{} {}",      "\xff",    "nul",        "{\"command\": \"\xff\"}",
      "{'a': 1}",   "{\"a\":}",   "{\"a\"}", "{\"a\":01}", "{\"command\": \"a\nb\"}",
      "{\"a\":+1}", "{\"a\":1,}", "[1,]",    "\"",         "{}, \"method\": \"shutdown\""};
  for (size_t i = 0; i < sizeof not_json / sizeof *not_json; ++i) {
    expect_refused(session, not_json[i], "bad_json");
  }
  static const char* const not_object[] = {"[]", "1", "null", "\"a\"", " [{}] "};
  for (size_t i = 0; i < sizeof not_object / sizeof *not_object; ++i) {
    expect_refused(session, not_object[i], "wrong_type");
  }
  expect_refused(session, "{\"command\": null}", "missing_field");
  expect_refused(session, "{\"command\": \"\\u0000\"}", "bad_value");
  char* text = repeated("{\"env\": ", '[', 500000, "}");
  expect_refused(session, text, "bad_json");
  memset(text + 250008, ']', 250000);
  expect_refused(session, text, "too_deep");
  free(text);
  /* A little more than a session reads. */
  sbx_error* error = NULL;
  for (size_t size = ((size_t)16 << 20) - 40; size <= ((size_t)16 << 20); size += 40) {
    text = repeated("{\"command\": \"", 'x', size, "\"}");
    CHECK(sbx_call(session, "run", text, NULL, &error) == -1);
    expect_error(error, "too_large", "");
    free(text);
  }
  CHECK(sbx_call(session, "\xff\xfe", NULL, NULL, &error) == -1);
  expect_error(error, "unknown_method", "");
  text = repeated("", 'm', 1 << 20, "");
  CHECK(sbx_call(session, text, NULL, NULL, &error) == -1);
  expect_error(error, "unknown_method", "");
  free(text);
  expect_run(session, "{\"command\": \"echo whole\"}", "whole");
  sbx_close(session);
  text = repeated("{\"profile\": \"", 'x', (size_t)17 << 20, "\"}");
  CHECK(sbx_open(text, &session, &error) == -1);
  expect_error(error, "too_large", "");
  free(text);
  text = repeated("{\"profile\": \"", 'x', (size_t)1 << 20, "\"}"); /* E2BIG */
  CHECK(sbx_open(text, &session, &error) == -1);
  sbx_error_free(error);
  free(text);
}

static void nothings(void) {
  char* text = NULL;
  uint64_t id = 0;
  sbx_session* session = NULL;
  CHECK(sbx_open(NULL, NULL, NULL) == -1);
  CHECK(sbx_call(NULL, NULL, NULL, NULL, NULL) == -1);
  CHECK(sbx_submit(NULL, NULL, NULL, NULL, NULL) == -1);
  CHECK(sbx_call(NULL, "list", NULL, NULL, NULL) == -1);
  CHECK(sbx_submit(NULL, "list", NULL, &id, NULL) == -1);
  CHECK(sbx_next(NULL, 0, NULL, NULL) == -1 && sbx_next(NULL, -1, &text, NULL) == -1);
  CHECK(sbx_fd(NULL) == -1);
  CHECK(sbx_cancel(NULL, 0, NULL) == -1);
  CHECK(strcmp(sbx_error_message(NULL), "") == 0 && strcmp(sbx_error_where(NULL), "") == 0 &&
        strcmp(sbx_error_hint(NULL), "") == 0);
  CHECK(sbx_open(NULL, &session, NULL) == 0);
  CHECK(sbx_call(session, NULL, NULL, NULL, NULL) == -1);
  CHECK(sbx_submit(session, "run", NULL, NULL, NULL) == -1);
  CHECK(sbx_submit(session, NULL, NULL, &id, NULL) == -1);
  CHECK(sbx_next(session, -1, NULL, NULL) == -1);
  CHECK(sbx_cancel(session, UINT64_MAX, NULL) == 0);
  CHECK(sbx_call(session, "list", NULL, NULL, NULL) == 0);
  sbx_close(session);
}

/* --- threads --- */

static void* calls_for_long(void* session) {
  sbx_error* error = NULL;
  char* result = NULL;
  CHECK(sbx_call(session, "run", "{\"command\": \"sleep 1000\"}", &result, &error) == -1);
  expect_error(error, "session_failed", "");
  CHECK(result == NULL);
  return NULL;
}

static void* asks_for_long(void* session) {
  sbx_error* error = NULL;
  char* event = NULL;
  CHECK(sbx_next(session, -1, &event, &error) == -1);
  expect_error(error, "session_failed", "");
  return NULL;
}

static void closed_meanwhile(void) {
  sbx_session* session = open_session();
  pthread_t threads[8];
  for (int i = 0; i < 8; ++i) {
    CHECK(pthread_create(&threads[i], NULL, i % 2 ? calls_for_long : asks_for_long, session) == 0);
  }
  nap(0.3);
  sbx_close(session);
  for (int i = 0; i < 8; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void* calls_once(void* session) {
  expect_run(session, "{\"command\": \"echo once\"}", "once");
  return NULL;
}

/* More than the session has sandboxes ready, and all at once. */
static void callers(void) {
  sbx_session* session = open_session();
  pthread_t threads[kCallers];
  for (int i = 0; i < kCallers; ++i) {
    CHECK(pthread_create(&threads[i], NULL, calls_once, session) == 0);
  }
  for (int i = 0; i < kCallers; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  sbx_close(session);
}

static void* calls_and_is_cancelled(void* session) {
  expect_run(session, "{\"command\": \"sleep 0.3; echo done\"}", "done");
  for (;;) pause();
  return NULL;
}

static void cancelled_thread(void) {
  sbx_session* session = open_session();
  pthread_t thread;
  void* ended = NULL;
  CHECK(pthread_create(&thread, NULL, calls_and_is_cancelled, session) == 0);
  nap(0.1);
  CHECK(pthread_cancel(thread) == 0);
  CHECK(pthread_join(thread, &ended) == 0 && ended == PTHREAD_CANCELED);
  expect_run(session, "{\"command\": \"echo after\"}", "after");
  sbx_close(session);
}

static void* submits_and_ends(void* session) {
  sbx_error* error = NULL;
  uint64_t* id = malloc(sizeof *id);
  CHECK(id != NULL);
  OK(sbx_submit(session, "run", "{\"command\": \"sleep 1000\"}", id, &error));
  pthread_exit(id);
}

static void* cancels(void* argument) {
  void** both = argument;
  sbx_error* error = NULL;
  nap(0.1);
  OK(sbx_cancel(both[0], *(uint64_t*)both[1], &error));
  return NULL;
}

static void cancelled_call(void) {
  sbx_session* session = open_session();
  sbx_error* error = NULL;
  pthread_t thread;
  void* id = NULL;
  char* event = NULL;
  CHECK(pthread_create(&thread, NULL, submits_and_ends, session) == 0);
  CHECK(pthread_join(thread, &id) == 0);
  void* both[2] = {session, id};
  CHECK(pthread_create(&thread, NULL, cancels, both) == 0);
  CHECK(sbx_next(session, kPatienceMs, &event, &error) == 1);
  CHECK(strstr(event, "\"status\":\"cancelled\"") != NULL);
  CHECK(pthread_join(thread, NULL) == 0);
  sbx_free(event);
  free(id);
  sbx_close(session);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int number) {
  (void)number;
  ++alarms;
}

/* A signal each millisecond that interrupts whatever waits. */
static void interrupted(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_alarm;
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  const struct itimerval often = {{0, 1000}, {0, 1000}};
  CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
  for (int i = 0; i < 3; ++i) {
    sbx_session* session = open_session();
    sbx_error* error = NULL;
    char* event = NULL;
    expect_run(session, "{\"command\": \"sleep 0.1; echo slept\"}", "slept");
    CHECK(sbx_next(session, 50, &event, &error) == 0);
    sbx_close(session);
  }
  CHECK(alarms > 10);
}

static void two_sessions(void) {
  sbx_session* first = open_session();
  sbx_session* second = open_session();
  sbx_error* error = NULL;
  uint64_t id = 0;
  OK(sbx_submit(first, "run", "{\"command\": \"echo first\"}", &id, &error));
  OK(sbx_submit(second, "run", "{\"command\": \"echo second\"}", &id, &error));
  sbx_session* both[] = {second, first};
  static const char* const wanted[] = {"second\\n", "first\\n"};
  for (int i = 0; i < 2; ++i) {
    char* event = NULL;
    CHECK(sbx_next(both[i], kPatienceMs, &event, &error) == 1);
    CHECK(strstr(event, wanted[i]) != NULL);
    sbx_free(event);
  }
  sbx_close(first);
  expect_run(second, "{\"command\": \"echo still\"}", "still");
  sbx_close(second);
}

/* --- processes --- */

/* The fork is made while threads wait inside the library: their locks are held for ever there. */
static void forked_meanwhile(void) {
  sbx_session* session = open_session();
  pthread_t threads[6];
  for (int i = 0; i < 6; ++i) {
    CHECK(pthread_create(&threads[i], NULL, i % 2 ? calls_for_long : asks_for_long, session) == 0);
  }
  nap(0.2);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(kPatienceMs / 1000);
    sbx_error* error = NULL;
    char* event = NULL;
    uint64_t id = 0;
    CHECK(sbx_call(session, "list", NULL, NULL, &error) == -1);
    expect_error(error, "session_failed", "");
    CHECK(sbx_submit(session, "list", NULL, &id, NULL) == -1);
    CHECK(sbx_next(session, -1, &event, NULL) == -1);
    CHECK(sbx_cancel(session, 1, NULL) == -1);
    sbx_close(session);
    sbx_session* own = open_session();
    expect_run(own, "{\"command\": \"echo child\"}", "child");
    sbx_close(own);
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  expect_run(session, "{\"command\": \"echo parent\"}", "parent");
  sbx_close(session);
  for (int i = 0; i < 6; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void without_standard_descriptors(void) {
  const int told = fcntl(2, F_DUPFD_CLOEXEC, 10);
  CHECK(told >= 10);
  for (int missing = 1; missing < 8; ++missing) {
    for (int fd = 0; fd < 3; ++fd) {
      if (missing >> fd & 1) close(fd);
    }
    sbx_session* session = open_session();
    expect_run(session, "{\"command\": \"echo out; ls /dev/fd/ | wc -l\"}", "out");
    sbx_close(session);
    for (int fd = 0; fd < 3; ++fd) CHECK(!(missing >> fd & 1) || fcntl(fd, F_GETFD) == -1);
    for (int fd = 0; fd < 3; ++fd) CHECK(dup2(told, fd) == fd);
  }
}

static void without_descriptors(void) {
  const struct rlimit few = {3, 3};
  struct rlimit before;
  CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
  for (rlim_t most = 3; most < 9; ++most) {
    const struct rlimit limit = {most, before.rlim_max};
    sbx_session* session = NULL;
    sbx_error* error = NULL;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (sbx_open(NULL, &session, &error) != 0) {
      CHECK(sbx_error_message(error)[0] != '\0');
      CHECK(strcmp(sbx_error_code(error), "not_found") != 0);
      sbx_error_free(error);
    }
    sbx_close(session);
    const int lowest = dup(2);
    CHECK(lowest == 3 || (lowest == -1 && most == few.rlim_cur));
    if (lowest >= 0) close(lowest);
  }
  CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
  sbx_close(open_session());
}

static void* use_all(void* unused) {
  (void)unused;
  sbx_session* session = open_session();
  sbx_error* error = NULL;
  char* event = NULL;
  uint64_t id = 0;
  expect_run(session, "{\"command\": \"head -c 900000 /dev/zero\", \"output_kb\": 1000}", "exited");
  OK(sbx_submit(session, "run", "{\"command\": \"echo small\"}", &id, &error));
  OK(sbx_next(session, kPatienceMs, &event, &error));
  CHECK(strstr(event, "small") != NULL);
  sbx_free(event);
  sbx_close(session);
  return NULL;
}

static void small_stack(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, (size_t)64 << 10) == 0);
  CHECK(pthread_create(&thread, &attributes, use_all, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

int main(int argc, char** argv) {
  CHECK(argc >= 3);
  workspace = argv[2];
  fake = argc > 3 ? argv[3] : "";
  static const struct {
    const char* name;
    void (*run)(void);
  } scenarios[] = {{"silent", silent},
                   {"nonsense", nonsense},
                   {"endless", endless},
                   {"deaf", deaf},
                   {"unreadable", unreadable},
                   {"overlong", overlong},
                   {"flood", flood},
                   {"big", big},
                   {"texts", texts},
                   {"nothings", nothings},
                   {"closed_meanwhile", closed_meanwhile},
                   {"callers", callers},
                   {"cancelled_thread", cancelled_thread},
                   {"cancelled_call", cancelled_call},
                   {"interrupted", interrupted},
                   {"two_sessions", two_sessions},
                   {"forked_meanwhile", forked_meanwhile},
                   {"without_standard_descriptors", without_standard_descriptors},
                   {"without_descriptors", without_descriptors},
                   {"small_stack", small_stack}};
  for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; ++i) {
    if (strcmp(scenarios[i].name, argv[1]) == 0) {
      const double began = now();
      scenarios[i].run();
      /* The stated bounds, with room for a machine that is busy with more. */
      CHECK(now() - began < 60);
      return 0;
    }
  }
  fprintf(stderr, "no scenario %s\n", argv[1]);
  return 2;
}
