/* SPDX-License-Identifier: Apache-2.0
 *
 * What a call through the C ABI costs: capi_bench WORKSPACE [CALLS [HEAP_MIB THREADS]]. Prints the
 * medians of opening, of a run, of the time that the session itself gives that run (duration_ms),
 * and of a method that starts nothing; with a heap, all of it again in a host of that size. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

static void measure(const char* host, const char* workspace, int calls) {
  static double opens[kOpens], runs[kMostCalls], own[kMostCalls], lists[kMostCalls];
  for (int i = 0; i < kOpens; ++i) {
    const double begin = now_us();
    sbx_session* session = open_session(workspace);
    opens[i] = now_us() - begin;
    sbx_close(session);
  }
  sbx_session* session = open_session(workspace);
  const struct timespec pause = {0, 20000000}; /* for the session to get its next sandbox ready */
  for (int i = 0; i < calls; ++i) {
    double none = 0;
    runs[i] = call_us(session, "run", "{\"argv\": [\"/bin/true\"]}", &own[i]);
    lists[i] = call_us(session, "list", NULL, &none);
    runs[i] -= own[i];
    nanosleep(&pause, NULL);
  }
  sbx_close(session);
  const double own_us = median(own, calls);
  const double over_us = median(runs, calls);
  printf("| %s | %.0f | %.0f | %.0f | %.0f | %.2f |\n", host, median(opens, kOpens), own_us,
         over_us, median(lists, calls), (own_us + over_us) / own_us);
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
  puts("| host | open, us | a run's own time, us | what the call adds, us | `list`, us | ratio |");
  puts("|---|---:|---:|---:|---:|---:|");
  measure("small", argv[1], calls);
  if (argc < 5) return 0;
  const size_t size = (size_t)atoi(argv[3]) << 20;
  const int threads = atoi(argv[4]);
  if (threads < 0 || threads > kMostThreads) return 2;
  char* heap = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (heap == MAP_FAILED) return 1;
  for (size_t at = 0; at < size; at += 4096) heap[at] = 1;
  for (int i = 0; i < threads; ++i) {
    pthread_t id;
    if (pthread_create(&id, NULL, sleeps, NULL) != 0) return 1;
  }
  char host[64];
  snprintf(host, sizeof host, "%s MiB, %s threads", argv[3], argv[4]);
  measure(host, argv[1], calls);
  return 0;
}
