// SPDX-License-Identifier: Apache-2.0
// Names of the layers.
#include "profile/profile.h"

#include "profile/fields.h"

namespace sbx {

static_assert(kLayerNames.size() == kLayerCount);

const char* layer_name(Layer layer) {
  return kLayerNames[static_cast<std::size_t>(layer)].data();  // literals: they end in NUL
}

}  // namespace sbx
