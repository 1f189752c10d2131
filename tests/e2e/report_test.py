# SPDX-License-Identifier: Apache-2.0
"""sbx-run report and explain --html: the pages themselves, and what a browser makes of them."""

import html.parser
import json
import os
import resource
import stat
import subprocess
import sys
import unittest

import chromium
import harness
from harness import BOUND, SBX_RUN

sys.path.append(os.path.join(harness.SOURCE, "bench"))
import page_bench  # noqa: E402

HOSTILE = "</code></td></table><script>window.hacked = 1</script><img src=x onerror='window.hacked=2'>\"'&\x1b[2J"
VOID = {"meta", "input", "br", "line", "rect"}


def record(**members):
    return {"time": "2026-11-20T08:00:00.000Z", "session": None, "profile": "default",
            "profile_sha256": "0" * 64, "command": "make test", "description": None, "cwd": "/work",
            "verdict": "allow", "status": "exited", "exit_code": 0, "signal": None, "stdout_bytes": 0,
            "stderr_bytes": 0, "duration_ms": 12.5, "denials": [],
            "redactions": {"count": 0, "rules": []}, "error": None, **members}


DENIAL = {"layer": "network", "operation": "connect", "target": "pypi.org:443", "count": 2,
          "program": "pip", "grant": "network.allow += \"pypi.org:443\""}


class Page(html.parser.HTMLParser):
    """The page as a strict reader sees it: text, tags, and that they close in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts, self.links = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == [], self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "xlink:href", "data")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.texts.append(data)

    @property
    def text(self):
        return "".join(self.texts)


class Case(harness.Case):
    def log(self, *lines, name="audit.jsonl"):
        return self.write(name, "".join(
            (line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))

    def page(self, *lines):
        done = self.raw("report", self.log(*lines))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return Page(done.stdout.decode())

    def refused(self, *arguments, **options):
        done = self.raw("report", *arguments, **options)
        self.assertEqual((done.returncode, done.stdout), (125, b""), done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        return done.stderr.decode()


class Report(Case):
    def test_tells_of_a_log_that_runs_have_written(self):
        log = os.path.join(self.base, "audit.jsonl")
        for command in ("echo one", "exit 7", "sudo true"):
            self.raw("--audit", log, "-c", command)
        self.raw("--audit", log, "--timeout", "200ms", "-c", "sleep 20")
        done = self.raw("report", log)
        self.assertEqual(done.returncode, 0, done.stderr)
        page = Page(done.stdout.decode())
        for text in ("echo one", "exited 7", "denied", "sudo true", "timed_out", "Runs over time",
                     "Durations", "Limits hit", "Slowest commands"):
            self.assertIn(text, page.text)
        self.assertGreaterEqual(page.tags.count("svg"), 2)
        self.assertEqual(page.links, [])

    def test_names_which_limit_ended_a_run(self):
        log = os.path.join(self.base, "audit.jsonl")
        answer = self.run_json("--audit", log, "--cpu-time", "1s", "-c", "while :; do :; done")
        self.assertEqual((answer["status"], answer["limit"]), ("limit", "cpu"))
        with open(log) as file:
            self.assertEqual(json.loads(file.read())["limit"], "cpu")
        page = Page(self.raw("report", log).stdout.decode())
        self.assertIn("limit: cpu", page.text)

    def test_shows_refusals_hosts_and_requests(self):
        request = {"time": "2026-11-20T08:00:00.000Z", "method": "GET", "host": "api.example",
                   "path": "/repos", "status": 404, "bytes_sent": 0, "bytes_received": 1, "rule": None}
        page = self.page(record(denials=[DENIAL]), record(connections=[
            {"name": "api.example", "address": "192.0.2.1", "port": 443, "bytes_out": 2048,
             "bytes_in": 1, "requests": [request]}]))
        for text in ("network: connect", "pip", "pypi.org:443", "api.example:443", "2.0 KiB",
                     "GET api.example/repos → 404", "allow it with network.allow"):
            self.assertIn(text, page.text)

    def test_escapes_whatever_a_log_holds(self):
        page = self.page(record(command=HOSTILE, description=HOSTILE, session=HOSTILE, profile=HOSTILE,
                                status=HOSTILE, signal=HOSTILE, denials=[{**DENIAL, "target": HOSTILE,
                                                                          "program": HOSTILE}],
                                error={"code": HOSTILE, "message": HOSTILE}))
        self.assertNotIn("img", page.tags)
        self.assertEqual(page.tags.count("script"), 1)
        self.assertIn("<script>window.hacked = 1</script>", page.text)
        self.assertIn("\\x1b[2J", page.text)
        self.assertNotIn("\x1b", page.text)

    def test_counts_and_names_bad_lines(self):
        page = self.page(record(), "not json <b>", "[]", '{"time": 3}', record(command="last"))
        self.assertIn("Bad lines: 3", page.text)
        for text in ("line 2: not JSON", "line 3: not an object", "line 4: time is no time", "last"):
            self.assertIn(text, page.text)
        self.assertNotIn("Bad lines", self.page(record()).text)

    def test_makes_a_page_of_an_empty_log(self):
        self.assertIn("holds no record", self.page().text)

    def test_cuts_a_command_of_ten_megabytes(self):
        for character in ("x", "<", "\x01", "é"):
            path = self.log(record(command=character * (10 << 20)))
            out = self.raw("report", path).stdout
            self.assertLess(len(out), 1 << 20)
            self.assertIn("…", Page(out.decode()).text)

    def test_takes_a_hundred_thousand_records_in_bounded_memory_and_size(self):
        path = os.path.join(self.base, "many.jsonl")
        line = json.dumps(record(command="<&\"'" * 100, denials=[DENIAL] * 2))
        with open(path, "w") as file:
            for _ in range(100_000):
                file.write(line + "\n")
        bound = 256 << 20
        done = self.raw("report", path, "--out", f"{self.base}/many.html", timeout=4 * BOUND,
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (bound, bound)))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        with open(f"{self.base}/many.html", "rb") as file:
            page = file.read()
        self.assertLess(len(page), 50_000_000)
        self.assertEqual(page.count(b"<tr data-row>"), 100_000)

    def test_memory_does_not_grow_with_the_log_nor_the_page_faster_than_its_bound(self):
        for kind in page_bench.KINDS:
            if kind.startswith("4 KB"):
                continue  # the test above cuts those
            path, peaks = os.path.join(self.base, "log.jsonl"), []
            for records in (12_000, 24_000):  # more names than are counted apart, in both
                page_bench.write_log(path, kind, records)
                size, peak, _ = page_bench.measure("report", path)
                self.assertLess(size, 50_000_000 // 100_000 * records, kind)
                self.assertGreater(peak, 1000, kind)
                peaks.append(peak)
            self.assertLess(max(peaks), 16 << 10, (kind, peaks))
            self.assertLess(peaks[1] - peaks[0], 1 << 10, (kind, peaks))

    def test_writes_nothing_where_there_is_no_log(self):
        os.mkfifo(f"{self.base}/fifo")
        out = f"{self.base}/page.html"
        for path in (f"{self.base}/none", self.base, f"{self.base}/fifo", "/dev/zero", ""):
            self.refused(path)
            self.refused(path, "--out", out)
        self.refused()
        self.assertFalse(os.path.exists(out))

    def test_replaces_a_file_and_follows_no_symlink(self):
        log = self.log(record())
        victim, link = self.write("victim", "whole"), f"{self.base}/link"
        os.symlink(victim, link)
        before = sorted(os.listdir(self.base))
        self.assertIn("symlink", self.refused(log, "--out", link))
        self.assertIn("not a regular file", self.refused(log, "--out", self.work))
        self.assertIn("the audit log itself", self.refused(log, "--out", log))
        self.assertEqual(sorted(os.listdir(self.base)), before)
        with open(victim) as file:
            self.assertEqual(file.read(), "whole")
        hard = f"{self.base}/hard"
        os.link(victim, hard)
        self.assertEqual(self.raw("report", log, "--out", hard).returncode, 0)
        with open(victim) as file:
            self.assertEqual(file.read(), "whole")
        self.assertEqual(stat.S_IMODE(os.stat(hard).st_mode), 0o600)
        self.assertEqual(os.stat(hard).st_nlink, 1)

    def test_fails_where_the_page_cannot_be_written(self):
        log = self.log(record())
        with open("/dev/full", "wb") as full:
            done = self.raw("report", log, stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"ENOSPC", done.stderr)


class Explain(Case):
    def test_gives_the_plan_as_a_tree(self):
        done = self.raw("explain", "--html", "--allow-host", "pypi.org", "-c", "echo '<b>'")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        page = Page(done.stdout.decode())
        for text in ("Layers", "Filter", "Network", "pypi.org", "landlock", "echo '<b>'", "Steps"):
            self.assertIn(text, page.text)
        self.assertIn("details", page.tags)
        self.assertNotIn("b", page.tags)
        self.assertEqual(page.links, [])

    def test_says_what_is_wrong_as_explain_does(self):
        done = self.raw("explain", "--html", "--profile", "none-such")
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertIn(b"profile_not_found", done.stderr)


@unittest.skipUnless(chromium.find(), "no chromium here (scripts/deps browser)")
class Browser(Case):
    def setUp(self):
        super().setUp()
        self.browser = chromium.Browser(self.base)
        self.addCleanup(self.browser.close)

    def shown(self):
        return self.browser.value("[...document.querySelectorAll('[data-row]')]"
                                  ".filter((row) => row.offsetParent !== null).length")

    def log_page(self, *lines):
        out = f"{self.base}/page.html"
        self.assertEqual(self.raw("report", self.log(*lines), "--out", out).returncode, 0)
        return out

    def test_a_page_of_runs_is_searched_and_clicked(self):
        browser = self.browser
        path = self.log_page(record(), record(status="denied", exit_code=None, denials=[DENIAL]),
                             record(command="echo first\necho second line"), record(command=HOSTILE))
        browser.open(path)
        self.assertEqual(self.shown(), 4)
        browser.click("document.getElementById('search')")
        browser.type("PyPI denied")
        browser.until("document.getElementById('found').textContent === '1 of 4'")
        self.assertEqual(self.shown(), 1)
        browser.click("document.querySelector('[data-find=\"exited\"]')")
        browser.until("document.getElementById('found').textContent === '3 of 4'")
        browser.click("[...document.querySelectorAll('button')].pop()")
        browser.until("document.getElementById('found').textContent === ''")
        self.assertEqual(self.shown(), 4)
        # A long command opens by a click.
        self.assertFalse(browser.value("document.querySelector('details').open"))
        browser.click("document.querySelector('summary')")
        browser.until("document.querySelector('details').open")
        self.assertIn("second line", browser.value("document.querySelector('pre').innerText"))
        self.assertEqual(browser.value("typeof window.hacked"), "undefined")
        self.assertEqual(browser.requests, [f"file://{path}"])
        self.assertEqual(browser.problems, [])

    def test_pages_are_read_without_scripts_in_light_and_dark(self):
        path = self.log_page(record(), record(denials=[DENIAL]))
        colours = set()
        for dark in (False, True):
            self.browser.open(path, dark=dark, scripts=False)
            self.assertEqual(self.shown(), 2)
            self.assertGreater(self.browser.value(
                "document.querySelector('#over-time rect').getBoundingClientRect().height"), 10)
            colours.add(self.browser.value("getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(colours, {"rgb(255, 255, 255)", "rgb(13, 17, 23)"})

    def test_nothing_but_the_pages_own_script_runs(self):
        path = self.log_page(record())
        with open(path) as file:
            page = file.read()
        with open(path, "w") as file:
            file.write(page.replace("</main>", "<script>window.hacked = 1</script></main>"))
        self.browser.open(path)
        self.assertEqual(self.browser.value("typeof window.hacked"), "undefined")
        self.assertNotEqual(self.browser.problems, [])

    def test_a_plan_is_searched(self):
        out = f"{self.base}/plan.html"
        with open(out, "wb") as file:
            subprocess.run([SBX_RUN, "explain", "--html", "-c", "true"], cwd=self.work, stdout=file,
                           timeout=BOUND, check=True)
        self.browser.open(out)
        every = self.shown()
        self.browser.click("document.getElementById('search')")
        self.browser.type("landlock")
        self.browser.until("document.getElementById('found').textContent !== ''")
        self.assertLess(0, self.shown())
        self.assertLess(self.shown(), every / 2)
        self.assertEqual(self.browser.problems, [])


if __name__ == "__main__":
    unittest.main()
