// SPDX-License-Identifier: Apache-2.0
// A layer's patch as a client may read it.
#pragma once

#include "base/result.h"
#include "session/layer_action.h"
#include "session/service.h"

namespace sbx {

// What `layer diff` has answered, without the secrets that commands' output would come without; a
// refusal as it is. Errors: `answer`'s own, those of Service::redact(), kInternal for what is no
// such answer.
Result<LayerAnswer> redact_patch(const Service& service, const Result<LayerAnswer>& answer);

}  // namespace sbx
