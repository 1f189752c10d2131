# SPDX-License-Identifier: Apache-2.0
"""Real programs against a real TLS server, through the gateway that ends TLS: none of them is told of
the session's authority but by what sbx sets, and each sends a credential that it never had."""

import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import unittest
import zipfile

from http_test import HOST, SECRET, URL, Http


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


class Programs(Http):
    ENV = {"TOKEN": SECRET}
    BEARER = {"name": "TOKEN", "host": HOST, "header": "Authorization", "value": "Bearer ${secret}",
              "from": {"env": "TOKEN"}}
    BASIC = {"name": "TOKEN", "host": HOST, "basic": "me", "from": {"env": "TOKEN"}}

    def www(self, name, data=b""):
        path = os.path.join(self.place, "www", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if data:
            with open(path, "wb") as file:
                file.write(data)
        return path

    def through(self, command, credential=None, *flags):
        """Runs it with the credential bound; the requests that the server saw."""
        answer = self.sh(command, *self.rules(credentials=(credential or self.BEARER,)), *flags,
                         "--timeout", "120s")
        self.assertEqual(answer["exit_code"], 0, answer)
        self.assertNotIn(SECRET, answer["stdout"] + answer["stderr"])
        seen = self.seen()
        self.assertGreater(len(seen), 0, answer)
        return answer, seen

    def sends_the_secret(self, command):
        """Whether a program of one request put the bearer where it belongs."""
        answer, seen = self.through(command)
        self.assertEqual(seen[-1]["headers"]["authorization"], f"Bearer {SECRET}", answer)
        self.assertIn("/x", answer["stdout"])

    def test_curl(self):
        self.sends_the_secret(f'curl -sS -H "Authorization: Bearer $TOKEN" {URL}/x')

    @needs("wget")
    def test_wget(self):
        self.sends_the_secret(f'wget -qO- --header="Authorization: Bearer $TOKEN" {URL}/x')

    def test_python(self):
        self.write("work/get.py", "import os, urllib.request as u\n"
                   f"print(u.urlopen(u.Request('{URL}/x', headers={{'Authorization':"
                   " 'Bearer ' + os.environ['TOKEN']})).read().decode())\n")
        self.sends_the_secret("/usr/bin/python3 get.py")

    @needs("node")
    def test_node_fetch(self):
        self.write("work/get.mjs", f"const answer = await fetch('{URL}/x', {{headers: {{authorization:"
                   " `Bearer ${process.env.TOKEN}`}});\nconsole.log(await answer.text());\n")
        self.sends_the_secret("node get.mjs")

    @needs("php")
    def test_php(self):
        self.write("work/get.php", "<?php echo file_get_contents('" + URL + "/x', false,"
                   "stream_context_create(['http' => ['header' =>"
                   " 'Authorization: Bearer ' . getenv('TOKEN')]]));")
        self.sends_the_secret("php get.php")

    @needs("ruby")
    def test_ruby(self):
        self.write("work/get.rb", "require 'net/http'\n"
                   f"uri = URI('{URL}/x')\n"
                   "puts Net::HTTP.get(uri, {'Authorization' => \"Bearer #{ENV['TOKEN']}\"})\n")
        self.sends_the_secret("ruby get.rb")

    @needs("java")
    def test_java(self):
        self.write("work/Get.java", """
import java.net.URI;
import java.net.http.*;
public class Get {
  public static void main(String[] arguments) throws Exception {
    var request = HttpRequest.newBuilder(URI.create("%s/x"))
        .header("Authorization", "Bearer " + System.getenv("TOKEN")).build();
    System.out.println(HttpClient.newHttpClient()
        .send(request, HttpResponse.BodyHandlers.ofString()).body());
  }
}
""" % URL)
        self.sends_the_secret("java Get.java")

    @needs("git")
    def test_git_clones_with_a_password_that_it_does_not_have(self):
        repository = self.www("r.git/x")[:-2]
        run = lambda *words: subprocess.run(["git", *words], check=True, capture_output=True)
        source = os.path.join(self.base, "source")
        run("init", "-q", source)
        self.write("source/file", "content\n")
        run("-C", source, "add", "file")
        run("-C", source, "-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m")
        run("clone", "-q", "--bare", source, repository)
        run("-C", repository, "update-server-info")
        answer, seen = self.through(
            f"git -c http.extraHeader=\"Authorization: Basic $(printf me:$TOKEN | base64 -w0)\""
            f" clone -q {URL}/www/r.git got && cat got/file", self.BASIC)
        self.assertEqual(answer["stdout"], "content\n")
        wanted = "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode()
        self.assertEqual({each["headers"].get("authorization") for each in seen}, {wanted})

    @needs("git")
    def test_git_clones_and_pushes_as_git_does(self):
        """Over git's own protocol, with a password of a helper's that is the placeholder."""
        repository = os.path.join(self.place, "git", "app.git")
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", repository], check=True)
        subprocess.run(["git", "-C", repository, "config", "http.receivepack", "true"], check=True)
        helper = "!f() { echo username=me; echo password=$TOKEN; }; f"
        answer, seen = self.through(
            f"git config --global credential.helper '{helper}' && git config --global user.email a@b.test &&"
            f" git clone -q {URL}/git/app.git got && cd got && git checkout -qb main && head -c 2000000"
            " /dev/urandom > file && git add file && git -c user.name=n commit -qm m && git push -q origin main &&"
            f" cd .. && git clone -q {URL}/git/app.git again && cmp got/file again/file && echo same",
            {**self.BASIC})
        self.assertEqual(answer["stdout"], "same\n")
        self.assertIn("/git/app.git/git-receive-pack", [each["target"] for each in seen])

    # Debian's own: another may be a shim that looks for its tools in a home that is not there.
    @unittest.skipUnless(os.path.exists("/usr/bin/cargo"), "cargo is not installed")
    def test_cargo_fetches_a_crate_and_asks_its_registry(self):
        index = os.path.join(self.base, "index")
        crate = self.www("crates/thing-1.0.0.crate", b"-")
        with tarfile.open(crate, "w:gz") as archive:
            for name, text in (("Cargo.toml", '[package]\nname = "thing"\nversion = "1.0.0"\n'), ("src/lib.rs", "")):
                entry = tarfile.TarInfo("thing-1.0.0/" + name)
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text.encode()))
        with open(crate, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        self.write("index/config.json", json.dumps({"dl": f"{URL}/www/crates/{{crate}}-{{version}}.crate",
                                                    "api": f"{URL}/www"}))
        self.write("index/th/in/thing", json.dumps({"name": "thing", "vers": "1.0.0", "deps": [], "cksum": digest,
                                                    "features": {}, "yanked": False}) + "\n")
        self.www("api/v1/crates/thing/owners", b'{"users": [{"id": 1, "login": "ann", "name": "Ann"}]}')
        repository = os.path.join(self.place, "git", "index.git")
        run = lambda *words: subprocess.run(["git", "-C", index, *words], check=True, capture_output=True)
        run("init", "-q", "-b", "master")
        run("add", ".")
        run("-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m")
        subprocess.run(["git", "clone", "-q", "--bare", index, repository], check=True)
        self.write("work/.cargo/config.toml", f'[registries.own]\nindex = "{URL}/git/index.git"\n')
        self.write("work/Cargo.toml", '[package]\nname = "x"\nversion = "0.1.0"\n[dependencies]\n'
                   'thing = {version = "1", registry = "own"}\n')
        self.write("work/src/lib.rs", "")
        answer, seen = self.through("/usr/bin/cargo fetch -q && grep -c thing Cargo.lock &&"
                                    " /usr/bin/cargo owner --list thing --registry own --token $TOKEN",
                                    {"name": "TOKEN", "host": HOST, "header": "Authorization", "from": {"env": "TOKEN"}})
        self.assertIn("ann", answer["stdout"])
        self.assertIn("/www/crates/thing-1.0.0.crate", [each["target"] for each in seen])
        self.assertEqual(seen[-1]["headers"]["authorization"], SECRET)

    # Of an address: its certificate is made for that alone.
    ADDRESSED = """if True:
        import http.server, ssl, sys
        class One(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"addressed\\n")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("address.pem", "address.key")
        server = http.server.ThreadingHTTPServer(("10.77.0.2", 8449), One)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.serve_forever()
    """

    def test_each_believes_a_literal_address(self):
        order, host = self.world.order, "10.77.0.2:8449"
        order(argv=["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", "address.key", "-out", "address.pem", "-days", "2", "-subj", "/CN=x", "-addext",
                    "subjectAltName=IP:10.77.0.2"], cwd=self.place)
        order(argv=["/usr/bin/python3", "-c", self.ADDRESSED], cwd=self.place, background="addressed")
        order(argv=["bash", "-c", "until exec 3<>/dev/tcp/10.77.0.2/8449; do sleep 0.05; done"], cwd=self.place)
        self.ENV = {"SSL_CERT_FILE": os.path.join(self.place, "address.pem")}
        commands = {"curl": f"curl -sS https://{host}/", "wget": f"wget -qO- https://{host}/",
                    "python3": f"/usr/bin/python3 -c 'import urllib.request as u; print(u.urlopen(\"https://{host}/\").read())'",
                    "node": f"node -e 'fetch(\"https://{host}/\").then((a) => a.text()).then(console.log)'"}
        for rules in ([{"host": host}], [{"host": host}, {"host": HOST}]):
            for program, command in commands.items():
                if shutil.which(program) is None:
                    print(f"{program} is not installed")
                    continue
                with self.subTest(program):
                    answer = self.sh(command, *self.rules(rules, allow=(host, HOST)))
                    self.assertIn("addressed", answer["stdout"], answer)

    @needs("gh")
    def test_gh_asks_githubs_api(self):
        host = "api.github.com:443"
        answer = self.sh("GH_TOKEN=$TOKEN gh api user; GH_TOKEN=$TOKEN gh api graphql -f query='{viewer{login}}'",
                         *self.rules(credentials=({**self.BEARER, "host": host},), allow=(host,)), "--timeout", "60s")
        self.assertEqual(answer["denials"], [], answer)
        self.assertEqual([(each["target"], each["headers"]["authorization"]) for each in self.seen()],
                         [("/user", f"Bearer {SECRET}"), ("/graphql", f"Bearer {SECRET}")], answer)

    def test_what_a_program_prints_says_what_was_refused_and_what_would_allow_it(self):
        """curl shows the answer, npm its member `error`, git what is plain text."""
        self.write("work/.npmrc", f"registry={URL}/\n")
        for program, command in (("curl", f"curl -sS {URL}/x"), ("git", f"git ls-remote {URL}/r.git"),
                                 ("npm", "npm ping --fetch-retries=0")):
            if shutil.which(program) is None:
                print(f"{program} is not installed")
                continue
            with self.subTest(program):
                answer = self.sh(f"{command} 2>&1", *self.rules(http=({"host": HOST, "paths": ["/other/**"]},)),
                                 "--timeout", "60s")
                self.assertIn("refused by the sandbox's policy: no rule of network.http allows it", answer["stdout"])
                self.assertIn("grant: network.http +=", answer["stdout"].replace("\\", ""))
                self.assertIn("http", {each["operation"] for each in answer["denials"]})

    @unittest.skipUnless(os.path.exists("/usr/bin/pip3"), "pip is not installed")
    def test_pip_downloads_from_an_index(self):
        wheel = self.www("simple/thing/thing-1.0-py3-none-any.whl", b"-")
        with zipfile.ZipFile(wheel, "w") as file:
            file.writestr("thing.py", "")
            file.writestr("thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\n"
                          "Version: 1.0\n")
            file.writestr("thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: t\n"
                          "Root-Is-Purelib: true\nTag: py3-none-any\n")
            file.writestr("thing-1.0.dist-info/RECORD", "")
        self.www("simple/thing/index.html", b"<a href='thing-1.0-py3-none-any.whl'>thing</a>")
        _, seen = self.through(
            "/usr/bin/pip3 download -q --no-deps --disable-pip-version-check --no-cache-dir"
            f" --index-url https://me:$TOKEN@{HOST}/www/simple/ thing && ls *.whl", self.BASIC)
        wanted = "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode()
        self.assertIn(wanted, {each["headers"].get("authorization") for each in seen})

    @needs("npm")
    def test_npm_asks_its_registry(self):
        self.write("work/.npmrc", f"registry={URL}/\n//{HOST}/:_authToken=${{TOKEN}}\n")
        _, seen = self.through("npm ping --fetch-retries=0 2>&1")
        self.assertEqual(seen[-1]["headers"]["authorization"], f"Bearer {SECRET}")

    @needs("go")
    def test_go_asks_its_proxy(self):
        self.www("goproxy/example.test/m/@v/list", b"v1.0.0\nv1.1.0\n")
        self.www("goproxy/example.test/m/@v/v1.1.0.info", b'{"Version": "v1.1.0"}')
        self.www("goproxy/example.test/m/@v/v1.1.0.mod", b"module example.test/m\n")
        self.write("work/go.mod", "module x\n")
        answer, _ = self.through("GOFLAGS=-mod=mod GOSUMDB=off"
                                 f" GOPROXY={URL}/www/goproxy go list -m -versions example.test/m")
        self.assertEqual(answer["stdout"], "example.test/m v1.0.0 v1.1.0\n")


if __name__ == "__main__":
    unittest.main()
