// SPDX-License-Identifier: Apache-2.0
// The names of one file → which of a commit's steps become one file again, and which do not.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/owned_fd.h"
#include "journal.h"
#include "kept/kept_layer.h"
#include "touched.h"

namespace sbx {

class Links {
 public:
  // Whether a step may make another name of that real file.
  using MayLink = std::function<bool(const TouchedKey& key, const Touched& touched)>;

  // What the layer changes, and names that it does not change of files that have several.
  Links(const KeptLayer& layer, const std::vector<OwnedFd>& roots, const TouchedMap& touched,
        TouchedMap unchanged, MayLink may_link);

  void note(const Step& step, const Touched& touched);
  // After all steps. The real files, unchanged, that some get another name of.
  const TouchedMap& real() const { return real_; }
  // The step, or the real file, that a step is another name of; null: of none.
  const TouchedKey* first_of(const TouchedKey& key) const;
  // Of names that do not go along with the others of their file.
  void warn(std::vector<std::string>& warnings);

 private:
  using Number = std::pair<dev_t, ino_t>;
  // Of one file of the layer.
  struct Group {
    std::size_t all = 0;
    std::size_t taken = 0;  // by steps, and real ones that stay together
    std::vector<TouchedKey> unchanged;
    std::optional<TouchedKey> first;
    std::optional<Number> real;  // of the first one, where that stays the file that it is
  };
  // Of one real file.
  struct Names {
    nlink_t all = 0;
    nlink_t taken = 0;                 // replaced or removed by this commit
    std::vector<std::string> changed;  // those that are replaced
  };

  void find_real(Group& group, const BaseRecord& wanted);
  void leave_out_kept();

  const KeptLayer& layer_;
  const std::vector<OwnedFd>& roots_;
  const TouchedMap unchanged_;
  const MayLink may_link_;
  std::map<Number, Group> groups_;
  std::map<TouchedKey, Number> numbers_;  // of the steps
  TouchedMap real_;
  std::map<Number, Names> names_;
};

}  // namespace sbx
