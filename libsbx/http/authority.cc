// SPDX-License-Identifier: Apache-2.0
// P-256 throughout. What a client is not told by us it must not believe: the authority is
// constrained to the ruled hosts, and to no address where none is ruled.
#include "http/authority.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>

namespace sbx::http {
namespace {

constexpr long kDays = 30;
constexpr long kClockSkew = 3600;
constexpr std::size_t kMostLeaves = 1024;

Error failed(const char* what) {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  return Error{ErrorCode::kSetupFailed, std::string(what) + ": " + text.data(), what, ""};
}

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using OwnedBio = std::unique_ptr<BIO, FreeBio>;

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

bool add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  if (extension == nullptr) return false;
  const bool is_added = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return is_added;
}

void name_it(X509_NAME* name, const char* what, const std::string& text) {
  X509_NAME_add_entry_by_txt(name, what, MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(text.data()),
                             static_cast<int>(text.size()), -1, 0);
}

bool is_address(std::string_view name) { return parse_ip(name).has_value(); }

OwnedCertificate make_certificate(EVP_PKEY* key, const std::string& name) {
  OwnedCertificate made(X509_new());
  if (!made) return nullptr;
  X509_set_version(made.get(), X509_VERSION_3);
  std::array<unsigned char, 16> serial{};
  if (RAND_bytes(serial.data(), serial.size()) != 1) return nullptr;
  serial[0] = static_cast<unsigned char>((serial[0] & 0x7f) | 0x40);  // positive, of full length
  BIGNUM* const number = BN_bin2bn(serial.data(), serial.size(), nullptr);
  BN_to_ASN1_INTEGER(number, X509_get_serialNumber(made.get()));
  BN_free(number);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -kClockSkew);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), kDays * 86400);
  X509_set_pubkey(made.get(), key);
  // A common name has 64 characters at most; the name that counts is in the extension. An address
  // is none: OpenSSL would hold it against the names that the authority is constrained to.
  name_it(X509_get_subject_name(made.get()), is_address(name) ? "O" : "CN", name.substr(0, 64));
  return made;
}

std::string constraints(const std::vector<HostRule>& hosts) {
  std::string text;
  bool has_address = false;
  bool has_name = false;
  for (const HostRule& host : hosts) {
    std::string entry;
    if (host.kind == HostRule::Kind::kNetwork) {
      has_address = true;
      entry =
          "permitted;IP:" + ip_text(host.network) +
          (host.network.is_v6 ? "/ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" : "/255.255.255.255");
    } else {
      has_name = true;
      // With a dot before it, what lies below the name alone.
      entry =
          (host.kind == HostRule::Kind::kName ? "permitted;DNS:" : "permitted;DNS:.") + host.name;
    }
    if (text.find(entry + ",") == std::string::npos) text += entry + ",";
  }
  if (!has_address)
    text += "excluded;IP:0.0.0.0/0.0.0.0,excluded;IP:0:0:0:0:0:0:0:0/0:0:0:0:0:0:0:0,";
  if (!has_name) text += "permitted;DNS:invalid,";
  text.pop_back();
  return text;
}

}  // namespace

OwnedStore read_store(const std::string& bundle) {
  OwnedStore store(X509_STORE_new());
  const OwnedBio bio(BIO_new_mem_buf(bundle.data(), static_cast<int>(bundle.size())));
  while (X509* const authority = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    X509_STORE_add_cert(store.get(), authority);
    X509_free(authority);
  }
  ERR_clear_error();  // of the end
  return store;
}

Result<std::unique_ptr<Authority>> Authority::make(const std::vector<HostRule>& hosts,
                                                   X509_STORE* store) {
  auto made = std::make_unique<Authority>();
  made->key_.reset(EVP_EC_gen("P-256"));
  if (!made->key_) return failed("EVP_EC_gen");
  made->certificate_ = make_certificate(made->key_.get(), "sbx session authority");
  X509* const own = made->certificate_.get();
  if (own == nullptr) return failed("X509_new");
  name_it(X509_get_subject_name(own), "O", "sbx");
  X509_set_issuer_name(own, X509_get_subject_name(own));
  // The constraints hold for whoever knows them: mbed TLS, which Debian's libgit2 and so cargo are
  // built with, takes no authority at all that has them as critical.
  if (!add_extension(own, own, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !add_extension(own, own, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !add_extension(own, own, NID_subject_key_identifier, "hash") ||
      !add_extension(own, own, NID_name_constraints, constraints(hosts)) ||
      X509_sign(own, made->key_.get(), EVP_sha256()) == 0) {
    return failed("X509_sign");
  }
  SBX_CHECK_OK(made->open(store));
  return made;
}

Result<std::unique_ptr<Authority>> Authority::from_state(std::string_view state,
                                                         X509_STORE* store) {
  auto made = std::make_unique<Authority>();
  const OwnedBio bio(BIO_new_mem_buf(state.data(), static_cast<int>(state.size())));
  made->key_.reset(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  made->certificate_.reset(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  if (!made->key_ || !made->certificate_) return failed("PEM_read_bio");
  SBX_CHECK_OK(made->open(store));
  return made;
}

std::string Authority::state() const {
  const OwnedBio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
  PEM_write_bio_X509(bio.get(), certificate_.get());
  return text_of(bio.get());
}

std::string Authority::certificate() const {
  const OwnedBio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate_.get());
  return text_of(bio.get());
}

// Java trusts only those entries that say so.
std::string Authority::java_store(const std::string& bundle) const {
  const OwnedBio bio(BIO_new_mem_buf(bundle.data(), static_cast<int>(bundle.size())));
  ASN1_OBJECT* const any_use = OBJ_txt2obj("anyExtendedKeyUsage", 0);
  STACK_OF(PKCS12_SAFEBAG)* bags = nullptr;
  int number = 0;
  const auto add = [&](X509* certificate) {
    PKCS12_SAFEBAG* const bag = PKCS12_add_cert(&bags, certificate);
    if (bag == nullptr) return;
    const std::string name = "sbx" + std::to_string(number++);
    PKCS12_add_friendlyname_utf8(bag, name.c_str(), -1);
    // Without a length the value is the object itself.
    PKCS12_add1_attr_by_txt(bag, "2.16.840.1.113894.746875.1.1", V_ASN1_OBJECT,
                            reinterpret_cast<const unsigned char*>(any_use), -1);
  };
  while (X509* const each = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    add(each);
    X509_free(each);
  }
  ERR_clear_error();  // of the end
  add(certificate_.get());
  STACK_OF(PKCS7)* safes = nullptr;
  constexpr int kNoEncryption = -1;
  PKCS12_add_safe(&safes, bags, kNoEncryption, 0, nullptr);
  PKCS12* const store = PKCS12_add_safes(safes, 0);
  std::string text;
  unsigned char* data = nullptr;
  if (store != nullptr && PKCS12_set_mac(store, "changeit", -1, nullptr, 0, 1, EVP_sha1()) == 1) {
    const int size = i2d_PKCS12(store, &data);
    if (size > 0) text.assign(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    OPENSSL_free(data);
  }
  PKCS12_free(store);
  sk_PKCS7_pop_free(safes, PKCS7_free);
  sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
  ASN1_OBJECT_free(any_use);
  return text;
}

Status Authority::open(X509_STORE* store) {
  leaf_key_.reset(EVP_EC_gen("P-256"));
  server_.reset(SSL_CTX_new(TLS_server_method()));
  client_.reset(SSL_CTX_new(TLS_client_method()));
  if (!leaf_key_ || !server_ || !client_) return failed("SSL_CTX_new");
  for (SSL_CTX* const context : {server_.get(), client_.get()}) {
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(
        context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_RELEASE_BUFFERS |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  }
  SSL_CTX_set_num_tickets(server_.get(), 0);
  SSL_CTX_set_options(server_.get(), SSL_OP_NO_TICKET);
  SSL_CTX_set_verify(client_.get(), SSL_VERIFY_PEER, nullptr);
  // 112 bits: no RSA of 1024, no SHA-1, however the library was built.
  constexpr int kSecurityLevel = 2;
  SSL_CTX_set_security_level(client_.get(), kSecurityLevel);
  SSL_CTX_set1_cert_store(client_.get(), store);
  return {};
}

X509* Authority::leaf(const std::string& name) {
  const auto found = leaves_.find(name);
  if (found != leaves_.end()) return found->second.get();
  if (leaves_.size() >= kMostLeaves) leaves_.clear();
  OwnedCertificate made = make_certificate(leaf_key_.get(), name);
  if (!made) return nullptr;
  X509_set_issuer_name(made.get(), X509_get_subject_name(certificate_.get()));
  X509* const own = made.get();
  X509* const issuer = certificate_.get();
  if (!add_extension(own, issuer, NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(own, issuer, NID_key_usage, "critical,digitalSignature") ||
      !add_extension(own, issuer, NID_ext_key_usage, "serverAuth") ||
      !add_extension(own, issuer, NID_subject_key_identifier, "hash") ||
      !add_extension(own, issuer, NID_authority_key_identifier, "keyid:always") ||
      !add_extension(own, issuer, NID_subject_alt_name,
                     (is_address(name) ? "IP:" : "DNS:") + name) ||
      X509_sign(own, key_.get(), EVP_sha256()) == 0) {
    return nullptr;
  }
  return leaves_.emplace(name, std::move(made)).first->second.get();
}

OwnedSsl Authority::accept(const std::string& name) {
  X509* const certificate = leaf(name);
  OwnedSsl ssl(certificate == nullptr ? nullptr : SSL_new(server_.get()));
  if (!ssl || SSL_use_certificate(ssl.get(), certificate) != 1 ||
      SSL_use_PrivateKey(ssl.get(), leaf_key_.get()) != 1) {
    return nullptr;
  }
  SSL_set_accept_state(ssl.get());
  return ssl;
}

OwnedSsl Authority::connect(const std::string& name) {
  OwnedSsl ssl(SSL_new(client_.get()));
  if (!ssl) return nullptr;
  if (is_address(name)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), name.c_str());
  } else {
    SSL_set_hostflags(ssl.get(),
                      X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    SSL_set1_host(ssl.get(), name.c_str());
    SSL_set_tlsext_host_name(ssl.get(), name.c_str());
  }
  SSL_set_connect_state(ssl.get());
  return ssl;
}

}  // namespace sbx::http
