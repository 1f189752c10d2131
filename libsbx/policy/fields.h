// SPDX-License-Identifier: Apache-2.0
// The tables of a Request and of a Policy: one row a key. The request's is checked, decoded and
// printed as a schema in params; both are what an approval's digest covers.
#pragma once

#include "json/field.h"

namespace sbx {

// What `run` and `start` take; other methods and tools build tables of their own beside it.
extern const ObjectSpec kRequestSpec;

// Every member of Policy, the profile's among them. No document is checked with it.
extern const ObjectSpec kPolicySpec;

}  // namespace sbx
