// SPDX-License-Identifier: Apache-2.0
// Tests of host/doctor: made-up facts → the table and the document.
#include "host/doctor.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "host/surroundings.h"

namespace sbx {
namespace {

using Json = nlohmann::json;

HostFacts good_facts() {
  HostFacts facts;
  facts.uid = 1000;
  facts.user_name = "ana";
  facts.landlock_abi = 7;
  facts.kernel_release = "6.18.0";
  facts.architecture = "x86_64";
  facts.cgroup.base = "/sys/fs/cgroup/user/box";
  return facts;
}

void obstruct(HostFacts& facts, Layer layer, const char* reason, const char* hint) {
  facts.obstacles[static_cast<std::size_t>(layer)] = {reason, hint, EPERM};
}

Json document_of(const HostFacts& facts) {
  return Json::parse(make_doctor_report(facts, "/usr/bin/sbx-run").json);
}

TEST(Doctor, AMachineThatGivesEverythingRunsTheDefaultProfile) {
  const DoctorReport report = make_doctor_report(good_facts(), "/usr/bin/sbx-run");
  EXPECT_TRUE(report.all_layers);
  EXPECT_NE(report.text.find("The default profile runs here."), std::string::npos) << report.text;
  EXPECT_EQ(report.text.find("mend:"), std::string::npos) << report.text;
  const Json document = Json::parse(report.json);
  EXPECT_EQ(document["kernel"], "6.18.0");
  EXPECT_EQ(document["architecture"], "x86_64");
  EXPECT_EQ(document["uid"], 1000);
  EXPECT_EQ(document["layers"].size(), static_cast<std::size_t>(kLayerCount));
  for (const auto& [name, layer] : document["layers"].items()) {
    EXPECT_TRUE(layer["available"].get<bool>()) << name;
    EXPECT_TRUE(layer["reason"].is_null()) << name;
    EXPECT_TRUE(layer["mend"].is_null()) << name;
  }
  EXPECT_TRUE(document["default_profile_runs"].get<bool>());
}

TEST(Doctor, SaysWhatItRunsIn) {
  const DoctorReport report = make_doctor_report(good_facts(), "/usr/bin/sbx-run");
  const SurroundingsText& here = surroundings_text(read_surroundings());
  EXPECT_NE(report.text.find("runs in: " + std::string(here.name) + " ("), std::string::npos);
  const Json where = Json::parse(report.json)["surroundings"];
  EXPECT_EQ(where["kind"], here.name);
  EXPECT_TRUE(where["mend"].is_null());  // nothing to mend
  for (const Surroundings kind : {Surroundings::kChroot, Surroundings::kDocker,
                                  Surroundings::kKubernetes, Surroundings::kContainer}) {
    EXPECT_NE(surroundings_text(kind).unseal, nullptr);
  }
  EXPECT_STREQ(surroundings_text(Surroundings::kContainer).name, "container");
}

TEST(Doctor, AMissingLayerShowsItsReasonAndItsMendInBothForms) {
  HostFacts facts = good_facts();
  obstruct(facts, Layer::kUser, "clone(CLONE_NEWUSER): EPERM: no", "sudo sysctl -w a.b=1");
  const DoctorReport report = make_doctor_report(facts, "/usr/bin/sbx-run");
  EXPECT_FALSE(report.all_layers);
  EXPECT_NE(report.text.find("why:  clone(CLONE_NEWUSER): EPERM: no\n"), std::string::npos);
  EXPECT_NE(report.text.find("mend: sudo sysctl -w a.b=1\n"), std::string::npos);
  EXPECT_NE(report.text.find("does NOT run here"), std::string::npos);
  const Json user = Json::parse(report.json)["layers"]["user"];
  EXPECT_FALSE(user["available"].get<bool>());
  EXPECT_EQ(user["reason"], "clone(CLONE_NEWUSER): EPERM: no");
  EXPECT_EQ(user["mend"], "sudo sysctl -w a.b=1");
}

// Its fallback is `refuse`: it needs what it wants, not what it requires alone.
TEST(Doctor, WithoutAnyOneLayerTheDefaultProfileDoesNotRun) {
  for (int i = 0; i < kLayerCount; ++i) {
    const auto layer = static_cast<Layer>(i);
    HostFacts one = good_facts();
    obstruct(one, layer, "no", "yes");
    EXPECT_FALSE(make_doctor_report(one, "/x").all_layers) << layer_name(layer);
  }
}

TEST(Doctor, AProcOfItsOwnCannotBeHadWithoutAPidNamespace) {
  HostFacts facts = good_facts();
  EXPECT_TRUE(document_of(facts)["proc"]["mountable"].get<bool>());
  obstruct(facts, Layer::kPid, "no", "yes");
  EXPECT_FALSE(document_of(facts)["proc"]["mountable"].get<bool>());
}

TEST(Doctor, SaysWhatTheLandlockAbiLacks) {
  HostFacts facts = good_facts();
  facts.landlock_abi = 2;
  const Json old_abi = document_of(facts)["landlock"];
  EXPECT_EQ(old_abi["abi"], 2);
  EXPECT_EQ(old_abi["covers"].size(), 2U);
  EXPECT_EQ(old_abi["missing"].at(0), "truncating files (ABI 3)");
  facts.landlock_abi = 7;
  const Json new_abi = document_of(facts)["landlock"];
  EXPECT_EQ(new_abi["covers"].size(), 7U);
  EXPECT_EQ(new_abi["missing"].at(0), "pathname Unix sockets (ABI 9)");
  facts.landlock_abi = 11;
  const Json newest_abi = document_of(facts)["landlock"];
  EXPECT_EQ(newest_abi["covers"].size(), 9U);
  EXPECT_EQ(newest_abi["missing"].size(), 2U);
  facts.landlock_abi = 0;
  EXPECT_TRUE(document_of(facts)["landlock"]["covers"].empty());
}

TEST(Doctor, SaysWhatEnforcesEachLimit) {
  HostFacts facts = good_facts();
  EXPECT_EQ(document_of(facts)["limits"]["memory"], "cgroup2");
  EXPECT_EQ(document_of(facts)["limits"]["pids"], "cgroup2");
  facts.cgroup = {"", false, "no cgroup2 file system is mounted"};
  EXPECT_EQ(document_of(facts)["limits"]["memory"], "watch");
  EXPECT_EQ(document_of(facts)["limits"]["pids"], "rlimit");
  EXPECT_EQ(document_of(facts)["cgroup"]["reason"], "no cgroup2 file system is mounted");
  EXPECT_NE(document_of(facts)["cgroup"]["mend"].get<std::string>().find("--scope"),
            std::string::npos);
  // RLIMIT_NPROC does not bind global root.
  facts.uid = 0;
  EXPECT_EQ(document_of(facts)["limits"]["pids"], "watch");
}

TEST(Doctor, AMaskedProcAndAListenerInForceAreSaid) {
  HostFacts facts = good_facts();
  facts.proc_mountable = false;
  facts.seccomp_notify = false;
  const DoctorReport report = make_doctor_report(facts, "/x");
  EXPECT_FALSE(report.all_layers);
  const std::size_t row = report.text.find("  pid          NO ");
  ASSERT_NE(row, std::string::npos) << report.text;
  const std::size_t why = report.text.find("why:  mount(proc): ", row);
  EXPECT_LT(why, report.text.find("  net ", row));
  EXPECT_LT(report.text.find("mend: docker run --security-opt systempaths=unconfined", why),
            report.text.find("  net ", row));
  EXPECT_FALSE(Json::parse(report.json)["layers"]["pid"]["available"].get<bool>());
  EXPECT_NE(report.text.find("no notifications"), std::string::npos);
  EXPECT_FALSE(Json::parse(report.json)["proc"]["mountable"].get<bool>());
}

TEST(Doctor, SaysWhatKeptLayersWouldBe) {
  const auto report = [](const DoctorLayers& layers) {
    return make_doctor_report(good_facts(), "/x", Managed{}, layers);
  };
  const auto row = [](const DoctorReport& told) { return Json::parse(told.json)["kept_layers"]; };
  DoctorLayers layers{"/w\n", "/state", true, true, ""};
  EXPECT_NE(report(layers).text.find("of /w\\x0a: overlay (userxattr)"), std::string::npos)
      << report(layers).text;
  EXPECT_EQ(row(report(layers)), Json({{"workspace", "/w\n"},
                                       {"kind", "overlay"},
                                       {"shares_blocks", true},
                                       {"directory", "/state"},
                                       {"reason", nullptr}}));
  layers.is_overlay = false;
  layers.reason = "files in it have several names";
  EXPECT_NE(report(layers).text.find("copy that shares blocks"), std::string::npos);
  EXPECT_EQ(row(report(layers))["kind"], "copy");
  layers.shares_blocks = false;
  EXPECT_NE(report(layers).text.find("whole copy"), std::string::npos);
  EXPECT_NE(report(layers).text.find("why:  files in it have"), std::string::npos);
  layers.directory.clear();
  EXPECT_NE(report(layers).text.find(": NONE"), std::string::npos);
  EXPECT_TRUE(row(report(layers))["kind"].is_null());
  EXPECT_TRUE(row(report({})).is_null());
}

TEST(Doctor, TheDocumentIsJsonWhateverTheNamesHold) {
  HostFacts facts = good_facts();
  facts.kernel_release = "\xff\x01\"";
  facts.cgroup = {"", false, "open /a\xc3(: no"};
  EXPECT_TRUE(document_of(facts)["kernel"].is_string());
}

TEST(Doctor, TheAppArmorProfileNamesTheProgram) {
  EXPECT_EQ(apparmor_profile_text("/opt/my tools/sbx-run"),
            "# Lets sbx-run make user namespaces where AppArmor restricts them (Ubuntu 23.10 and "
            "later).\n"
            "# sudo apparmor_parser -r /etc/apparmor.d/sbx-run\n"
            "abi <abi/4.0>,\n"
            "include <tunables/global>\n"
            "\n"
            "profile sbx-run \"/opt/my tools/sbx-run\" flags=(unconfined) {\n"
            "  userns,\n"
            "\n"
            "  # Additions of this machine.\n"
            "  include if exists <local/sbx-run>\n"
            "}\n");
}

TEST(Doctor, TheAppArmorProfileCannotBeForgedByAPath) {
  const std::string text = apparmor_profile_text("/a\" flags=(x) {\n}\nprofile **b");
  EXPECT_NE(text.find("profile sbx-run \"/a flags=(x) \\{\\}profile \\*\\*b\" flags=(unconfined)"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace sbx
