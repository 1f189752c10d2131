# SPDX-License-Identifier: Apache-2.0
"""Random network policies and connects in the world of world.py: what is reached is what a model says, and what is not
is reached once the grants of its denials are in. A seed that fails is named, and makes the same policy again."""

import ipaddress
import json
import random
import re

import world
from network_harness import PYTHON, Networked

SEEDS = 20
ROUNDS = 4  # of grants: the name, its address, that with its port

NAMES = {**{name: there for name, there in world.NAMES.items() if name.endswith(".test")},
         world.LISTED: [world.OUTSIDE4], "wild.test": [], "nothing.test": [], "deep.sub.wild.test": []}
ADDRESSES = [world.OUTSIDE4, world.OUTSIDE6, world.HUB4, world.HUB6, world.SERVICES4, world.ROUTED4, world.ROUTED6, "127.0.0.1",
             "::1", "127.0.0.2", "169.254.169.254", "64:ff9b::a4d:1"]
NETWORKS = ["10.0.0.0/8", "10.77.0.0/24", "0.0.0.0/0", "[::/0]", "127.0.0.0/8", "[fd77::/64]"]
PORTS = [80, 8080, 443, 7000, 8088, 8089, 8099]
SERVED = {**{(address, port): said for address in (world.OUTSIDE4, world.OUTSIDE6)
             for port, said in ((80, "outside"), (8080, "outside-8080"), (7000, "echo"))},
          (world.OUTSIDE4, 443): "tls", (world.HUB4, 8089): "hub-own", (world.ROUTED4, 8089): "hub-routed",
          ("127.0.0.1", 8088): "hub-loopback", ("127.0.0.2", 8099): "hub-second-loopback"}
OF_THE_HOST = [ipaddress.ip_network(network) for network in
               ("127.0.0.0/8", "::1", "169.254.0.0/16", world.HUB4, world.HUB6, "10.78.0.0/24", "fd78::/64")]

PROBE = r"""
import json, socket, ssl, sys, threading
servers, targets = json.loads(sys.argv[1])
def serve(server):
    while True:
        client = server.accept()[0]
        client.recv(999); client.sendall(b"HTTP/1.1 200 OK\r\n\r\ninside"); client.close()
for address, port in servers:
    server = socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
    threading.Thread(target=serve, args=(server,), daemon=True).start()
def reached(host, port):
    try:
        with socket.create_connection((host, port), timeout=8) as s:
            if port == 443:
                context = ssl._create_unverified_context()
                s = context.wrap_socket(s, server_hostname=host.rstrip("."))
            s.sendall(b"ping" if port == 7000 else b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % host.rstrip(".").encode())
            if port == 7000:
                return "echo" if s.recv(99) == b"ping" else None
            return (b"".join(iter(lambda: s.recv(65536), b"")).split() or [b""])[-1].decode() or None
    except OSError:
        return None
print(json.dumps([reached(*target) for target in targets]))
"""


def is_of_the_host(address):
    return any(address in network for network in OF_THE_HOST if network.version == address.version)


class Rules:
    def __init__(self, mode, allow, host_ports):
        self.mode, self.allow, self.host_ports = mode, list(allow), list(host_ports)

    def document(self):
        allow = {"allow": self.allow} if self.mode != "none" else {}
        return {"extends": "default", "network": {"mode": self.mode, "host_ports": self.host_ports, **allow}}

    def entries(self, port):
        """The hosts that are listed with this port."""
        for entry in self.allow if self.mode != "none" else ():
            host, ports = re.fullmatch(r"\[?([^]]*?)\]?(?::(\d+))?", entry).groups() if entry.count(":") < 2 or "[" in entry \
                else (entry, None)
            if port in ([int(ports)] if ports else [80, 443]):
                yield host.lower()

    def lists(self, address, port):
        for host in self.entries(port):
            try:
                network = ipaddress.ip_network(host)
            except ValueError:
                continue
            if network.version == address.version and address in network:
                if network.prefixlen >= 8 or not is_of_the_host(address):
                    return True
        return False

    def names(self, name, port):
        return self.mode == "outbound" or any(
            host == name or host.startswith("*.") and name.endswith(host[1:]) for host in self.entries(port))

    def lets(self, address, port):
        address = ipaddress.ip_address(address)
        return self.lists(address, port) or self.mode == "outbound" and not is_of_the_host(address)

    def take(self, grant):
        """Whether that is news."""
        found = re.fullmatch(r'(network\.mode = "allowlist", )?network\.(allow|host_ports) \+= (\[.*\])', grant)
        if not found:
            return False
        if found[1] and self.mode == "none":
            self.mode, self.allow = "allowlist", []
        to = self.allow if found[2] == "allow" else self.host_ports
        fresh = [value for value in json.loads(found[3]) if value not in to]
        to += fresh
        return fresh != []


class Model(Networked):
    def expected(self, rules, servers, host, port):
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            name = host.lower().rstrip(".")
            held = [there for there in NAMES[name] if not is_of_the_host(ipaddress.ip_address(there))
                    or rules.lists(ipaddress.ip_address(there), port)]
            return next(filter(None, (SERVED.get((there, port)) for there in held)), None) if rules.names(name, port) else None
        if address.is_loopback:
            if (host, port) in servers:
                return "inside"
            if port in rules.host_ports and host in ("127.0.0.1", "::1"):
                return SERVED.get(("127.0.0.1", port))
        return SERVED.get((host, port)) if rules.lets(host, port) else None

    def could_be(self, servers, host, port):
        """What is there for who may go anywhere. The rest of 127.0.0.0/8 is the sandbox's own."""
        every = Rules("allowlist", [], [8088])
        every.lists = every.names = lambda *_: True
        return self.expected(every, servers, host, port)

    def probe(self, rules, servers, targets):
        answer = self.run_json("--profile", self.profile(rules.document()), "--", PYTHON, "-c", PROBE,
                               json.dumps([servers, targets]))
        self.assertEqual((answer["status"], answer["exit_code"]), ("exited", 0), answer)
        return answer, json.loads(answer["stdout"])

    def entry(self, choose):
        host = choose.choice([*NAMES, "*.wild.test", "*.test", *ADDRESSES, *NETWORKS])
        port = choose.choice([None, *PORTS, *PORTS])
        if ":" in host and "[" not in host:
            host = f"[{host}]"
        return host if port is None else f"{host}:{port}"

    def compare(self, seed):
        choose = random.Random(seed)
        rules = Rules(choose.choice(["none", "outbound", "allowlist", "allowlist", "allowlist"]),
                      [self.entry(choose) for _ in range(choose.randint(1, 7))],
                      choose.sample([8088, 8099, 80, 5000], choose.randint(0, 2)))
        servers = choose.sample([(a, p) for a in ("127.0.0.1", "::1") for p in (5000, 8080, 9999)], choose.randint(0, 2))
        targets = [(choose.choice([*NAMES, *ADDRESSES, "ALLOWED.test", "other.test."]), choose.choice([*PORTS, 9999]))
                   for _ in range(14)]
        answer, found = self.probe(rules, servers, targets)
        self.assertEqual(found, [self.expected(rules, servers, *target) for target in targets], (rules.document(), targets))
        for _ in range(ROUNDS):
            if not any([rules.take(denial["grant"]) for denial in answer["denials"]]):
                break
            answer, found = self.probe(rules, servers, targets)
        for target, reached in zip(targets, found):
            if target[0] not in ("::1", "127.0.0.2"):  # host ports are those of 127.0.0.1
                self.assertEqual(reached, self.could_be(servers, *target), (target, rules.document(), answer["denials"]))

    def test_what_is_reached_and_what_the_grants_let_be_reached(self):
        for seed in range(SEEDS):
            with self.subTest(seed=seed):
                self.compare(seed)
