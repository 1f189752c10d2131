// SPDX-License-Identifier: Apache-2.0
// The draft-07 schema of the answer, as it is printed by `sbx-run schema result`. json.cc writes
// what this describes; tests validate one against the other.
#include <string>
#include <string_view>
#include <vector>

#include "model/denial.h"
#include "model/layer.h"
#include "model/limit.h"
#include "model/outcome.h"
#include "report/json.h"

namespace sbx {
namespace {

constexpr const char* kResultSchema = R"json({
  "$schema": "http://json-schema.org/draft-07/schema#",
  "title": "sbx result",
  "description": "What one run of a command came to. sbx-run prints it as one line.",
  "type": "object",
  "additionalProperties": false,
  "required": [
    "status", "exit_code", "signal", "timed_out", "stdout", "stderr", "stdout_bytes",
    "stderr_bytes", "truncated", "encoding", "output_path", "result_json", "command", "argv",
    "cwd", "description", "started_at", "duration_ms", "usage", "limit", "denials", "redactions",
    "sandbox", "warnings", "layer", "changes", "approval", "error"
  ],
  "properties": {
    "status": {
      "description": "How the run ended. `error`: sbx could not run the command, or could not enforce what was required; `error` says why.",
      "enum": @statuses
    },
    "exit_code": {
      "description": "The command's own exit code; null unless it exited by itself.",
      "type": ["integer", "null"], "minimum": 0, "maximum": 255
    },
    "signal": {
      "description": "The signal that ended the command, such as SIGSEGV or SIGRTMIN+1.",
      "type": ["string", "null"], "pattern": "^SIG[A-Z0-9+]+$"
    },
    "timed_out": {
      "description": "Whether the wall-clock limit ended the run.", "type": "boolean"
    },
    "stdout": {
      "description": "What the command wrote to its standard output: all of it, or its head, a marker line with the number of bytes left out, and its tail. With --merge, both streams in the order written.",
      "type": "string"
    },
    "stderr": {
      "description": "The same for standard error; empty with --merge.", "type": "string"
    },
    "stdout_bytes": {
      "description": "How many bytes the command wrote, kept or not.",
      "type": "integer", "minimum": 0
    },
    "stderr_bytes": {
      "description": "How many bytes the command wrote, kept or not.",
      "type": "integer", "minimum": 0
    },
    "truncated": {
      "description": "Whether bytes of a stream were left out.",
      "type": "object", "additionalProperties": false, "required": ["stdout", "stderr"],
      "properties": {"stdout": {"type": "boolean"}, "stderr": {"type": "boolean"}}
    },
    "encoding": {
      "description": "How the text stands for the bytes. utf-8: each maximal ill-formed sequence was replaced by U+FFFD. base64: the exact bytes, where they are not UTF-8 and the profile asks for exact bytes.",
      "type": "object", "additionalProperties": false, "required": ["stdout", "stderr"],
      "properties": {
        "stdout": {"enum": ["utf-8", "base64"]}, "stderr": {"enum": ["utf-8", "base64"]}
      }
    },
    "output_path": {
      "description": "The full log on disk, where the profile keeps one.",
      "type": ["string", "null"]
    },
    "result_json": {
      "description": "The JSON of the command's last __RESULT__: line, where the profile asks for it."
    },
    "command": {
      "description": "The command as it was given, for reading.", "type": "string"
    },
    "argv": {
      "description": "The program and its arguments as executed.",
      "type": "array", "items": {"type": "string"}
    },
    "cwd": {
      "description": "The working directory inside the sandbox.", "type": "string"
    },
    "description": {
      "description": "What the caller said the command is for.", "type": ["string", "null"]
    },
    "started_at": {
      "description": "The start, in UTC, to the millisecond.",
      "type": "string", "format": "date-time",
      "pattern": "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$"
    },
    "duration_ms": {
      "description": "Wall-clock time from start to end, to a tenth of a millisecond.",
      "type": "number", "minimum": 0
    },
    "usage": {
      "description": "What the whole process tree used.",
      "type": "object", "additionalProperties": false,
      "required": ["user_ms", "system_ms", "max_rss_kb"],
      "properties": {
        "user_ms": {
          "description": "CPU time in user mode.", "type": "number", "minimum": 0
        },
        "system_ms": {
          "description": "CPU time in the kernel.", "type": "number", "minimum": 0
        },
        "max_rss_kb": {
          "description": "The largest resident set of any one process, in KiB.",
          "type": "integer", "minimum": 0
        }
      }
    },
    "limit": {
      "description": "Which limit ended the run; with exited, one that the command met and got over.",
      "enum": @ended
    },
    "denials": {
      "description": "What the sandbox refused while the command ran, alike refusals counted together.",
      "type": "array",
      "items": {
        "type": "object", "additionalProperties": false,
        "required": ["layer", "operation", "target", "count", "program", "grant"],
        "properties": {
          "layer": {
            "description": "What refused it.",
            "enum": @refusers
          },
          "operation": {"description": "What was tried, such as mount.", "type": "string"},
          "target": {
            "description": "On what: a path, an address, or empty; (others) beyond a layer's 256.",
            "type": "string"
          },
          "count": {"description": "How often.", "type": "integer", "minimum": 1},
          "program": {"description": "The name of the process that tried.", "type": "string"},
          "grant": {
            "description": "What the operator would add to the profile to allow it; empty where nothing would.",
            "type": "string"
          }
        }
      }
    },
    "connections": {
      "description": "What the network policy let through; only where there is some, or HTTP rules or credentials count.",
      "type": "array",
      "items": {
        "type": "object", "additionalProperties": false,
        "required": ["name", "address", "port", "bytes_out", "bytes_in"],
        "properties": {
          "name": {"type": ["string", "null"]},
          "address": {"description": "The literal address, or what answered under the name.", "type": ["string", "null"]},
          "port": {"type": "integer"},
          "bytes_out": {"type": "integer", "minimum": 0},
          "bytes_in": {"type": "integer", "minimum": 0},
          "requests": {
            "description": "Each request of HTTP, refused ones too, where rules or credentials had it read.",
            "type": "array",
            "items": {
              "type": "object", "additionalProperties": false,
              "required": ["time", "method", "host", "path", "status", "bytes_sent", "bytes_received", "rule"],
              "properties": {
                "time": {"type": "string"}, "method": {"type": "string"},
                "host": {"type": "string"}, "path": {"type": "string"},
                "status": {"type": "integer"},
                "bytes_sent": {"type": "integer", "minimum": 0},
                "bytes_received": {"type": "integer", "minimum": 0},
                "rule": {"description": "JSON pointer of the profile's rule.", "type": ["string", "null"]}
              }
            }
          }
        }
      }
    },
    "unlisted_connections": {"type": "integer", "minimum": 1, "description": "Connections beyond those that are listed"},
    "unlisted_requests": {"type": "integer", "minimum": 1, "description": "Requests beyond those that are listed: refused ones"},
    "redactions": {
      "description": "How many secrets were taken out of the output, and the rules that found them.",
      "type": "object", "additionalProperties": false, "required": ["count", "rules"],
      "properties": {
        "count": {"type": "integer", "minimum": 0},
        "rules": {"type": "array", "items": {"type": "string"}}
      }
    },
    "sandbox": {
      "description": "What was in force, as the kernel confirmed it.",
      "type": "object", "additionalProperties": false,
      "required": ["profile", "layers", "limits", "degraded", "published", "warnings", "managed",
        "supplementary_groups"],
      "properties": {
        "profile": {"description": "The profile's name.", "type": "string"},
        "layers": {
          "description": "Each layer that was in force; landlock holds its ABI version.",
          "type": "object", "additionalProperties": false,
          "required": @layers,
          "properties": {@layer_types}
        },
        "limits": {
          "description": "What enforces each limit in force.",
          "type": "object",
          "propertyNames": {
            "enum": @limits
          },
          "additionalProperties": {"enum": @enforcers}
        },
        "degraded": {
          "description": "Each layer, limit or part that was wanted and is not in force.",
          "type": "array",
          "items": {
            "type": "object", "additionalProperties": false, "required": ["what", "reason"],
            "properties": {"what": {"type": "string"}, "reason": {"type": "string"}}
          }
        },
        "published": {
          "description": "Ports of servers inside and what leads to them on the host (--publish).",
          "type": "array",
          "items": {
            "type": "object", "additionalProperties": false, "required": ["host", "port"],
            "properties": {
              "host": {"type": "string"},
              "port": {"type": "integer", "minimum": 1, "maximum": 65535}
            }
          }
        },
        "managed": {
          "description": "The files of the managed policy that narrowed this run; null where there are none.",
          "type": ["array", "null"],
          "items": {
            "type": "object", "additionalProperties": false, "required": ["path", "sha256"],
            "properties": {
              "path": {"type": "string"},
              "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}
            }
          }
        },
        "supplementary_groups": {
          "description": "Groups of the caller that the command keeps: setgroups is denied.",
          "type": "array", "items": {"type": "integer", "minimum": 0}
        },
        "warnings": {
          "description": "What a reader should know about this sandbox, such as that there was none.",
          "type": "array", "items": {"type": "string"}
        }
      }
    },
    "warnings": {
      "description": "Those of the sandbox once more: what a reader should know.",
      "type": "array", "items": {"type": "string"}
    },
    "layer": {
      "description": "The kept layer that writes went to (--layer); null otherwise.",
      "type": ["object", "null"], "additionalProperties": false, "required": ["name", "kind"],
      "properties": {
        "name": {"type": "string"},
        "kind": {"description": "overlay, or copy where the kernel's overlay cannot stand for the tree.",
                 "enum": ["overlay", "copy"]}
      }
    },
    "id": {
      "description": "Of a line that batch writes only: its task's; null where the task's line has none.",
      "type": ["string", "null"]
    },
    "line": {
      "description": "Of a line that batch writes for one it cannot use: which one that is, from 1.",
      "type": "integer", "minimum": 1
    },
    "shell": {
      "description": "Of a call in the kept shell only.",
      "type": "object", "additionalProperties": false, "required": ["kept", "restarted", "reason"],
      "properties": {
        "kept": {"description": "What the command has set is there for the next one.", "type": "boolean"},
        "restarted": {"description": "The next one gets a new shell.", "type": "boolean"},
        "reason": {"description": "Why; null where the shell is kept.", "type": ["string", "null"]}
      }
    },
    "changes": {
      "description": "With --overlay: what the command changed; with --layer: all that the layer changes against the real files; null otherwise.",
      "type": ["array", "null"],
      "items": {
        "type": "object", "additionalProperties": false, "required": ["path", "kind"],
        "properties": {
          "path": {"type": "string"},
          "kind": {"description": "created, modified, deleted or replaced.", "type": "string"}
        }
      }
    },
    "approval": {
      "description": "With needs_approval: the digest to approve, and the rules that ask.",
      "type": ["object", "null"],
      "required": ["digest", "rules"],
      "properties": {"digest": {"type": "string"}, "rules": {"type": "array"}}
    },
    "error": {
      "description": "Why the command did not start, or what sbx could not do; null otherwise.",
      "type": ["object", "null"], "additionalProperties": false,
      "required": ["code", "message", "where", "hint"],
      "properties": {
        "code": {
          "description": "A stable code; sbx-run schema errors lists them.",
          "type": "string", "pattern": "^[a-z_]+$"
        },
        "message": {"description": "What failed and why, in one line.", "type": "string"},
        "where": {
          "description": "A JSON pointer, profile path, flag or system call.",
          "type": ["string", "null"]
        },
        "hint": {"description": "What would mend it.", "type": ["string", "null"]}
      }
    }
  }
}
)json";

}  // namespace

std::string result_schema_json() {
  std::string schema = kResultSchema;
  const auto fill = [&schema](std::string_view mark, std::string_view words) {
    schema.replace(schema.find(mark), mark.size(), words);
  };
  const auto quoted = [](std::string_view word) { return ", \"" + std::string(word) + "\""; };
  const auto fill_list = [&](std::string_view mark, const auto& words) {
    std::string list;
    for (const std::string_view word : words) list += quoted(word);
    fill(mark, "[" + list.substr(2) + "]");
  };
  std::vector<std::string_view> limits;
  std::string ended = "[null";
  for (const LimitRow& row : kLimits) {
    limits.push_back(row.name);
    const bool is_new = !row.ended.empty() && ended.find(quoted(row.ended)) == std::string::npos;
    if (is_new) ended += quoted(row.ended);
  }
  std::string types;
  for (const std::string_view layer : kLayerNames) {
    const bool has_version = layer == layer_name(Layer::kLandlock);
    types += quoted(layer) + (has_version ? R"(: {"anyOf": [{"const": false}, )"
                                            R"({"type": "integer", "minimum": 1}]})"
                                          : R"(: {"type": "boolean"})");
  }
  fill_list("@statuses", kRunStatuses);
  fill_list("@limits", limits);
  fill_list("@enforcers", kEnforcers);
  fill_list("@refusers", kRefusers);
  fill_list("@layers", kLayerNames);
  fill("@layer_types", types.substr(2));
  fill("@ended", ended + "]");
  return schema;
}

}  // namespace sbx
