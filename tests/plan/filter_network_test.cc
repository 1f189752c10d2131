// SPDX-License-Identifier: Apache-2.0
// The filter's promises about sockets and connects, by name and number, apart from the tables.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <vector>

#include "plan/filter.h"
#include "plan/filter_harness.h"

namespace sbx {
namespace {

TEST(Filter, AllowsOnlyFourSocketFamilies) {
  const CompiledFilter filter = compiled(default_spec());
  const std::set<std::uint64_t> allowed = {1, 2, 10, 16};
  for (const char* call : {"socket", "socketpair"}) {
    for (std::uint64_t family = 0; family < 256; ++family) {
      const FilterAction wanted =
          allowed.count(family) != 0 ? FilterAction::kAllow : FilterAction::kRefuse;
      EXPECT_EQ(fate(filter, call, {family, 1, 0}), wanted) << call << " family " << family;
      EXPECT_EQ(fate(filter, call, {family | kGarbage, 1 | kGarbage, kGarbage}), wanted)
          << call << " family " << family;
    }
  }
}

TEST(Filter, RefusesRawAndPacketSocketsWithAnyFlags) {
  const CompiledFilter filter = compiled(default_spec());
  for (const std::uint64_t family : {2U, 10U}) {
    for (const std::uint64_t flags : {0U, 02000000U, 04000U, 02004000U}) {
      EXPECT_EQ(fate(filter, "socket", {family, 1 | flags, 6}), FilterAction::kAllow) << "TCP";
      EXPECT_EQ(fate(filter, "socket", {family, 2 | flags, 17}), FilterAction::kAllow) << "UDP";
      EXPECT_EQ(fate(filter, "socket", {family, 2 | flags, 1}), FilterAction::kAllow) << "ping";
      EXPECT_EQ(fate(filter, "socket", {family, 2 | flags, 58}), FilterAction::kAllow) << "ping";
      EXPECT_EQ(fate(filter, "socket", {family, 1 | flags, 262}), FilterAction::kAllow) << "MPTCP";
      for (const std::uint64_t type : {0U, 3U, 4U, 5U, 6U, 10U, 11U, 15U}) {
        for (const std::uint64_t protocol : {0U, 1U, 6U, 17U, 58U, 132U, 255U}) {
          EXPECT_EQ(fate(filter, "socket", {family, type | flags, protocol}), FilterAction::kRefuse)
              << family << " " << type << " " << protocol;
        }
      }
      EXPECT_EQ(fate(filter, "socket", {family, 1 | flags, 132}), FilterAction::kRefuse) << "SCTP";
    }
  }
}

TEST(Filter, AllowsNetlinkOnlyForRoutesSocketsAndGeneric) {
  const CompiledFilter filter = compiled(default_spec());
  for (std::uint64_t protocol = 0; protocol < 64; ++protocol) {
    const bool allowed = protocol == 0 || protocol == 4 || protocol == 16;
    for (const std::uint64_t type : {2U, 3U, 02000003U}) {
      EXPECT_EQ(fate(filter, "socket", {16, type, protocol | kGarbage}),
                allowed ? FilterAction::kAllow : FilterAction::kRefuse)
          << protocol;
    }
  }
}

TEST(Filter, HandsConnectToTheSupervisorAndRefusesUnixDatagrams) {
  for (FilterSpec spec : every_spec()) {
    spec.mediate_connect = true;
    const CompiledFilter filter = compiled(spec);
    EXPECT_EQ(ret_of(filter, static_cast<std::uint32_t>(number_of("connect"))),
              SECCOMP_RET_USER_NOTIF)
        << describe(spec);
    for (const char* const call : {"socket", "socketpair"}) {
      for (const std::uint64_t flags : {std::uint64_t{0}, std::uint64_t{SOCK_CLOEXEC}, kGarbage}) {
        EXPECT_EQ(fate(filter, call, {AF_UNIX, std::uint64_t{SOCK_STREAM} | flags, 0}),
                  FilterAction::kAllow);
        EXPECT_EQ(fate(filter, call, {AF_UNIX, std::uint64_t{SOCK_SEQPACKET} | flags, 0}),
                  FilterAction::kAllow);
        EXPECT_EQ(fate(filter, call, {AF_UNIX, std::uint64_t{SOCK_DGRAM} | flags, 0}),
                  FilterAction::kRefuse);
        EXPECT_EQ(fate(filter, call, {AF_UNIX, std::uint64_t{SOCK_RAW} | flags, 0}),
                  FilterAction::kRefuse);
      }
    }
  }
}

TEST(Filter, StrictModeAllowsOnlyUnixSockets) {
  const CompiledFilter filter = compiled(strict_spec());
  for (std::uint64_t family = 0; family < 256; ++family) {
    EXPECT_EQ(fate(filter, "socket", {family, 1, 0}),
              family == 1 ? FilterAction::kAllow : FilterAction::kRefuse)
        << family;
  }
}

TEST(Filter, RefusesFastOpenWhereLandlockAloneGuardsTheNetwork) {
  const std::uint64_t fast_open = 0x20000000;
  FilterSpec spec;
  const CompiledFilter with_namespace = compiled(spec);
  spec.network_namespace = false;
  const CompiledFilter without = compiled(spec);
  const std::vector<std::pair<std::string, std::size_t>> calls = {
      {"sendto", 3}, {"sendmsg", 2}, {"sendmmsg", 3}};
  for (const auto& [call, flags] : calls) {
    Args args{};
    args[flags] = 0x4000 | kGarbage;  // MSG_NOSIGNAL
    EXPECT_EQ(fate(without, call, args), FilterAction::kAllow) << call;
    args[flags] = fast_open | 0x4000 | kGarbage;
    EXPECT_EQ(fate(without, call, args), FilterAction::kRefuse) << call;
    EXPECT_EQ(fate(with_namespace, call, args), FilterAction::kAllow) << call;
  }
}

TEST(Filter, RefusesInternetSocketsWhereTheNetworkIsOff) {
  FilterSpec spec;
  spec.allow_inet = false;
  for (const bool has_namespace : {false, true}) {
    spec.network_namespace = has_namespace;
    const CompiledFilter filter = compiled(spec);
    EXPECT_EQ(fate(filter, "socket", {2, 1, 0}), FilterAction::kRefuse);
    EXPECT_EQ(fate(filter, "socket", {10, 1, 6}), FilterAction::kRefuse);
    EXPECT_EQ(fate(filter, "socket", {1, 1, 0}), FilterAction::kAllow);
    EXPECT_EQ(fate(filter, "socket", {16, 3, 0}), FilterAction::kAllow);
  }
}

}  // namespace
}  // namespace sbx
