// SPDX-License-Identifier: Apache-2.0
// Credentials: placeholders in requests → values, in the one place that is meant for them; values
// in answers → placeholders. Knows no sockets.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "http/redactor.h"
#include "profile/host_rule.h"
#include "profile/profile.h"

namespace sbx::http {

// What stands for a secret: of its length and alphabet, with a vendor's prefix kept. `random` gives
// bytes. A JSON Web Token's first segment says what it said.
std::string make_placeholder(std::string_view secret, void (*random)(unsigned char*, std::size_t));

// What the credential's header says with `value` in it.
std::string header_value(const Credential& credential, std::string_view value);

struct BoundSecret {
  Credential text;
  std::string placeholder;
  std::string secret;
  std::vector<std::string>
      earlier{};  // what it was before, which may still be echoed; newest first
};

class Credentials {
 public:
  explicit Credentials(std::vector<BoundSecret> bound);

  const std::vector<BoundSecret>& bound() const { return bound_; }
  void renew(std::size_t index, std::string secret);

  // Puts values in. The name of the credential whose placeholder stands where it must not;
  // nullopt: none does. `target` is in the form that goes upstream.
  std::optional<std::string> apply(std::string_view host, int port, bool is_tls, Fields& fields,
                                   std::string& target) const;
  // The same for what follows a head.
  std::optional<std::string> find(std::string_view text) const;
  std::optional<std::string> find_in(const Fields& fields) const;
  // How many bytes at the end of a stream may begin a placeholder, also a percent-encoded one.
  std::size_t open_end(std::string_view text) const;

  // Whether answers may hold a value: whichever host the value went to, another may know it.
  bool is_searched() const { return !bound_.empty(); }
  // Values in the forms that they travel in, longest first.
  const std::vector<Replacement>& values() const { return values_; }
  // Of an answer: values in them, and fields that are named by one.
  void redact(Fields& fields) const;

 private:
  bool put_in_field(const BoundSecret& secret, Field& field) const;
  void put_in_query(const BoundSecret& secret, std::string& target) const;
  void list_values();
  void list_forms(const BoundSecret& of, const std::string& secret);

  std::vector<BoundSecret> bound_;
  std::vector<Replacement> placeholders_;
  bool has_space_ = false;             // one of them, which forms spell as a plus
  std::vector<std::string> searched_;  // the placeholders; a space for a plus where has_space_
  std::vector<Replacement> values_;
};

}  // namespace sbx::http
