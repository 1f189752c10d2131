#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What rules of HTTP cost: a request on a connection that is kept, and 1 GiB, from a sandbox through sbx-http;
beside them a plain TLS proxy of the same library and nginx's stream module (where it is installed), from
outside, and the gateway that passes TLS on unread. Everything runs in network namespaces of its own; the
contenders take turns. Prints rows of a table, medians. A core is counted by CPU time: of sbx-run with sbx-http,
start included, and of nginx's worker, over the requests of many connections.

    SBX_RUN=build/release/bin/sbx-run bench/http_bench.py [ROUNDS]
"""

import json
import os
import shutil
import statistics
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SBX_RUN = os.path.abspath(os.environ.get("SBX_RUN", "build/release/bin/sbx-run"))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "e2e"))
import world  # noqa: E402

NGINX = """daemon off; master_process off; error_log stderr crit; pid PLACE/nginx.pid; worker_processes 1;
events {} stream { server { listen 127.0.0.1:9003 ssl; ssl_certificate PLACE/cert; ssl_certificate_key PLACE/key;
proxy_pass 127.0.0.1:9001; proxy_ssl on; proxy_ssl_verify on; proxy_ssl_name own.test;
proxy_ssl_trusted_certificate PLACE/cert; tcp_nodelay on; } }
"""
REQUESTS, MANY = 4000, 8

# Runs a command and says what CPU time it and all that it has started have taken.
COUNTED = """if True:
    import ctypes, os, resource, subprocess, sys
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # what outlives its parent is this process's to wait for
    code = subprocess.call(sys.argv[1:])
    try:
        while True: os.wait()
    except ChildProcessError: pass
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(usage.ru_utime + usage.ru_stime)
    sys.exit(code)
"""


def nginx_cpu():
    """Seconds of its processes."""
    total = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                head, rest = file.read().rsplit(")", 1)
        except OSError:
            continue
        if head.endswith("(nginx"):
            total += sum(map(int, rest.split()[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        os.chmod(place, 0o755)
        bench = shutil.copy(os.path.join(os.path.dirname(SBX_RUN), "http_bench"), place)
        here = world.World(place)
        try:
            measure(here, place, bench, rounds)
        finally:
            here.close()


def measure(here, place, bench, rounds):
    order = lambda *argv, **more: here.order(argv=list(argv), cwd=place, **more)
    cert, key = os.path.join(place, "cert"), os.path.join(place, "key")
    order("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
          key, "-out", cert, "-days", "2", "-subj", "/CN=own.test", "-addext", "subjectAltName=DNS:own.test")
    order(bench, "origin", cert, key, "9001", background="origin")
    order(bench, "proxy", cert, key, "9002", "9001", cert, "own.test", background="proxy")
    with open(os.path.join(place, "nginx.conf"), "w") as file:
        file.write((("load_module /usr/lib/nginx/modules/ngx_stream_module.so;\n"
                     if os.path.exists("/usr/lib/nginx/modules/ngx_stream_module.so") else "") + NGINX)
                   .replace("PLACE", place))
    has_nginx = shutil.which("nginx") is not None
    if has_nginx:
        order("nginx", "-c", os.path.join(place, "nginx.conf"), "-p", place, background="nginx")
    for port in (9001, 9002, *([9003] if has_nginx else [])):
        order("bash", "-c", f"for i in $(seq 100); do exec 3<>/dev/tcp/127.0.0.1/{port} && break; sleep 0.05; done")
    profiles = {}
    for name, rules in (("rules", [{"host": "own.test:9001", "methods": ["GET"], "paths": ["/*"]}]), ("opaque", [])):
        profiles[name] = os.path.join(place, name + ".json")
        with open(profiles[name], "w") as file:
            json.dump({"extends": "default", "network": {"mode": "allowlist", "http": rules,
                                                         "allow": ["own.test:9001", "10.77.0.2:9001"]}}, file)
    os.mkdir(os.path.join(place, "work"))
    shutil.copy(bench, os.path.join(place, "work"))
    shutil.copy(cert, os.path.join(place, "work"))
    direct = lambda port, *more: order(bench, "client", "127.0.0.1", port, "own.test", cert, *more)
    inside = lambda name, *more: order(
        "env", f"SSL_CERT_FILE={cert}", sys.executable, "-c", COUNTED, SBX_RUN, "exec", "--workspace", os.path.join(place, "work"), "--timeout", "1m",
        "--profile", profiles[name], "-c", 'exec ./http_bench client "$(getent ahosts own.test | head -n1 | cut -d" " -f1)"'
        ' 9001 own.test "${SSL_CERT_FILE:-cert}" ' + " ".join(more))
    contenders = {
        "rules (sbx-http)": lambda *more: inside("rules", *more),
        "a plain TLS proxy of the same library": lambda *more: direct("9002", *more),
        "nginx, stream": (lambda *more: direct("9003", *more)) if has_nginx else None,
        "opaque gateway": lambda *more: inside("opaque", *more),
    }
    found = {name: ([], [], [], []) for name, each in contenders.items() if each}
    for i in range(rounds):
        names = list(found)
        for name in names[i % len(names):] + names[:i % len(names)]:
            for kind, words in enumerate((("/x", str(REQUESTS), "1"), ("/x", str(REQUESTS), str(MANY)), ("/big", "1", "1"))):
                before = nginx_cpu()
                reply = contenders[name](*words)
                if reply["code"] != 0:
                    sys.exit(f"{name}: {reply}")
                seconds, median, own, *all_of_it = map(float, reply["stdout"].split())
                cpu = all_of_it[0] - own if all_of_it else nginx_cpu() - before
                if kind == 1 and cpu > 0 and name in ("rules (sbx-http)", "nginx, stream"):
                    found[name][3].append(REQUESTS * MANY / cpu)
                found[name][kind].append((median, REQUESTS * MANY / seconds, 2 ** 30 / seconds / 1e6)[kind])
    print(f"| through | µs a request | requests/s, {MANY} connections | requests/s a core | MB/s of 1 GiB |\n"
          "|---|---:|---:|---:|---:|")
    for name, (one, many, big, core) in found.items():
        print(f"| {name} | {statistics.median(one):.0f} | {statistics.median(many):.0f} |"
              f" {format(statistics.median(core), '.0f') if core else ''} | {statistics.median(big):.0f} |")


if __name__ == "__main__":
    main()
