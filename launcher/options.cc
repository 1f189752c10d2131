// SPDX-License-Identifier: Apache-2.0
// Flags and SBX_* variables, read and checked.
#include "options.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <span>

#include "base/files.h"
#include "base/text.h"
#include "kept/store.h"
#include "profile/fields.h"
#include "profile/forms.h"
#include "profile/upstream.h"

namespace sbx {
namespace {

Error bad(std::string where, const std::string& value, std::string hint) {
  return Error{ErrorCode::kBadFlag, "bad value for " + where + ": '" + value + "'",
               std::move(where), std::move(hint)};
}

constexpr std::string_view kWorkspace = "${workspace}";

constexpr std::int64_t kLeastBareSize = std::int64_t{16} << 20;

template <typename E>
Result<E> one_of(const std::string& value, const std::string& where) {
  const auto& names = kNames<E>;
  const auto at = std::find(names.begin(), names.end(), value);
  if (at == names.end()) return bad(where, value, "one of " + join(names, ", "));
  return static_cast<E>(at - names.begin());
}

Result<bool> truth(const std::string& value, const std::string& where) {
  if (value == "true" || value == "1") return true;
  if (value == "false" || value == "0") return false;
  return bad(where, value, "one of true, false, 1, 0");
}

Result<std::vector<Layer>> parse_layers(const std::vector<std::string>& values) {
  std::vector<Layer> layers;
  for (const std::string& value : values) {
    for (const std::string_view name : split(value, ',')) {
      int index = 0;
      while (index < kLayerCount && layer_name(static_cast<Layer>(index)) != name) ++index;
      if (index == kLayerCount) {
        return bad("--require", std::string(name), "layers are " + join(kLayerNames, ", "));
      }
      layers.push_back(static_cast<Layer>(index));
    }
  }
  return layers;
}

std::string_view without_spaces_around(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\n"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t\n") + 1);
}

// "8080", "3000:8080", "0:8080".
Result<PublishedPort> parse_publish(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto inside = parse_count(std::string_view(text).substr(colon + 1), 65535);
  const auto host = colon == std::string::npos
                        ? inside
                        : parse_count(std::string_view(text).substr(0, colon), 65535);
  if (!inside || *inside == 0 || !host) {
    return bad("--publish", text, "PORT or HOST_PORT:PORT; host port 0 is any free one");
  }
  return PublishedPort{static_cast<int>(*host), static_cast<int>(*inside)};
}

class FlagReader {
 public:
  FlagReader(const RunOptions& options, const Environment& environment)
      : options_(options), environment_(environment) {}

  Result<OperatorFlags> read() {
    SBX_CHECK_OK(check_contradictions());
    SBX_CHECK_OK(read_roots());
    SBX_CHECK_OK(read_modes());
    SBX_CHECK_OK(read_limits());
    for (const std::string& text : options_.env) {
      SBX_TRY(auto pair, parse_assignment(text));
      flags_.set_env.insert_or_assign(std::move(pair.first), std::move(pair.second));
    }
    for (const std::string& name : options_.pass_env) {
      if (forms::kEnvName.matches(name)) continue;
      // Not what is meant as its value.
      return bad("--pass-env",
                 name.substr(0, name.find('=')) + (name.find('=') < name.size() ? "=…" : ""),
                 forms::kEnvName.expected);
    }
    flags_.pass_env = options_.pass_env;
    flags_.overlay = options_.overlay;
    if (!options_.layer.empty()) SBX_CHECK_OK(check_layer_name(options_.layer, "--layer"));
    flags_.layer = options_.layer;
    if (!options_.template_dir.empty()) {
      flags_.each_layer = options_.keep_layers ? EachLayer::kKept : EachLayer::kThrownAway;
    }
    flags_.trace_denials = options_.trace_denials;
    return std::move(flags_);
  }

 private:
  const std::string* variable(std::string_view name) const {
    const auto found = environment_.find(name);
    return found == environment_.end() || found->second.empty() ? nullptr : &found->second;
  }

  static Error contradiction(const std::string& one, const std::string& other) {
    return Error{ErrorCode::kBadFlag, one + " and " + other + " contradict each other",
                 one.substr(0, one.find(' ')), "leave one of the two out"};
  }

  Status check_template() const {
    if (options_.template_dir.empty()) {
      if (!options_.keep_layers) return {};
      return Error{ErrorCode::kBadFlag, "--keep-layers is of the layers over a template",
                   "--keep-layers", "give --template DIR, or leave it out"};
    }
    if (!options_.workspace.empty()) return contradiction("--template", "--workspace");
    if (!options_.layer.empty()) return contradiction("--template", "--layer");
    if (options_.overlay) return contradiction("--template", "--overlay");
    return {};
  }

  Status check_contradictions() const {
    const std::string& net = options_.net;
    if (!net.empty() && net != "allowlist" && !options_.allow_hosts.empty()) {
      return contradiction("--net " + net, "--allow-host");
    }
    if ((net == "open" || net == "none") && !options_.upstream_proxy.empty()) {
      return contradiction("--net " + net, "--upstream-proxy");
    }
    if (net == "open" && !options_.host_ports.empty()) {
      return contradiction("--net open", "--host-port");
    }
    if (options_.overlay && !options_.layer.empty()) return contradiction("--overlay", "--layer");
    if (!options_.result_file.empty() && !options_.result_fd.empty()) {
      return contradiction("--result-file", "--result-fd");
    }
    if (options_.json && options_.html) return contradiction("--json", "--html");
    SBX_CHECK_OK(check_template());
    return check_roots();
  }

  // As they will be: one path may be written in several ways.
  Status check_roots() const {
    const Result<std::string> workspace =
        real_path(options_.workspace.empty() ? "." : options_.workspace);
    std::map<std::string, std::pair<std::string, const std::string*>> given;
    const std::pair<const char*, const std::vector<std::string>*> lists[] = {
        {"--ro", &options_.ro}, {"--rw", &options_.rw}, {"--hide", &options_.hide}};
    for (const auto& [flag, paths] : lists) {
      for (const std::string& path : *paths) {
        std::string whole = whole_root(path, flag);
        if (workspace.ok() && whole.starts_with(kWorkspace)) {
          whole.replace(0, kWorkspace.size(), workspace.value());
        }
        SBX_TRY(whole, root_from_here(whole, flag));
        SBX_TRY(whole, normal_path(whole, "/", flag));
        const auto [known, is_new] = given.try_emplace(whole, flag, &path);
        const auto& [first, its] = known->second;
        if (!is_new && first != flag) {
          return contradiction(first + " " + *its, flag + (" " + path));
        }
      }
    }
    return {};
  }

  Status read_roots() {
    if (const std::string* roots = variable("SBX_ALLOWED_ROOTS")) {
      for (const std::string_view path : split(*roots, ',')) {
        // It is set once, for runs in many places.
        if (!path.starts_with('/') && !path.starts_with("${")) {
          return Error{ErrorCode::kPathRefused,
                       "a root must be an absolute path: '" + std::string(path) + "'",
                       "SBX_ALLOWED_ROOTS", "write the path from /"};
        }
        add_root(std::string(path), Access::kReadWrite, "SBX_ALLOWED_ROOTS");
      }
    }
    for (const std::string& path : options_.ro) {
      SBX_TRY(std::string whole, root_from_here(path, "--ro"));
      add_root(std::move(whole), Access::kReadOnly, "--ro");
    }
    for (const std::string& path : options_.rw) {
      SBX_TRY(std::string whole, root_from_here(path, "--rw"));
      add_root(std::move(whole), Access::kReadWrite, "--rw");
    }
    for (const std::string& path : options_.hide) {
      add_root(whole_root(path, "--hide"), Access::kNone, "--hide");
    }
    return {};
  }

  // What is hidden is the workspace's: it is the same wherever one stands.
  static std::string whole_root(const std::string& path, const std::string& flag) {
    const bool is_whole = flag != "--hide" || path.starts_with('/') || path.starts_with("${");
    return is_whole ? path : std::string(kWorkspace) + "/" + path;
  }

  void add_root(std::string path, Access access, const std::string& where) {
    flags_.roots.push_back(Root{std::move(path), access, false, where, false});
  }

  // One that is set for all runs is for those that go through the gateway.
  Status read_upstream() {
    std::string where = "--upstream-proxy";
    flags_.upstream_proxy = options_.upstream_proxy;
    const std::string* const set = variable("SBX_UPSTREAM_PROXY");
    if (flags_.upstream_proxy.empty() && set != nullptr) {
      where = "SBX_UPSTREAM_PROXY";
      flags_.upstream_proxy = *set;
    }
    if (flags_.upstream_proxy.empty()) return {};
    const Result<Upstream> read = parse_upstream(flags_.upstream_proxy, where);
    return read.ok() ? Status() : read.error();
  }

  Status read_modes() {
    if (!options_.net.empty()) {
      SBX_TRY(flags_.network, one_of<NetworkMode>(options_.net, "--net"));
    }
    flags_.allow_hosts = options_.allow_hosts;
    SBX_CHECK_OK(read_upstream());
    for (const std::string& text : options_.publish) {
      SBX_TRY(const PublishedPort port, parse_publish(text));
      flags_.publish.push_back(port);
    }
    if (!options_.scrub.empty()) {
      SBX_TRY(flags_.scrub, one_of<ScrubMode>(options_.scrub, "--scrub"));
    } else if (const std::string* mode = variable("SBX_SCRUB_MODE")) {
      SBX_TRY(flags_.scrub, one_of<ScrubMode>(*mode, "SBX_SCRUB_MODE"));
    }
    if (const std::string* fallback = variable("SBX_FALLBACK")) {
      SBX_TRY(const Fallback chosen, one_of<Fallback>(*fallback, "SBX_FALLBACK"));
      flags_.allow_degraded = chosen == Fallback::kDegrade;
    }
    if (options_.allow_degraded) flags_.allow_degraded = true;
    if (const std::string* network = variable("SBX_ALLOW_NETWORK")) {
      SBX_TRY(flags_.allow_network, truth(*network, "SBX_ALLOW_NETWORK"));
    }
    // Set and empty it is an error: read as unset it would allow everything.
    if (const auto commands = environment_.find("SBX_ALLOWED_CMDS");
        commands != environment_.end()) {
      std::vector<std::string> names;
      for (const std::string_view part : split(commands->second, ',')) {
        const std::string_view name = without_spaces_around(part);
        if (!name.empty()) names.emplace_back(name);
      }
      if (names.empty()) {
        return bad("SBX_ALLOWED_CMDS", commands->second,
                   "name the programs that may run, such as ls,cat, or unset it");
      }
      flags_.commands_allow = std::move(names);
    }
    if (!options_.require.empty()) {
      SBX_TRY(flags_.require, parse_layers(options_.require));
    }
    return {};
  }

  Status read_limits() {
    LimitsProfile& limits = flags_.limits;
    if (options_.timeout != kNoTimeout) {
      SBX_CHECK_OK(duration("--timeout", options_.timeout, "timeout_ms", limits.timeout_ms));
    }
    SBX_CHECK_OK(duration("--cpu-time", options_.cpu_time, "cpu_ms", limits.cpu_ms));
    SBX_CHECK_OK(megabytes("--memory", options_.memory, "memory_mb", limits.memory_mb));
    SBX_CHECK_OK(megabytes("--tmp-size", options_.tmp_size, "tmp_mb", limits.tmp_mb));
    SBX_CHECK_OK(
        bytes("--max-output", options_.max_output, "output_kb", 1024, flags_.output_bytes));
    SBX_CHECK_OK(bytes("--file-size", options_.file_size, "file_kb", 1024, flags_.file_bytes));
    SBX_CHECK_OK(kilobytes("SBX_MAX_OUTPUT_KB", "output_kb", flags_.output_bytes));
    SBX_CHECK_OK(kilobytes("SBX_MAX_FILE_KB", "file_kb", flags_.file_bytes));
    if (!options_.pids.empty()) {
      const std::int64_t most = most_of_limit("pids");
      const auto count = parse_count(options_.pids, most);
      if (!count || *count == 0) {
        return bad("--pids", options_.pids, "a count from 1 to " + std::to_string(most));
      }
      limits.pids = count;
    }
    return {};
  }

  // No higher than in a profile; in the unit of that.
  static Status check_most(const std::string& where, const std::string& text, const char* key,
                           std::int64_t value) {
    const std::int64_t most = most_of_limit(key);
    if (value <= most) return {};
    return bad(where, text, std::string(key) + " of a profile is at most " + std::to_string(most));
  }
  static Status duration(const std::string& where, const std::string& text, const char* key,
                         std::optional<std::int64_t>& out) {
    if (text.empty()) return {};
    out = parse_duration_ms(text);
    if (!out) return bad(where, text, "a time such as 10s, 500ms or 2m");
    return check_most(where, text, key, *out);
  }
  static Status bytes(const std::string& where, const std::string& text, const char* key,
                      std::int64_t unit, std::optional<std::int64_t>& out) {
    if (text.empty()) return {};
    out = parse_size_bytes(text);
    if (!out) return bad(where, text, "a size such as 64K, 512M or 2G");
    return check_most(where, text, key, *out / unit + (*out % unit != 0 ? 1 : 0));
  }
  static Status megabytes(const std::string& where, const std::string& text, const char* key,
                          std::optional<std::int64_t>& out) {
    SBX_CHECK_OK(bytes(where, text, key, 1 << 20, out));
    // "--memory 512" means megabytes to whoever writes it, and nothing runs in 512 bytes.
    const bool has_unit = text.find_first_not_of("0123456789") != std::string::npos;
    if (out && !has_unit && *out < kLeastBareSize) {
      return bad(where, text, "write the unit: " + text + "M is MiB, " + text + "K KiB");
    }
    if (out) out = (*out + (1 << 20) - 1) >> 20;
    return {};
  }
  Status kilobytes(const std::string& name, const char* key,
                   std::optional<std::int64_t>& out) const {
    const std::string* text = variable(name);
    if (text == nullptr) return {};
    const std::int64_t most = most_of_limit(key);
    const auto count = parse_count(*text, most);
    if (!count || *count == 0) {
      return bad(name, *text, "a count of KiB, from 1 to " + std::to_string(most));
    }
    if (!out) out = *count * 1024;
    return {};
  }

  const RunOptions& options_;
  const Environment& environment_;
  OperatorFlags flags_;
};

// The same file, whatever is a symlink: ".." is followed where it takes back a directory's own
// name.
std::string without_dots(const std::string& path) {
  std::string out;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    struct stat info {};
    const bool takes_back =
        part == ".." && !out.ends_with("/..") &&
        (out.empty() || (lstat(out.c_str(), &info) == 0 && S_ISDIR(info.st_mode)));
    if (takes_back) {
      out.resize(out.empty() ? 0 : out.rfind('/'));
    } else {
      (out += '/') += part;
    }
  }
  return out.empty() ? "/" : out;
}

}  // namespace

std::string network_names() { return join(kNames<NetworkMode>, ", "); }
std::string scrub_names() { return join(kNames<ScrubMode>, ", "); }

Result<std::string> current_directory(const std::string& where) {
  Result<std::string> here = real_path(".");
  if (here.ok()) return here;
  const int error = here.error().sys_errno;
  return call_failed(ErrorCode::kPathNotFound, "the current directory", where,
                     "write the path from /", error);
}

Result<std::string> absolute_path(const std::string& path, const std::string& where) {
  if (path.starts_with('/')) return without_dots(path);
  SBX_TRY(const std::string here, current_directory(where));
  return without_dots(here + "/" + path);
}

Result<std::string> root_from_here(const std::string& path, const std::string& where) {
  if (path.empty() || path.starts_with('/') || path.starts_with("${")) return path;
  SBX_TRY(const std::string here, current_directory(where));
  return normal_path(path, here, where);
}

Result<OperatorFlags> operator_flags(const RunOptions& options, const Environment& environment) {
  return FlagReader(options, environment).read();
}

Result<std::vector<int>> parse_host_ports(const std::vector<std::string>& values) {
  std::vector<int> ports;
  for (const std::string& value : values) {
    const auto port = parse_count(value, 65535);
    if (!port || *port == 0) return bad("--host-port", value, "a port from 1 to 65535");
    ports.push_back(static_cast<int>(*port));
  }
  return ports;
}

Result<std::pair<std::string, std::string>> parse_assignment(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return bad("--env", text, "NAME=VALUE");
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace sbx
