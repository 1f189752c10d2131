# SPDX-License-Identifier: Apache-2.0
"""sbx-run in containers of podman and crun, rootful and rootless: what docs/containers.md says of
each. As root: each container in a mount namespace of the test's own, in which no cgroup tree is (crun
refuses hybrid ones) and whose end is that of podman's own helpers. Only the image's own files: busybox and sbx-run."""

import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

from harness import BOUND, SBX_RUN, SOURCE, until  # noqa: E402

USER = "sbxtest"
# Flags → the layers of `default` that cannot be had, and what degrades where that is allowed.
UNMASKED = ["--security-opt", "unmask=ALL"]
FREE = UNMASKED + ["--security-opt", "seccomp=unconfined"]
# The security contexts of examples/kubernetes, on an empty volume that anybody may write.
POD = ["--cap-drop=ALL", "--security-opt", "no-new-privileges", "--security-opt", "seccomp=unconfined", "--user=1000:1000",
       "--tmpfs=/workspace:rw,mode=0777", "--tmpfs=/tmp:rw,mode=1777"]
KINDS = {"default": ([], {"uts", "proc"}), "unmasked": (UNMASKED, {"uts"}), "free": (FREE, set()),
         "unfiltered": (["--security-opt", "seccomp=unconfined"], {"proc"}), "privileged": (["--privileged"], set()),
         "pod": (POD, {"proc"}), "pod-hostusers": (POD + UNMASKED, set())}
SCRIPT = r"""
mount -t tmpfs tmpfs /sys/fs/cgroup
for file in subuid subgid; do mount --bind "$1/$file" "/etc/$file"; done
shift
cd /
exec "$@"
"""


def has_user():
    try:
        return bool(pwd.getpwnam(USER))
    except KeyError:
        return False


@unittest.skipUnless(os.geteuid() == 0, "containers are started as root, and from there as a user")
@unittest.skipUnless(shutil.which("podman") and shutil.which("crun") and shutil.which("busybox"),
                     "no podman, crun and busybox here (scripts/deps containers)")
class Podman(unittest.TestCase):
    def setUp(self):
        self.base = tempfile.mkdtemp(prefix="sbx-containers-", dir="/var/tmp")
        self.addCleanup(subprocess.run, ["rm", "-rf", self.base], check=False)
        os.chmod(self.base, 0o755)
        self.root = os.path.join(self.base, "root")
        for name in ("bin", "tmp", "etc", "proc", "sys", "dev", "usr/bin", "lib", "workspace", "mnt"):
            os.makedirs(os.path.join(self.root, name))
        shutil.copy(shutil.which("busybox"), f"{self.root}/bin/busybox")
        for name in ("sh", "cat", "id", "env"):
            os.symlink("busybox", f"{self.root}/bin/{name}")
        shutil.copy(SBX_RUN, f"{self.root}/bin/sbx-run")
        for name in ("subuid", "subgid"):
            with open(os.path.join(self.base, name), "w") as file:
                file.write(f"{USER}:100000:65536\n")
        for name in ("subuid", "subgid"):
            if not os.path.exists(f"/etc/{name}"):
                self.skipTest(f"no /etc/{name} here (package uidmap)")

    def podman(self, flags, *command, user=None):
        prefix = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh",
                  "-c", SCRIPT, "sh", self.base]
        if user:
            home = os.path.join(self.base, "home")
            os.makedirs(home, exist_ok=True)
            shutil.chown(home, user)
            subprocess.run(["chown", "-R", f"{user}:", self.root], check=True)
            prefix += ["setpriv", f"--reuid={user}", f"--regid={pwd.getpwnam(user).pw_gid}",
                       "--init-groups", "env", f"HOME={home}", f"XDG_RUNTIME_DIR={home}"]
        storage = [] if user else ["--root", f"{self.base}/storage", "--runroot",
                                   f"{self.base}/run"]
        return subprocess.run(
            [*prefix, "podman", *storage, "--cgroup-manager=cgroupfs", "--runtime", "crun",
             "--events-backend=none", "run", "--rm", "--network=none", "--cgroups=disabled",
             "--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096", "--workdir=/workspace", *flags,
             "--rootfs", self.root, *command],
            capture_output=True, text=True, timeout=2 * BOUND, check=False)

    def run_in(self, flags, *more, user=None):
        done = self.podman(flags, "/bin/sbx-run", "--format", "json", *more, "--", "/bin/sh", "-c",
                           "echo inside",
                           user=user)
        try:
            return json.loads(done.stdout)
        except ValueError:
            self.skipTest(f"podman does not run here: {done.stderr[-300:]}")

    def check(self, kind, user):
        flags, missing = KINDS[kind]
        strict = self.run_in(flags, user=user)
        weaker = self.run_in(flags, "--allow-degraded", user=user)
        self.assertEqual(weaker["stdout"], "inside\n", weaker["error"])
        self.assertEqual({item["what"] for item in weaker["sandbox"]["degraded"]} &
                         {"user", "mount", "pid", "net", "ipc", "uts", "proc", "seccomp",
                          "landlock"}, missing)
        for layer in ("user", "mount", "net", "seccomp", "no_new_privs"):
            self.assertEqual(weaker["sandbox"]["layers"][layer], True, layer)
        if missing:
            # Nothing ran, and it says which layer and which flag gives it.
            self.assertEqual((strict["status"], strict["error"]["code"]),
                             ("error", "layer_unavailable"))
            self.assertRegex(strict["error"]["hint"], "seccomp|unmask|systempaths")
        else:
            self.assertEqual(strict["stdout"], "inside\n", strict["error"])

    def check_all(self, user):
        for kind in KINDS:
            with self.subTest(kind):
                self.check(kind, user)

    def test_rootful(self):
        self.check_all(None)

    @unittest.skipUnless(has_user(), f"no user {USER} here")
    def test_rootless(self):
        self.check_all(USER)

    @unittest.skipUnless(has_user(), f"no user {USER} here")
    @unittest.skipUnless(shutil.which("newuidmap"), "no newuidmap here (package uidmap)")
    def test_keeps_ids(self):
        done = self.podman(["--userns=keep-id", *FREE], "/bin/id", "-u", user=USER)
        if done.returncode != 0:
            self.skipTest(f"podman keeps no ids here: {done.stderr[-300:]}")
        self.assertEqual(done.stdout.strip(), str(pwd.getpwnam(USER).pw_uid))
        os.chmod(f"{self.root}/workspace", 0o777)
        answer = self.run_in(["--userns=keep-id", *FREE], user=USER)
        self.assertEqual(answer["stdout"], "inside\n", answer["error"])

    def test_the_doctor_says_what_is_missing_and_the_flag_that_gives_it(self):
        for kind, words in (("default", ["uts", "pid"]), ("free", [])):
            done = self.podman(KINDS[kind][0], "/bin/sbx-run", "doctor")
            if "Layers" not in done.stdout:
                self.skipTest(f"podman does not run here: {done.stderr[-300:]}")
            missing = re.findall(r"^  (\w+) +NO ", done.stdout, re.MULTILINE)
            self.assertEqual(sorted(missing), sorted(words), done.stdout)
            self.assertIn("runs in: podman", done.stdout)
            self.assertEqual("mend: podman run --security-opt seccomp=unconfined" in done.stdout, bool(words))


def lost(given, kept, at=""):
    """Where `kept` lacks something of `given`, or has it otherwise."""
    if isinstance(given, dict) and isinstance(kept, dict):
        return [where for key, value in given.items() for where in lost(value, kept.get(key), f"{at}/{key}")]
    if isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        return [where for i, value in enumerate(given) for where in lost(value, kept[i], f"{at}/{i}")]
    return [] if given == kept else [at]


class Manifests(unittest.TestCase):
    """Their shape is held against what the page says and, where there is a kubectl, against its types;
    their security contexts are those of the containers above."""

    def as_kubectl_reads(self, pod):
        """Its types drop what they do not know; no server is asked."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(pod, file)
            file.flush()
            done = subprocess.run(["kubectl", "set", "image", "--local", "-f", file.name, "-o", "json",
                                   "*=other"],
                                  capture_output=True, text=True, timeout=60, check=True)
        read = json.loads(done.stdout)
        for container in read["spec"]["containers"]:
            self.assertEqual(container["image"], "other")
            container["image"] = "YOUR_IMAGE"
        return read

    @unittest.skipUnless(shutil.which("kubectl"), "no kubectl here")
    def test_hold_nothing_that_kubernetes_does_not_know(self):
        version = json.loads(subprocess.run(["kubectl", "version", "--client", "-o", "json"], check=True,
                                            capture_output=True, text=True, timeout=60).stdout)
        minor = int(re.match(r"\d+", version["clientVersion"]["minor"])[0])
        if minor < 30:
            self.skipTest(f"kubectl 1.{minor} is older than hostUsers")
        directory = os.path.join(SOURCE, "examples", "kubernetes")
        for name in sorted(os.listdir(directory)):
            with open(os.path.join(directory, name)) as file:
                pod = json.load(file)
            self.assertEqual(lost(pod, self.as_kubectl_reads(pod)), [], name)
            pod["spec"]["hostUserz"] = False  # so would a misspelt key be found
            self.assertEqual(lost(pod, self.as_kubectl_reads(pod)), ["/spec/hostUserz"])

    def test_wait_for_tasks_and_stay_when_they_are_done(self):
        directory = os.path.join(SOURCE, "examples", "kubernetes")
        for name in sorted(os.listdir(directory)):
            with self.subTest(name), tempfile.TemporaryDirectory() as work:
                with open(os.path.join(directory, name)) as file:
                    container = json.load(file)["spec"]["containers"][0]
                ended = os.path.join(work, "ended")
                self.assertEqual(container["readinessProbe"]["exec"]["command"], ["test", "-e", "/tmp/ended"])
                os.mkdir(work + "/workspace")
                self.assertEqual(container["command"][:2], ["sh", "-c"])
                script = container["command"][2].replace("/workspace", work + "/workspace").replace("/tmp/ended", ended)
                pod = subprocess.Popen(["sh", "-c", script], stderr=subprocess.PIPE, env={
                    **os.environ, "PATH": f"{os.path.dirname(SBX_RUN)}:{os.environ['PATH']}"})
                try:
                    with open(work + "/workspace/tasks.part", "w") as file:
                        file.write('{"id": "a", "command": "true"}\n')
                    os.rename(work + "/workspace/tasks.part", work + "/workspace/tasks.jsonl")
                    self.assertTrue(until(lambda: os.path.exists(ended) and os.path.getsize(ended)))
                    with open(ended) as status, open(work + "/workspace/results.jsonl") as results:
                        self.assertEqual((status.read(), len(results.readlines())), ("0\n", 1))
                    self.assertIsNone(pod.poll())
                finally:
                    pod.kill()
                    pod.communicate()

    def test_have_the_security_contexts_that_are_tried(self):
        for name in ("pod", "pod-hostusers"):
            with open(os.path.join(SOURCE, "examples", "kubernetes", name + ".json")) as file:
                context = json.load(file)["spec"]["containers"][0]["securityContext"]
            tried = {"allowPrivilegeEscalation": False, "runAsUser": 1000, "runAsGroup": 1000,
                     "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "Unconfined"}}
            more = {"runAsNonRoot": True} if name == "pod" else {"procMount": "Unmasked"}
            self.assertEqual(context, {**tried, **more})
            self.assertEqual(UNMASKED[1] in KINDS[name][0], "procMount" in context)

    def test_are_objects_of_a_known_kind_with_limits(self):
        directory = os.path.join(SOURCE, "examples", "kubernetes")
        names = sorted(os.listdir(directory))
        self.assertEqual(names, ["pod-hostusers.json", "pod.json"])
        for name in names:
            with open(os.path.join(directory, name)) as file:
                pod = json.load(file)
            self.assertEqual((pod["apiVersion"], pod["kind"]), ("v1", "Pod"))
            container = pod["spec"]["containers"][0]
            self.assertIn("limits", container["resources"])
            self.assertIs(container["securityContext"]["allowPrivilegeEscalation"], False)
            self.assertEqual(pod["spec"].get("hostUsers"), False if "hostusers" in name else None)
            with open(os.path.join(SOURCE, "docs", "kubernetes.md")) as page:
                self.assertIn(f"examples/kubernetes/{name}", page.read())
