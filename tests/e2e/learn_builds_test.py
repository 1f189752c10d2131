# SPDX-License-Identifier: Apache-2.0
"""learn over real builds: sources that lie outside the workspace, no network. What it writes is
enough, each line of it is needed, and what the build did not use stays out of reach."""

import copy
import json
import os
import shutil
import socket

import harness

C_SOURCE = '#include "answer.h"\n#include <stdio.h>\nint main(void) { return printf("%d\\n", ANSWER) != 3; }\n'
C_FILES = {"main.c": C_SOURCE, "include/answer.h": "#define ANSWER 42\n"}
# A program; its sources; what is run, {src} being where they lie. The workspace is empty.
BUILDS = {
    "gcc": (C_FILES, "gcc -I {src}/include -o main {src}/main.c && ./main"),
    "g++": ({"a.cc": '#include <iostream>\n#include "a.h"\nint main() { std::cout << kA; }\n',
             "a.h": "constexpr int kA = 1;\n"}, "g++ -O1 -o a {src}/a.cc && ./a"),
    "clang": (C_FILES, "clang -I {src}/include -c {src}/main.c && ar rcs libmain.a main.o"),
    "make": ({**C_FILES, "Makefile": "VPATH := $(dir $(lastword $(MAKEFILE_LIST)))\n"
              "main: main.c\n\t$(CC) -I $(VPATH)include -o $@ $<\n"}, "make -f {src}/Makefile && ./main"),
    "cmake": ({**C_FILES, "CMakeLists.txt": "cmake_minimum_required(VERSION 3.13)\nproject(x C)\n"
               "add_executable(main main.c)\ntarget_include_directories(main PRIVATE include)\n"},
              "cmake -S {src} -B build > log && cmake --build build > log && build/main"),
    "ninja": ({**C_FILES, "build.ninja": "rule cc\n  command = gcc -I $src/include -o $out $in\n"
               "include paths.ninja\n"},
              "echo 'src = {src}' > paths.ninja; echo 'build main: cc {src}/main.c' >> paths.ninja; "
              "ninja -f {src}/build.ninja main && ./main"),
    "autoconf": ({"configure.ac": "AC_INIT([x], [1])\nAC_CONFIG_FILES([out])\nAC_OUTPUT\n",
                  "out.in": "@PACKAGE_NAME@\n"},
                 "cp {src}/* . && autoconf && ./configure -q && cat out"),
    "bison": ({"p.y": "%{{\nint yylex(void); void yyerror(const char*);\n%}}\n%%\ns: 'a';\n%%\n"
               "int yylex(void) {{ return 0; }}\nvoid yyerror(const char* s) {{ (void)s; }}\n"
               .replace("{{", "{").replace("}}", "}")},
              "bison -o p.c {src}/p.y && gcc -c p.c"),
    "flex": ({"s.l": "%option noyywrap\n%%\na return 1;\n"}, "flex -o s.c {src}/s.l && gcc -c s.c"),
    "go": ({"go.mod": "module example.org/x\n\ngo 1.19\n",
            "main.go": 'package main\n\nimport "example.org/x/lib"\n\nfunc main() { println(lib.A) }\n',
            "lib/lib.go": "package lib\n\nconst A = 1\n"},
           "cd {src} && GOFLAGS=-mod=mod GOTOOLCHAIN=local go build -o $OLDPWD/x . && $OLDPWD/x"),
    "javac": ({"A.java": "public class A { public static void main(String[] a) {"
               " System.out.println(B.X); } }\n", "B.java": "class B { static int X = 1; }\n"},
              "javac -d . -sourcepath {src} {src}/A.java && java -cp . A"),
    "npm": ({"dep/package.json": '{"name": "dep", "version": "1.0.0", "main": "i.js"}',
             "dep/i.js": "module.exports = 7;\n"},
            "npm init -y > log && npm install --offline --install-links --no-audit --no-fund {src}/dep > log"
            " && node -p 'require(\"dep\")'"),
    "node": ({"a.js": "console.log(require('./lib/b').b)\n", "lib/b.js": "exports.b = 1\n"},
             "node {src}/a.js"),
    "pip3": ({"setup.py": "from setuptools import setup\nsetup(name='x', version='1', py_modules=['x'])\n",
              "x.py": "A = 5\n"},
             "cp -r {src} x && pip3 install -q --no-index --no-build-isolation --no-deps "
             "--target out ./x && PYTHONPATH=out /usr/bin/python3 -c 'import x; print(x.A)'"),
    "python3": ({"pkg/__init__.py": "", "pkg/test_a.py": "import unittest\n\n\nclass T(unittest.TestCase):\n"
                 "    def test(self):\n        self.assertTrue(1)\n"},
                "/usr/bin/python3 -B -m unittest discover -q -s {src}/pkg -t {src}"),
    "perl": ({"a.pl": "use lib '@src@/lib'; use B2; print B2::b();\n",
              "lib/B2.pm": "package B2; sub b { 'b' } 1;\n"}, "perl {src}/a.pl"),
    "ruby": ({"a.rb": "require_relative 'lib/b'\nputs B\n", "lib/b.rb": "B = 1\n"}, "ruby {src}/a.rb"),
    "rake": ({"Rakefile": "task(:default) { File.write('made', File.read(__FILE__)) }\n"},
             "rake -q -N -f {src}/Rakefile"),
    "php": ({"a.php": "<?php include __DIR__ . '/b.php'; echo b();\n",
             "b.php": "<?php function b() { return 1; }\n"}, "php {src}/a.php"),
    "lua": ({"a.lua": "print(dofile('@src@/b.lua'))\n", "b.lua": "return 1\n"}, "lua {src}/a.lua"),
    "git": ({"one": "1\n", "two": "2\n"},
            "git init -q g && cd g && cp {src}/* . && git add . && "
            "git -c user.name=a -c user.email=a@b commit -qm x && git log --oneline --stat"),
    "rsync": ({"a/b": "1\n", "a/c": "2\n"}, "rsync -a {src}/ copy/ && cat copy/a/b"),
    "tar": ({"a/b": "1\n", "a/c": "2\n"}, "tar -C {src} -cJf a.tar.xz a && tar -xJf a.tar.xz && cat a/b"),
    "sqlite3": ({"in.sql": "create table t(a); insert into t values (1); select * from t;\n"},
                "sqlite3 x.db '.read {src}/in.sql'"),
    "m4": ({"a.m4": "include(@src@/b.m4)A\n", "b.m4": "define(A, 1)dnl\n"}, "m4 {src}/a.m4"),
    "jq": ({"a.jq": ".a\n", "a.json": '{"a": 1}\n'}, "jq -f {src}/a.jq {src}/a.json"),
    "gawk": ({"a.awk": "{ n += $1 } END { print n }\n", "in": "1\n2\n"}, "gawk -f {src}/a.awk {src}/in"),
}


def refused(denials):
    """Without what a JVM tries and does without: /proc is read-only (docs/profile.md)."""
    return [one for one in denials if one["target"] != "/proc/self/coredump_filter"]


class LearnBuildsTest(harness.Case):
    def setUp(self):
        super().setUp()
        self.home = os.path.join(self.base, "home")
        os.mkdir(self.home)
        self.file = os.path.join(self.base, "learned.json")
        self.src = os.path.join(self.base, "src")
        self.write("home/.ssh/id_rsa", "PRIVATE\n")
        self.write("other/file", "other\n")
        self.tool = self.write("other/tool", "#!/bin/sh\necho ran\n", 0o755)
        self.env = {k: v for k, v in os.environ.items() if k not in ("PWD", "OLDPWD")}
        self.env.update(HOME=self.home, PATH="/usr/local/bin:/usr/bin:/bin")

    def run_with(self, profile, command):
        with open(self.file, "w") as file:
            json.dump(profile, file)
        return self.run_json("--profile", self.file, "--trace-denials", "--overlay", "-c", command,
                             env=self.env)

    def mutations(self):
        """What no build used: a file, a host, a port, a program, a socket."""
        path = os.path.join(self.src, "socket")
        with socket.socket(socket.AF_UNIX) as server, socket.create_server(("127.0.0.1", 0)) as tcp:
            server.bind(path)
            server.listen()
            connect = f"import socket; socket.socket(socket.AF_UNIX).connect('{path}')"
            yield f"cat {self.base}/other/file"
            yield f"echo x > {self.base}/other/file"
            yield f"cat {self.home}/.ssh/id_rsa"
            yield "exec 3<>/dev/tcp/192.0.2.1/80"
            yield f"exec 3<>/dev/tcp/127.0.0.1/{tcp.getsockname()[1]}"
            yield self.tool
            yield f'/usr/bin/python3 -c "{connect}"'
        os.unlink(path)

    def learned(self, name):
        files, command = BUILDS[name]
        for path, text in files.items():
            self.write("src/" + path, text.replace("@src@", self.src))
        command = command.format(src=self.src)
        if shutil.which(name, path=self.env["PATH"]) is None:
            self.skipTest(name + " is not installed")
        done = self.raw("learn", "--out", self.file, "--yes", "--", "bash", "-c", command, env=self.env)
        self.assertEqual(done.returncode, 0, (done.stdout[-3000:], done.stderr[-3000:]))
        answer = json.loads(done.stdout)
        self.assertEqual((answer["status"], answer["exit_code"]), ("exited", 0), answer)
        self.assertEqual(refused(answer["second_run"]["denials"]), [], answer)
        self.assertEqual(os.listdir(self.work), [], "the tree is as it was")
        return command, answer

    def check(self, name):
        command, _ = self.learned(name)
        profile = json.load(open(self.file))
        ran = self.run_with(profile, command)
        self.assertEqual((ran["status"], ran["exit_code"], refused(ran["denials"])), ("exited", 0, []), ran)
        roots = profile.get("filesystem", {}).get("+roots", [])
        self.assertTrue(roots, "the sources lie outside")
        for root in roots:
            # clang looks into /opt for other compilers.
            self.assertTrue((root["path"] + "/").startswith((self.src + "/", "/opt/")), root)
            self.assertEqual(root["access"], "ro")
            less = copy.deepcopy(profile)
            less["filesystem"]["+roots"].remove(root)
            ran = self.run_with(less, command)
            self.assertTrue(ran["exit_code"] != 0 or refused(ran["denials"]), (root, ran))
        for other in self.mutations():
            ran = self.run_with(profile, other)
            self.assertNotEqual(ran["exit_code"], 0, (other, ran))


def _add(name):
    setattr(LearnBuildsTest, "test_" + name.replace("+", "x"), lambda self: self.check(name))


for _name in BUILDS:
    _add(_name)
