// SPDX-License-Identifier: Apache-2.0
// Authority: the session's own certificate authority, for the ruled hosts and no others, and the
// certificates that it makes on demand; the contexts of TLS on both sides. Its key leaves this
// process only in state(), for the process that takes its place.
#pragma once

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/stream.h"
#include "profile/host_rule.h"

namespace sbx::http {

template <typename T, void (*kFree)(T*)>
struct FreeBy {
  void operator()(T* object) const { kFree(object); }
};
using OwnedKey = std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY, EVP_PKEY_free>>;
using OwnedCertificate = std::unique_ptr<X509, FreeBy<X509, X509_free>>;
using OwnedContext = std::unique_ptr<SSL_CTX, FreeBy<SSL_CTX, SSL_CTX_free>>;
using OwnedStore = std::unique_ptr<X509_STORE, FreeBy<X509_STORE, X509_STORE_free>>;

// What upstream servers are held against: the certificates of `bundle`, PEM.
OwnedStore read_store(const std::string& bundle);

class Authority {
 public:
  // A new one.
  static Result<std::unique_ptr<Authority>> make(const std::vector<HostRule>& hosts,
                                                 X509_STORE* store);
  // The one that state() was taken of.
  static Result<std::unique_ptr<Authority>> from_state(std::string_view state, X509_STORE* store);
  std::string state() const;        // PEM: its key, its certificate
  std::string certificate() const;  // PEM
  // The authorities of `bundle` and this one as a store that Java reads (PKCS#12, by the password
  // that stores of certificates have there: changeit). Empty where it cannot be made.
  std::string java_store(const std::string& bundle) const;

  X509_STORE* store() const { return SSL_CTX_get_cert_store(client_.get()); }

  // One that takes a client, as `name`. nullptr: out of memory.
  OwnedSsl accept(const std::string& name);
  // One that connects to `name`, and verifies it.
  OwnedSsl connect(const std::string& name);

 private:
  Status open(X509_STORE* store);
  X509* leaf(const std::string& name);

  OwnedKey key_;
  OwnedCertificate certificate_;
  OwnedKey leaf_key_;
  std::map<std::string, OwnedCertificate, std::less<>> leaves_;
  OwnedContext server_;
  OwnedContext client_;
};

}  // namespace sbx::http
