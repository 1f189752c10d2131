/* SPDX-License-Identifier: Apache-2.0
 *
 * serve_bench SBX_RUN WORKSPACE [ROUNDS]: what a client of `serve` waits for /bin/true, over the
 * server's socket, beside posix_spawn and wait of the same program, turn by turn in the same
 * rhythm: back to back, with 3 ms and with 20 ms of rest before each. Median and 95th percentile of
 * each, and the median of the pairs' ratios, which a busy machine moves least. A plain client: no
 * library of ours. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kMostRounds = 10000, kLine = 1 << 20 };

extern char** environ;
static int server = -1;
static char line[kLine];

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void fail(const char* what) {
  fprintf(stderr, "serve_bench: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void ask(const char* text) {
  const size_t size = strlen(text);
  if (write(server, text, size) != (ssize_t)size) fail("write");
  size_t have = 0;
  do {
    const ssize_t got = read(server, line + have, sizeof line - 1 - have);
    if (got <= 0) fail("read");
    have += (size_t)got;
    line[have] = '\0';
  } while (line[have - 1] != '\n');
}

static double run_in_server(void) {
  const double begin = now_ms();
  ask("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"run\",\"params\":{\"argv\":[\"/bin/true\"]}}\n");
  const double took = now_ms() - begin;
  if (strstr(line, "\"exit_code\":0,") == NULL) fail(line);
  return took;
}

static double run_plainly(void) {
  char* argv[] = {(char*)"/bin/true", NULL};
  const double begin = now_ms();
  pid_t pid = -1;
  int status = -1;
  if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) != 0) fail("posix_spawn");
  if (waitpid(pid, &status, 0) != pid || status != 0) fail("/bin/true");
  return now_ms() - begin;
}

static void start_server(char* program, char* workspace) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) fail("socketpair");
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  char number[16];
  snprintf(number, sizeof number, "%d", ends[1]);
  char* argv[] = {program, (char*)"serve", (char*)"--workspace", workspace, (char*)"--fd", number,
                  NULL};
  pid_t pid = -1;
  if (posix_spawn(&pid, program, NULL, NULL, argv, environ) != 0) fail(program);
  close(ends[1]);
  server = ends[0];
  ask("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hello\"}\n");
  if (strchr(line, '\n') == line + strlen(line) - 1) ask(""); /* server.ready came alone */
}

static int by_value(const void* a, const void* b) {
  const double left = *(const double*)a;
  const double right = *(const double*)b;
  return left < right ? -1 : left > right;
}

static double part(double* values, int count, double share) {
  qsort(values, (size_t)count, sizeof *values, by_value);
  const int at = (int)(share * count);
  return values[at < count ? at : count - 1];
}

static void rest(int milliseconds) {
  const struct timespec time = {0, (long)milliseconds * 1000000};
  if (milliseconds > 0) nanosleep(&time, NULL);
}

int main(int argc, char** argv) {
  static double served[kMostRounds], plain[kMostRounds], ratios[kMostRounds];
  if (argc < 3) {
    fputs("usage: serve_bench SBX_RUN WORKSPACE [ROUNDS]\n", stderr);
    return 2;
  }
  const int rounds = argc > 3 ? atoi(argv[3]) : 300;
  if (rounds < 1 || rounds > kMostRounds) fail("ROUNDS");
  start_server(argv[1], argv[2]);
  for (int i = 0; i < 20; ++i) run_in_server();
  puts(
      "| rest | served: median | p95 | posix_spawn: median | p95 | ratio "
      "|\n|---|---|---|---|---|---|");
  static const int kRests[] = {0, 3, 20};
  for (size_t r = 0; r < sizeof kRests / sizeof *kRests; ++r) {
    /* Ten of one kind, then ten of the other: back to back means without the other between. */
    for (int done = 0; done < rounds; done += 10) {
      for (int i = done; i < done + 10 && i < rounds; ++i) {
        rest(kRests[r]);
        plain[i] = run_plainly();
      }
      for (int i = done; i < done + 10 && i < rounds; ++i) {
        rest(kRests[r]);
        served[i] = run_in_server();
        ratios[i] = served[i] / plain[i];
      }
    }
    printf("| %d ms | %.2f ms | %.2f | %.2f ms | %.2f | %.2f |\n", kRests[r],
           part(served, rounds, 0.5), part(served, rounds, 0.95), part(plain, rounds, 0.5),
           part(plain, rounds, 0.95), part(ratios, rounds, 0.5));
  }
  return 0;
}
