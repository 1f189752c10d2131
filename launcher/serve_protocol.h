// SPDX-License-Identifier: Apache-2.0
// What the two ends of a session's socket must agree on.
#pragma once

namespace sbx {

// Raised when a message that the command line sends or reads changes.
constexpr int kServeProtocol = 1;

}  // namespace sbx
