// SPDX-License-Identifier: Apache-2.0
// The state of a layer, the records of real files and the journal of a commit: what is read is
// written as it was.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "journal.h"
#include "kept/base_records.h"
#include "kept/state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto state = sbx::decode_layer_state(text);
  if (state.ok()) {
    const auto again = sbx::decode_layer_state(sbx::encode_layer_state(state.value()));
    if (!again.ok() || again.value().stack != state.value().stack) std::abort();
  }
  std::size_t root = 0;
  std::string path;
  sbx::BaseRecord record;
  if (sbx::decode_base_record(text, root, path, record) && path.find('\0') == std::string::npos) {
    const std::string written = sbx::encode_base_record(root, path, record);
    sbx::BaseRecord same;
    if (!sbx::decode_base_record(std::string_view(written).substr(0, written.size() - 1), root,
                                 path, same) ||
        same.digest != record.digest || same.mode != record.mode ||
        same.is_hidden != record.is_hidden) {
      std::abort();
    }
  }
  const auto steps = sbx::decode_journal(text, 2);
  if (steps.ok()) {
    const auto again = sbx::decode_journal(sbx::encode_journal(steps.value()), 2);
    if (!again.ok() || again.value().size() != steps.value().size()) std::abort();
  }
  return 0;
}
