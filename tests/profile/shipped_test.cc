// SPDX-License-Identifier: Apache-2.0
// Every shipped profile: sound, complete, what its description says; and the table, the decoder
// and the printed form held against each other.
#include "profile/shipped.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "json/check.h"
#include "json/reader.h"
#include "profile/decode.h"
#include "profile/default_profile.h"
#include "profile/fields.h"
#include "profile/schema.h"
#include "profile/store.h"
#include "support/decode_profile.h"

namespace sbx {
namespace {

using nlohmann::json;

Profile load(std::string_view name) {
  auto loaded = load_profile(name, {});
  EXPECT_TRUE(loaded.ok()) << name;
  return loaded.ok() ? loaded.value().profile : Profile{};
}

// The loader trusts shipped documents: this is where they are checked.
TEST(Shipped, AllPassTheCheckAndCarryTheirName) {
  std::set<std::string_view> names;
  for (const ShippedText& shipped : shipped_texts()) {
    names.insert(shipped.name);
    auto document = read_json_strict(shipped.text);
    ASSERT_TRUE(document.ok()) << shipped.name;
    for (const Error& error : check_fields(document.value(), kProfileSpec, "")) {
      ADD_FAILURE() << shipped.name << ": " << error_line(error);
    }
    EXPECT_TRUE(validate_profile_text(shipped.text, "", {}).empty()) << shipped.name;
    EXPECT_EQ(load(shipped.name).name, shipped.name);
    EXPECT_FALSE(load(shipped.name).description.empty()) << shipped.name;
  }
  for (const char* name : {"default", "readonly", "strict", "build", "network", "unconfined",
                           "tool-bash", "tool-bash_output", "tool-kill_shell", "tool-shell",
                           "tool-bash_exec", "tool-execute_command", "tool-code_execution"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

// A launch with `default` does not read its JSON. Every member, the places for errors among them.
TEST(Shipped, DefaultIsWhatItsDocumentDecodesTo) {
  const auto document = read_json_strict(shipped_text("default").value());
  ASSERT_TRUE(document.ok());
  // The preset that it extends, and then its own lists appended.
  const auto preset = read_json_strict(shipped_text("agent-settings").value());
  ASSERT_TRUE(preset.ok());
  ASSERT_EQ(document.value()["extends"], "agent-settings");
  Profile read = decode_profile(preset.value());
  ASSERT_TRUE(apply_document(document.value(), read).empty());
  settle(read);
  const Profile made = default_profile();
  EXPECT_EQ(profile_to_json(made, 2), profile_to_json(read, 2));
  EXPECT_EQ(made.filesystem, read.filesystem);
  EXPECT_EQ(made.isolation, read.isolation);
  EXPECT_EQ(made.limits, read.limits);
  EXPECT_EQ(made.ceilings, read.ceilings);
}

// Defaults come from `default`, so it must say everything but what is a document's own.
void expect_every_key(const json& document, const ObjectSpec& spec, const std::string& at) {
  for (const FieldSpec& field : spec.fields) {
    if (field.name == "$schema" || field.name == "extends") continue;
    const std::string name(field.name);
    ASSERT_TRUE(document.contains(name) || document.contains("+" + name)) << at << "/" << name;
    if (field.value.kind == Kind::kObject) {
      expect_every_key(document[name], *field.value.object, at + "/" + name);
    }
  }
}

TEST(Shipped, DefaultSaysEveryKeyOfTheTable) {
  expect_every_key(json::parse(*shipped_text("default")), kProfileSpec, "");
}

TEST(Shipped, PrintedFormsHaveEveryKeyOfTheTableAndDecodeToThemselves) {
  for (const ShippedText& shipped : shipped_texts()) {
    const std::string printed = profile_to_json(load(shipped.name));
    const json document = json::parse(printed);
    expect_every_key(document, kProfileSpec, std::string(shipped.name));
    EXPECT_TRUE(check_fields(document, kProfileSpec, "").empty()) << printed;
    EXPECT_EQ(profile_to_json(decode_profile(document)), printed);
  }
}

// Each leaf of the table set to something that `default` does not say must show when printed.
json other_value(const ValueSpec& spec, const json& current) {
  switch (spec.kind) {
    case Kind::kBool:
      return !current.get<bool>();
    case Kind::kCount:
    case Kind::kNumber:
      return current == json(spec.max) ? spec.max - 1 : spec.max;
    case Kind::kEnum:
      return current == json(spec.names.back()) ? spec.names.front() : spec.names.back();
    case Kind::kList:
      return json::array({other_value(*spec.item, nullptr)});
    case Kind::kMap:
      return {{"A", "b"}};
    case Kind::kObject: {
      json object = json::object();
      for (const FieldSpec& field : spec.object->fields) {
        if (field.brief) continue;  // not printed
        const bool is_left_out = field.value.nullable && !field.required;
        object[std::string(field.name)] =
            is_left_out ? json(nullptr) : other_value(field.value, nullptr);
      }
      return object;
    }
    case Kind::kText:
    case Kind::kTextOrObject:
    case Kind::kTextOrList:
      break;
  }
  for (const char* text : {"/dev/other", "other", "10.0.0.0/8"}) {
    if (spec.form == nullptr || spec.form->matches(text)) return text;
  }
  ADD_FAILURE() << "no sample for the form " << spec.form->expected;
  return nullptr;
}

TEST(Shipped, EveryKeyReachesTheProfileAndComesBack) {
  const json base = json::parse(profile_to_json(load("default")));
  for (const FieldSpec& section : kProfileSpec.fields) {
    if (section.value.kind != Kind::kObject) continue;
    for (const FieldSpec& field : section.value.object->fields) {
      const json::json_pointer at("/" + std::string(section.name) + "/" + std::string(field.name));
      json changed = base;
      changed[at] = other_value(field.value, base[at]);
      ASSERT_TRUE(check_fields(changed, kProfileSpec, "").empty()) << at;
      ASSERT_NE(changed, base) << at;
      EXPECT_EQ(json::parse(profile_to_json(decode_profile(changed))), changed) << at;
    }
  }
}

TEST(Shipped, DefaultIsTheContractsExample) {
  const Profile p = load("default");
  EXPECT_EQ(p.filesystem.base, Base::kSystem);
  EXPECT_EQ(p.filesystem.home, HomeMode::kPrivate);
  ASSERT_GE(p.filesystem.protect.size(), 18U);  // with those of the preset agent-settings
  EXPECT_EQ(p.filesystem.protect.back().path, ".git/config");
  EXPECT_EQ(p.filesystem.protect.back().missing, Missing::kReport);
  EXPECT_EQ(p.filesystem.protect.front().path, ".mcp.json");
  EXPECT_EQ(p.network.mode, NetworkMode::kNone);
  EXPECT_TRUE(p.isolation.require.has(Layer::kLandlock));
  EXPECT_FALSE(p.isolation.require.has(Layer::kCgroup));
  EXPECT_TRUE(p.isolation.namespaces.has(Layer::kCgroup));
  EXPECT_EQ(p.limits.timeout_ms, 120000);
  EXPECT_EQ(p.limits.cpu_ms, std::nullopt);
  EXPECT_EQ(p.ceilings.timeout_ms, 600000);
  EXPECT_EQ(p.commands.allow, std::nullopt);
  EXPECT_EQ(p.commands.ask, std::vector<std::string>{"destructive"});
  EXPECT_EQ(p.audit.file, "");
}

TEST(Shipped, ReadonlyAndExecuteCommandHaveNothingWritable) {
  for (const char* name : {"readonly", "tool-execute_command"}) {
    const Profile p = load(name);
    EXPECT_EQ(p.filesystem.base, Base::kHost);
    EXPECT_EQ(p.limits.tmp_mb, 0) << "no writable tmpfs";
    for (const Root& root : p.filesystem.roots) EXPECT_NE(root.access, Access::kReadWrite) << name;
    EXPECT_EQ(p.landlock.mode, LandlockMode::kRequire);
    EXPECT_EQ(p.isolation.fallback, Fallback::kRefuse);
  }
  EXPECT_EQ(load("tool-execute_command").commands.shell, "sh");      // D1
  EXPECT_EQ(load("tool-execute_command").limits.timeout_ms, 30000);  // D1
}

TEST(Shipped, ToolProfilesHaveTheNumbersOfTheirPages) {
  const Profile bash = load("tool-bash");
  EXPECT_EQ(bash.limits.timeout_ms, 120'000);    // A2
  EXPECT_EQ(bash.ceilings.timeout_ms, 600'000);  // A2
  EXPECT_EQ(bash.limits.output_kb, 100);         // A4
  const Profile shell = load("tool-shell");
  EXPECT_EQ(shell.limits.timeout_ms, 300'000);      // B8
  EXPECT_EQ(shell.ceilings.timeout_ms, 1'800'000);  // B8
  EXPECT_EQ(shell.limits.output_lines, 10'000);     // B12
  EXPECT_TRUE(shell.output.redact);                 // B9
  EXPECT_TRUE(shell.commands.confine_paths);        // B11
  const Profile exec = load("tool-bash_exec");
  EXPECT_EQ(exec.limits.timeout_ms, 2000);  // C1
  EXPECT_EQ(exec.limits.output_kb, 64);     // C3
  EXPECT_EQ(exec.limits.file_kb, 256);      // C3
  ASSERT_TRUE(exec.commands.allow);
  EXPECT_EQ(exec.commands.allow->size(), 33U);             // C6
  EXPECT_EQ(exec.commands.network_allow.size(), 8U);       // C6
  EXPECT_EQ(exec.network.mode, NetworkMode::kNone);        // C4
  EXPECT_EQ(exec.workspace.mode, WorkspaceMode::kFresh);   // C5
  EXPECT_TRUE(exec.output.result_json);                    // C2
  EXPECT_TRUE(exec.environment.request);                   // C1
  EXPECT_EQ(exec.isolation.fallback, Fallback::kDegrade);  // C8
  for (const Profile& page : {bash, shell, exec}) EXPECT_TRUE(page.commands.ask.empty());
  EXPECT_EQ(load("tool-code_execution").commands.ask, std::vector<std::string>{"destructive"});
}

TEST(Shipped, UnconfinedTurnsEveryLayerOff) {
  const Profile p = load("unconfined");
  EXPECT_TRUE(p.isolation.namespaces.empty());
  EXPECT_TRUE(p.isolation.require.empty());
  EXPECT_EQ(p.seccomp.mode, SeccompMode::kOff);
  EXPECT_EQ(p.landlock.mode, LandlockMode::kOff);
  EXPECT_EQ(p.network.mode, NetworkMode::kOpen);
  EXPECT_EQ(p.limits.memory_mb, std::nullopt);
}

TEST(Shipped, DigestsTellProfilesApartAndStayTheSame) {
  std::set<std::string> digests;
  for (const ShippedText& shipped : shipped_texts()) {
    const auto one = load_profile(shipped.name, {});
    const auto two = load_profile(shipped.name, {});
    ASSERT_TRUE(one.ok() && two.ok());
    EXPECT_EQ(one.value().sha256(), two.value().sha256());
    EXPECT_EQ(one.value().sha256().size(), 64U);
    digests.insert(one.value().sha256());
  }
  EXPECT_EQ(digests.size(), shipped_texts().size());
}

// So that --with can only add: lists are appended to, roots are optional and not writable, and the
// one value that is set is the network's mode, which only rises.
TEST(Shipped, PresetsOnlyAdd) {
  int presets = 0;
  for (const ShippedText& shipped : shipped_texts()) {
    if (!shipped.is_preset) continue;
    ++presets;
    const json document = json::parse(shipped.text);
    EXPECT_FALSE(document.contains("extends")) << shipped.name;
    for (const auto& [section, keys] : document.items()) {
      if (!keys.is_object()) continue;
      for (const auto& [key, value] : keys.items()) {
        const bool adds = key.starts_with('+') || section == "caches" ||
                          (section == "network" && key == "mode") ||
                          (section == "filesystem" && key == "git_config");
        EXPECT_TRUE(adds) << shipped.name << " " << section << "." << key;
      }
    }
    for (const json& root : document.value("/filesystem/+roots"_json_pointer, json::array())) {
      EXPECT_TRUE(root.value("optional", false)) << shipped.name << " " << root;
      EXPECT_NE(root.value("access", "ro"), "rw") << shipped.name << " " << root;
    }
  }
  EXPECT_EQ(presets, 16);
}

TEST(Shipped, LayerNamesFollowTheEnumerators) {
  EXPECT_STREQ(layer_name(Layer::kUser), "user");
  EXPECT_STREQ(layer_name(Layer::kCgroup), "cgroup");
  EXPECT_STREQ(layer_name(Layer::kCapabilities), "capabilities");
}

TEST(Schema, IsJsonWithDefaultsAndClosedObjects) {
  const json schema = json::parse(profile_schema_json());
  EXPECT_EQ(schema["$schema"], "http://json-schema.org/draft-07/schema#");
  EXPECT_EQ(schema["additionalProperties"], false);
  const json& limits = schema["properties"]["limits"];
  EXPECT_EQ(limits["additionalProperties"], false);
  EXPECT_EQ(limits["properties"]["pids"]["default"], 1024);
  EXPECT_EQ(limits["properties"]["pids"]["type"], json::array({"integer", "null"}));
  EXPECT_TRUE(schema["properties"]["filesystem"]["properties"].contains("+roots"));
  EXPECT_FALSE(schema["properties"]["name"].contains("default"));
}

}  // namespace
}  // namespace sbx
