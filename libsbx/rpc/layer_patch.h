// SPDX-License-Identifier: Apache-2.0
// A layer's patch as a client may read it.
#pragma once

#include "base/result.h"
#include "output/stream.h"
#include "session/layer_action.h"

namespace sbx {

// What `layer diff` has answered, without the secrets that commands' output would come without; a
// refusal as it is. Errors: kInternal for what is no such answer. From any thread.
Result<LayerAnswer> redact_patch(const RedactionInput& redaction, const LayerAnswer& answer);

}  // namespace sbx
