// SPDX-License-Identifier: Apache-2.0
// One connection each, with the operator's token of the user's own sessions.
#include "sessions.h"

#include <algorithm>

#include "json/reader.h"

namespace sbx {
namespace {

using nlohmann::json;
using std::chrono::steady_clock;

constexpr int kPatienceMs = 500;
constexpr std::chrono::milliseconds kMostOpening{100};  // in one round: keys wait meanwhile
constexpr std::chrono::seconds kLeftBe{10};

json read_json(const std::string& text) {
  Result<json> value = read_json_strict(text, {std::size_t{256} << 20, 128});
  return value.ok() ? std::move(value).value() : json();
}

std::vector<json> list_at(const json& answer, const char* key) {
  const auto found = answer.is_object() ? answer.find(key) : answer.end();
  if (!answer.is_object() || found == answer.end() || !found->is_array()) return {};
  std::vector<json> items;
  for (const json& item : *found) {
    if (item.is_object()) items.push_back(item);
  }
  return items;
}

}  // namespace

SessionWatch::SessionWatch(std::string name, SessionClient client)
    : name_(std::move(name)), client_(std::move(client)) {
  const json greeting = read_json(client_.greeting());
  if (!greeting.is_object()) return;
  pid_ = greeting.value("pid", 0);
  is_operator_ = greeting.value("operator", false);
}

void SessionWatch::ask(const char* method, const json& params, Take take) {
  is_sent_ = client_.send(method, params.dump(-1, ' ', false, json::error_handler_t::replace));
  asked_[client_.last_id()] = std::move(take);
}

void SessionWatch::refresh() {
  if (!is_listing_) {
    is_listing_ = true;
    ask("list", json::object(), [this](const json& answer, bool is_error) {
      is_listing_ = false;
      if (!is_error) tasks_ = list_at(answer, "tasks");
    });
  }
  if (is_asking_ || !is_operator_) return;
  is_asking_ = true;
  ask("approvals", json::object(), [this](const json& answer, bool is_error) {
    is_asking_ = false;
    if (!is_error) approvals_ = list_at(answer, "approvals");
  });
}

bool SessionWatch::read() {
  const auto answered = [this](unsigned id, const std::string& text, bool is_error) {
    const auto found = asked_.find(id);
    if (found == asked_.end()) return;
    const Take take = std::move(found->second);
    asked_.erase(found);
    take(read_json(text), is_error);
  };
  return client_.read([](const std::string&, const std::string&) {}, answered).ok() && is_sent_;
}

Status Sessions::refresh() {
  SBX_TRY(const Directory directory, runtime_directory(environment_));
  trouble_.clear();
  const auto until = steady_clock::now() + kMostOpening;
  for (const std::string& name : session_names(directory)) {
    if (!only_.empty() && name != only_) continue;
    if (find(name) != nullptr) continue;
    const auto deaf = deaf_.find(name);
    if (deaf != deaf_.end() && steady_clock::now() < deaf->second.until) {
      trouble_ = deaf->second.why;
      continue;
    }
    if (steady_clock::now() >= until) break;
    SessionClient::Wanted wanted{name};
    wanted.as_operator = true;
    wanted.patience_ms = kPatienceMs;
    Result<SessionClient> client = SessionClient::open(wanted, environment_);
    if (client.ok()) {
      sessions_.push_back(std::make_unique<SessionWatch>(name, std::move(client).value()));
    } else if (client.error().message.find("does not run") == std::string::npos) {
      trouble_ = name + ": " + client.error().message;
      deaf_[name] = {steady_clock::now() + kLeftBe, trouble_};
    }
  }
  for (const auto& session : sessions_) session->refresh();
  return {};
}

SessionWatch* Sessions::find(const std::string& name) const {
  for (const auto& session : sessions_) {
    if (session->name() == name) return session.get();
  }
  return nullptr;
}

std::vector<struct pollfd> Sessions::waits() const {
  std::vector<struct pollfd> waits;
  for (const auto& session : sessions_) waits.push_back({session->fd(), POLLIN, 0});
  return waits;
}

bool Sessions::read(const std::vector<struct pollfd>& ready) {
  bool has_news = false;
  std::vector<const SessionWatch*> gone;
  for (std::size_t i = 0; i < ready.size() && i < sessions_.size(); ++i) {
    if (ready[i].revents == 0) continue;
    has_news = true;
    if (!sessions_[i]->read()) gone.push_back(sessions_[i].get());
  }
  std::erase_if(sessions_, [&](const auto& session) {
    return std::find(gone.begin(), gone.end(), session.get()) != gone.end();
  });
  return has_news;
}

}  // namespace sbx
