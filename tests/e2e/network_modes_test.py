# SPDX-License-Identifier: Apache-2.0
"""What each mode of the network lets through, from inside."""

import json

import harness
import world
from network_harness import PYTHON, Networked


class Modes(Networked):
    def test_outbound_reaches_the_outside_on_any_port_but_not_the_host(self):  # E5
        answer = self.sh("curl -sS http://other.test/; curl -sS http://10.77.0.1:8080/;"
                         " curl -sS -m5 http://10.77.0.2:8089/ || echo own;"
                         " curl -sS -m5 http://127.0.0.1:8088/ || echo loopback;"
                         " curl -sS -m5 http://loop.test:8088/ || echo name",
                         "--net", "outbound")
        self.assertEqual(answer["stdout"], "other.test/ outside\n10.77.0.1:8080/ outside-8080\n"
                         "own\nloopback\nname\n", answer)
        self.assertEqual(answer["sandbox"]["degraded"], [])

    def test_a_server_on_the_hosts_loopback_is_told_of_with_its_port(self):
        """As is meant by who starts one outside: nobody listens inside."""
        program = ("import socket, select\ns = socket.socket()\ns.setblocking(False)\n"
                   "print(s.connect_ex(('127.0.0.1', 8088)))\nselect.select([], [s], [s], 5)\n"
                   "print(s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))\n")
        for flags in ((), ("--allow-host", "allowed.test"), ("--net", "outbound")):
            answer = self.py(program, *flags)
            self.assertIn(answer["stdout"], ("111\n0\n", "115\n111\n"), answer)
            for answer in (answer, self.sh("curl -sS -m5 http://localhost:8088/ http://localhost:8089/", *flags)):
                self.assertEqual([(d["target"].rpartition(":")[2], d["grant"]) for d in answer["denials"]],
                                 [("8088", "network.host_ports += [8088]")], answer)
            answer = self.sh("curl -sS -m5 http://localhost:8088/", "--host-port", "8088", *flags)
            self.assertEqual((answer["exit_code"], answer["denials"]), (0, []), answer)
        # What listens inside is meant there, and at what nobody listens nothing is told.
        answer = self.sh("python3 -m http.server 8088 > /dev/null 2>&1 & until curl -sf -o /dev/null localhost:8088/;"
                         " do sleep 0.1; done; curl -sS localhost:8090; curl -sS 127.0.0.2:8099; kill %1")
        self.assertLessEqual({d["target"] for d in answer["denials"]}, {"127.0.0.1:8088", "[::1]:8088"}, answer)

    def test_nor_what_only_its_routes_make_its_own(self):
        for target in (world.ROUTED4, f"[{world.ROUTED6}]", "routed.test"):
            answer = self.sh(f"curl -sS -m5 -g http://{target}:8089/ || echo not", "--net", "outbound")
            self.assertEqual(answer["stdout"], "not\n", answer)
            self.assertEqual(len(answer["denials"]), 2 if target == "routed.test" else 1, answer)
        answer = self.sh(f"curl -sS http://{world.ROUTED4}:8089/", "--allow-host", world.ROUTED4 + ":8089")
        self.assertIn("hub-routed", answer["stdout"], answer)

    def test_open_is_the_hosts_network(self):
        answer = self.sh("curl -sS http://127.0.0.1:8088/; curl -sS http://other.test/", "--net", "open")
        self.assertEqual(answer["stdout"], "127.0.0.1:8088/ hub-loopback\nother.test/ outside\n",
                         answer)
        self.assertFalse(answer["sandbox"]["layers"]["net"])

    def test_none_reaches_nothing_and_says_what_was_tried(self):
        answer = self.sh("curl -sS -m5 http://10.77.0.1/ || curl -sS -m5 http://127.0.0.1:8088/"
                         " || echo nothing")
        self.assertEqual(answer["stdout"], "nothing\n", answer)
        self.assertIn("10.77.0.1:80", self.denials(answer))
        self.assertIn("10.77.0.1:80", self.denials(answer)["10.77.0.1:80"]["grant"])

    def test_a_name_that_none_cannot_resolve_is_told_with_its_grant(self):
        """The commonest refusal of all: whoever reads the answer learns that it was the policy."""
        answer = self.sh("curl -sS -m5 http://allowed.test/ || echo nothing")
        self.assertEqual(answer["stdout"], "nothing\n", answer)
        asked = list(self.denials(answer, "dns").values())
        self.assertEqual([(each["target"], each["grant"], each["program"]) for each in asked],
                         [("allowed.test",
                           'network.mode = "allowlist", network.allow += ["allowed.test"]', "curl")])
        # Also where there is a way to or from a port of the host's.
        for flags in (("--host-port", "8088"), ("--publish", "0:8000")):
            answer = self.sh("curl -sS -m5 http://127.0.0.1:8088/; curl -sS -m5 http://allowed.test/", *flags)
            self.assertEqual(answer["stdout"], "127.0.0.1:8088/ hub-loopback\n" * (flags[0] == "--host-port"), answer)
            self.assertEqual(list(self.denials(answer, "dns").values()), asked, answer)
        self.assertEqual(self.sh("curl -sS http://localhost:1/")["denials"], [])
        # Each of several, whoever asks, and nobody outside is asked.
        answer = self.sh(f"for i in 1 2 3; do {PYTHON} -c 'import socket, sys; socket.getaddrinfo("
                         "f\"host{sys.argv[1]}.test\", 80)' $i 2>/dev/null & done; wait")
        self.assertEqual(sorted(self.denials(answer, "dns")),
                         ["host1.test", "host2.test", "host3.test"])
        self.assertNotIn("host1.test", self.looked_up())

    def test_so_it_is_where_everything_of_the_host_shows(self):
        """The host's resolv.conf names a server that this network has no way to."""
        host = self.profile({"extends": "default", "filesystem": {"base": "host"}})
        answer = self.sh("curl -sS -m5 http://allowed.test/ || echo nothing", "--profile", host)
        self.assertEqual(answer["stdout"], "nothing\n", answer)
        self.assertEqual([(target, each["grant"])
                          for target, each in self.denials(answer, "dns").items()],
                         [("allowed.test",
                           'network.mode = "allowlist", network.allow += ["allowed.test"]')])
        # Whoever names the file gets the host's.
        read = "cat /etc/resolv.conf"
        theirs = "nameserver 10.77.0.1\noptions timeout:2 attempts:1\n"
        for flags in (("--net", "open"), ("--ro", "/etc"), ("--ro", "/etc/resolv.conf")):
            answer = self.sh(read, "--profile", host, *flags)
            self.assertEqual(answer["stdout"], theirs, (flags, answer))
        for flags in ((), ("--allow-host", "allowed.test")):
            self.assertNotEqual(self.sh(read, "--profile", host, *flags)["stdout"], theirs, flags)

    def test_a_name_of_the_hosts_file_is_the_gateways_to_find_there(self):
        """Who finds it alone asks for its address, which being allowed by name does not allow."""
        found = f"grep -c {world.LISTED} /etc/hosts; curl -sS -m5 http://{world.LISTED}/"
        host = self.profile({"extends": "default", "filesystem": {"base": "host"}})
        for flags in ((), ("--profile", host)):
            answer = self.sh(found, *flags, "--allow-host", world.LISTED)
            self.assertEqual((answer["exit_code"], answer["stdout"][:2]), (0, "0\n"), (flags, answer))
        for flags in ((), ("--net", "open"), ("--ro", "/etc/hosts", "--allow-host", world.LISTED)):
            answer = self.sh(found, "--profile", host, *flags)
            self.assertEqual(answer["stdout"][:2], "1\n", (flags, answer))
        answer = self.sh(f"getent hosts {world.LISTED} sandbox", "--net", "open")
        self.assertEqual([line.split()[1] for line in answer["stdout"].splitlines()],
                         [world.LISTED, "localhost"], answer)

    def test_what_a_command_closes_after_a_connect_is_closed(self):
        """The same address again and again, as clients have it that try one family after the other."""
        program = """
import socket
at = ("127.0.0.1", 0)
closed = socket.create_server(at).getsockname()
for i in range(500):
    with socket.socket() as client:
        client.bind(at)
        at = client.getsockname()
        assert client.connect_ex(closed) == 111
print("each")
"""
        answer = self.py(program)
        self.assertEqual((answer["stdout"], answer["denials"]), ("each\n", []), answer)

    def test_a_server_and_its_client_inside_can_talk(self):
        for flags in ((), ("--allow-host", "allowed.test"), ("--net", "outbound")):
            answer = self.py(
                "import socket\n"
                "for family, host in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')):\n"
                "    s = socket.create_server((host, 8088), family=family)\n"
                "    c = socket.create_connection((host, 8088)); s.accept()[0].sendall(b'hi')\n"
                "    print(c.recv(2))\n", *flags)
            self.assertEqual(answer["stdout"], "b'hi'\nb'hi'\n", answer)

    def test_host_ports_lead_to_the_hosts_loopback_in_every_mode_but_open(self):
        for mode in ("none", "allowlist", "outbound"):
            path = self.profile({"network": {"mode": mode, "host_ports": [8088]}})
            answer = self.sh("curl -sS http://127.0.0.1:8088/; curl -sS http://localhost:8088/;"
                             " curl -sS http://127.0.0.1:8089/", "--profile", path)
            self.assertEqual(answer["stdout"], "127.0.0.1:8088/ hub-loopback\n"
                             "localhost:8088/ hub-loopback\n", (mode, answer))

    def test_a_host_port_can_be_named_on_the_command_line(self):
        answer = self.sh("curl -sS http://127.0.0.1:8088/", "--host-port", "8088")
        self.assertEqual(answer["stdout"], "127.0.0.1:8088/ hub-loopback\n", answer)

    def test_where_nobody_listens_on_the_host_a_connect_is_refused(self):
        program = ("import select, socket, sys\n"
                   "for host, port in (each.rsplit(':', 1) for each in sys.argv[1:]):\n"
                   "    for waits in (True, False):\n"
                   "        s = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET)\n"
                   "        s.setblocking(waits)\n"
                   "        code = s.connect_ex((host, int(port)))\n"
                   "        if code == 115: select.select([], [s], [s], 5); code = s.getsockopt(1, 4)\n"
                   "        print(code, end=' ')\n")
        self.write("work/program.py", program)
        own = [f"{world.HUB4}:9", f"{world.ROUTED4}:9", f"{world.HUB6}:9"]
        allowed = [flag for each in own for flag in ("--allow-host", f"[{world.HUB6}]:9" if each == own[2] else each)]
        for targets, flags in ((["127.0.0.1:9", "::1:9"], ["--host-port", "9"]),
                               (["127.0.0.1:9"], ["--allow-host", "127.0.0.1:9"]), (own, allowed)):
            answer = self.run_json(*flags, "--", PYTHON, "program.py", *targets, *targets)
            self.assertEqual(answer["stdout"], "111 " * 4 * len(targets), (flags, answer))
            self.assertEqual((answer["denials"], answer.get("connections")), ([], None), (flags, answer))
        answer = self.run_json("--host-port", "8088", "--", PYTHON, "program.py", "127.0.0.1:8088", "::1:8088")
        self.assertEqual(answer["stdout"], "0 0 0 0 ", answer)
        # A server inside comes first.
        answer = self.py("import socket\ns = socket.create_server(('127.0.0.1', 9))\n"
                         "socket.create_connection(('127.0.0.1', 9)).sendall(b'mine')\n"
                         "print(s.accept()[0].recv(4))", "--host-port", "9")
        self.assertEqual(answer["stdout"], "b'mine'\n", answer)

    def test_a_strict_filter_lets_what_the_policy_allows_be_reached(self):
        strict = ("--profile", "strict")
        answer = self.sh("curl -sS http://127.0.0.1:8088/", *strict, "--host-port", "8088")
        self.assertEqual(answer["stdout"], "127.0.0.1:8088/ hub-loopback\n", answer)
        answer = self.sh("curl -sS http://allowed.test/", *strict, "--allow-host", "allowed.test")
        self.assertEqual(answer["stdout"], "allowed.test/ outside\n", answer)
        self.assertNotEqual(self.sh("/usr/bin/python3 -c 'import socket; socket.socket()'", *strict)["exit_code"], 0)

    def test_a_request_without_network_has_no_host_port(self):
        for network, said in ((True, "127.0.0.1:8088/ hub-loopback\n"), (False, "nothing\n")):
            mode = {} if network else {"network": False}
            params = self.write("params.json", json.dumps(
                {"command": "curl -sS -m5 http://127.0.0.1:8088/ || echo nothing", **mode}))
            answer = self.run_json("call", "run", "--host-port", "8088", "--params", params)
            self.assertEqual(answer["stdout"], said, answer)

    def test_host_ports_open_nothing_else_of_127_8(self):
        for mode in ("none", "allowlist", "outbound"):
            path = self.profile({"network": {"mode": mode, "host_ports": [8088, 8099]}})
            answer = self.py(
                "import socket\n"
                "for to in ('127.0.0.2', 8099), ('127.0.0.3', 8088):\n"
                "    try: print(socket.create_connection(to, timeout=20))\n"
                "    except ConnectionRefusedError: print('refused')\n"
                "s = socket.create_server(('127.0.0.2', 8088))\n"  # the sandbox's own
                "socket.create_connection(('127.0.0.2', 8088)); s.accept(); print('own')\n",
                "--profile", path)
            self.assertEqual(answer["stdout"], "refused\nrefused\nown\n", (mode, answer))

    def test_a_published_port_shows_a_server_inside(self):
        self.write("work/index.html", "published\n")
        reply = self.world.order(
            argv=[harness.SBX_RUN, "--publish", "18000:8000", "--timeout", "20s", "--",
                  PYTHON, "-m", "http.server", "8000", "--bind", "127.0.0.1"],
            cwd=self.work, background="server")
        self.assertIsNone(reply["code"])
        fetch = ["curl", "-sS", "--retry", "40", "--retry-delay", "0", "--retry-max-time", "10",
                 "--retry-all-errors", "http://127.0.0.1:18000/"]
        self.assertEqual(self.world.order(argv=fetch, cwd=self.work)["stdout"], "published\n")
        pid = self.world.order(argv=["sh", "-c", "pgrep -nf 'publish 18000:8000'"],
                               cwd=self.work)["stdout"].strip()
        self.world.order(argv=["kill", pid], cwd=self.work)
        answer = json.loads(self.world.order(argv=["true"], cwd=self.work, wait="server")["stdout"])
        self.assertEqual(answer["sandbox"]["published"],
                         [{"host": "127.0.0.1:18000", "port": 8000}])

    def test_a_published_port_leads_nobody_inside_back_to_it(self):
        wait = ("sleep 1; python3 -m http.server 18002 --bind 127.0.0.1 >/dev/null 2>&1 & until curl -sf -o /dev/null"
                " localhost:18002/; do sleep 0.1; done; kill $!; echo up")
        for flags in ((), ("--host-port", "18002"), ("--allow-host", "127.0.0.1:18002")):
            answer = self.sh(wait, "--publish", "18002", *flags)
            self.assertEqual((answer["stdout"], answer["denials"], answer.get("connections")),
                             ("up\n", [], None), (flags, answer))
            # Where nobody listens inside it is refused at once.
            answer = self.sh("curl -sS -m5 127.0.0.1:18002/ || echo $?", "--publish", "18002", *flags)
            self.assertEqual((answer["stdout"], answer["denials"], answer.get("connections")),
                             ("7\n", [], None), (flags, answer))

    def test_the_operators_variable_grants_and_takes_the_network(self):  # C7
        command = "curl -sS -m5 http://other.test/ || echo none"
        for value, profile, expected in (("true", "default", "other.test/ outside\n"),
                                         ("false", "network", "none\n")):
            reply = self.world.order(
                argv=["env", f"SBX_ALLOW_NETWORK={value}", harness.SBX_RUN, "--profile", profile,
                      "-c", command], cwd=self.work)
            self.assertEqual(json.loads(reply["stdout"])["stdout"], expected, reply)
