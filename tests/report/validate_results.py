#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Validates every sample result against the schema that is shipped, and checks that the schema
# refuses what it should. Exit 77 (a skip) where python3-jsonschema is not installed.
import json
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("SKIPPED: python3-jsonschema is not installed")
    sys.exit(77)

lines = subprocess.run([sys.argv[1]], check=True, capture_output=True).stdout.decode().splitlines()
schema, results = json.loads(lines[0]), [json.loads(line) for line in lines[1:]]
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)
assert len(results) > 20, len(results)
for result in results:
    validator.validate(result)


def refuses(change):
    broken = json.loads(json.dumps(results[0]))
    change(broken)
    assert not validator.is_valid(broken), change


refuses(lambda r: r.update(status="finished"))
refuses(lambda r: r.update(extra=1))
refuses(lambda r: r.pop("error"))
refuses(lambda r: r.update(stdout_bytes=-1))
refuses(lambda r: r["sandbox"]["layers"].update(landlock=True))
refuses(lambda r: r["sandbox"]["limits"].update(disk="rlimit"))
refuses(lambda r: r["denials"][0].pop("grant"))
refuses(lambda r: r.update(started_at="2026-01-31 12:00:00"))
print(f"{len(results)} results validate")
