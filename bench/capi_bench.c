/* SPDX-License-Identifier: Apache-2.0
 *
 * What a call through the C ABI costs: capi_bench WORKSPACE [CALLS [HEAP_MIB THREADS]] → a Markdown
 * table of medians in microseconds: of opening; of a run, as the session itself says (duration_ms),
 * and what the host waits beyond that; of the least that any call costs (list, which starts
 * nothing); and of one byte to another process and back, without sbx; these two at once, and after
 * the pause that lies between runs, when caches and CPUs have gone to rest. With a heap, all of it
 * again in a host of that size. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sbx.h"

enum { kMostCalls = 10000, kOpens = 20, kMostThreads = 1000 };

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int by_size(const void* a, const void* b) {
  const double difference = *(const double*)a - *(const double*)b;
  return (difference > 0) - (difference < 0);
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, by_size);
  return values[count / 2];
}

static void die(const sbx_error* error) {
  fprintf(stderr, "%s: %s\n", sbx_error_code(error), sbx_error_message(error));
  exit(1);
}

static sbx_session* open_session(const char* workspace) {
  char options[4096];
  sbx_session* session = NULL;
  sbx_error* error = NULL;
  snprintf(options, sizeof options, "{\"workspace\": \"%s\"}", workspace);
  if (sbx_open(options, &session, &error) != 0) die(error);
  return session;
}

/* The time of one call; `own_us` receives duration_ms of its answer where it has one. */
static double call_us(sbx_session* session, const char* method, const char* params,
                      double* own_us) {
  sbx_error* error = NULL;
  char* result = NULL;
  const double begin = now_us();
  if (sbx_call(session, method, params, &result, &error) != 0) die(error);
  const double end = now_us();
  const char* own = strstr(result, "\"duration_ms\":");
  *own_us = own == NULL ? 0 : strtod(own + strlen("\"duration_ms\":"), NULL) * 1e3;
  sbx_free(result);
  return end - begin;
}

/* A byte to another process and back over a socket pair: no client of a process can undercut it. */
static double echo_us(int calls, const struct timespec* pause) {
  static double trips[kMostCalls];
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) exit(1);
  const pid_t child = fork();
  char byte = 'x';
  if (child == 0) {
    close(ends[0]);
    while (read(ends[1], &byte, 1) == 1 && write(ends[1], &byte, 1) == 1) {
    }
    _exit(0);
  }
  close(ends[1]);
  for (int i = 0; i < calls; ++i) {
    if (pause != NULL) nanosleep(pause, NULL);
    const double begin = now_us();
    if (write(ends[0], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1) exit(1);
    trips[i] = now_us() - begin;
  }
  close(ends[0]);
  waitpid(child, NULL, 0);
  return median(trips, calls);
}

static void measure(const char* host, const char* workspace, int calls) {
  static double opens[kOpens], runs[kMostCalls], own[kMostCalls], lists[kMostCalls];
  static double rested[kMostCalls];
  const struct timespec pause = {0, 3000000}; /* for the session to get its next sandbox ready */
  const double echo = echo_us(calls, NULL);
  const double rested_echo = echo_us(calls, &pause);
  for (int i = 0; i < kOpens; ++i) {
    const double begin = now_us();
    sbx_session* session = open_session(workspace);
    opens[i] = now_us() - begin;
    sbx_close(session);
  }
  sbx_session* session = open_session(workspace);
  for (int i = 0; i < calls; ++i) {
    double none = 0;
    runs[i] = call_us(session, "run", "{\"argv\": [\"/bin/true\"]}", &own[i]);
    runs[i] -= own[i];
    nanosleep(&pause, NULL);
    rested[i] = call_us(session, "list", NULL, &none);
    lists[i] = call_us(session, "list", NULL, &none);
  }
  sbx_close(session);
  printf("| %s | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f |\n", host, median(opens, kOpens),
         median(own, calls), median(runs, calls), median(lists, calls), echo, median(rested, calls),
         rested_echo);
  fflush(stdout);
}

static void* sleeps(void* nothing) {
  pause();
  return nothing;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  int calls = argc > 2 ? atoi(argv[2]) : 300;
  if (calls < 1 || calls > kMostCalls) return 2;
  puts(
      "| host | open | a run's own time | the host waits beyond it | a call | one byte and back "
      "| a call after a pause | one byte after a pause |");
  puts("|---|---:|---:|---:|---:|---:|---:|---:|");
  measure("small", argv[1], calls);
  if (argc < 5) return 0;
  const size_t size = (size_t)atoi(argv[3]) << 20;
  const int threads = atoi(argv[4]);
  if (threads < 0 || threads > kMostThreads) return 2;
  char* heap = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (heap == MAP_FAILED) return 1;
  for (size_t at = 0; at < size; at += 4096) heap[at] = 1;
  for (int i = 0; i < threads; ++i) {
    pthread_t id = 0;
    if (pthread_create(&id, NULL, sleeps, NULL) != 0) return 1;
  }
  char host[64];
  snprintf(host, sizeof host, "%s MiB, %s threads", argv[3], argv[4]);
  measure(host, argv[1], calls);
  return 0;
}
