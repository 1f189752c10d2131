// SPDX-License-Identifier: Apache-2.0
// A session's layer, what is done to it, and looking at the files beside the loop.
#include <sys/epoll.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "session/session.h"

namespace sbx {
namespace {

constexpr std::size_t kMostActions = 8;  // at once

}  // namespace

// Held as long as the session is there. Where each run has a workspace of its own, it says itself
// that there is none.
Status Session::open_layer() {
  const Policy& policy = *options_.policy;
  if (policy.sandbox.each_layer != EachLayer::kNone) {
    SBX_TRY(LayerStore store, open_layer_store(options_.inherited, policy.sandbox.workspace));
    store.owner_pidfd = options_.owner_pidfd;
    throw_forgotten_away(store);
    return {};
  }
  if (policy.sandbox.layer.empty() || policy.run.workspace.mode == WorkspaceMode::kFresh) return {};
  return open_own_layer(nullptr);
}

Status Session::open_own_layer(Expansions* expansions) {
  const Policy& policy = *options_.policy;
  pool_.reset();  // which holds the one before
  layer_.reset();
  SBX_TRY(const View places, inspect_roots(policy, expansions));
  SBX_TRY(layer_,
          KeptLayer::open(options_.inherited, policy, places, &looks_.roots, options_.owner_pidfd));
  return {};
}

Status Session::act(std::vector<std::string> words, LayerAct act) {
  if (actions_.size() >= kMostActions) {
    return Error{ErrorCode::kTooMany,
                 std::to_string(kMostActions) + " layer calls are not answered yet", "",
                 "wait for answers"};
  }
  const bool changes = act.changes;
  if (changes) {
    SBX_CHECK_OK(layer_->enter());
    pool_.reset();  // what waits shows the layer as it was
    words.emplace_back("--held");
  }
  Result<std::unique_ptr<LayerAction>> action =
      LayerAction::start(words, options_.inherited, changes ? layer_->lock() : -1);
  const Key key = next_key_++;
  Loop::Watch watched;
  if (action.ok()) {
    watched = watch(action.value()->fd(), EPOLLIN, [this, key] { step_action(key); });
  }
  if (!watched.is_on()) {
    if (changes) layer_->leave();
    return action.ok() ? watch_failed() : action.error();
  }
  action.value()->act = std::move(act);
  actions_.emplace(key, Action{std::move(action).value(), std::move(watched)});
  return {};
}

void Session::step_action(Key key) {
  const auto found = actions_.find(key);
  if (found == actions_.end() || !found->second.action->step()) return;
  found->second.watch.stop();
  if (!found->second.action->act.changes || layer_->reload().ok()) return end_action(key);
  // Discarded: the session begins another, and whoever has asked for it waits.
  look_for_patterns(options_.policy, [this, key](const Status& looked, Expansions& expansions) {
    set_up_ = looked.ok() ? open_own_layer(&expansions) : looked;
    end_action(key);
  });
}

void Session::end_action(Key key) {
  const std::shared_ptr<LayerAction> action = std::move(actions_.at(key).action);
  actions_.erase(key);
  if (action->act.changes && layer_ != nullptr) layer_->leave();
  const auto answer = std::make_shared<Result<LayerAnswer>>(action->answer());
  if (!answer->ok() || !action->act.shown) return action->act.reply(*answer);
  auto beside = std::make_unique<Beside>();
  beside->then = [action, answer] { action->act.reply(*answer); };
  go_beside(std::move(beside), [action, answer] { *answer = action->act.shown(answer->value()); });
}

bool Session::cancel_acts(std::uint64_t client, std::string_view id) {
  std::vector<LayerAct::Reply> replies;
  std::erase_if(actions_, [&](const auto& entry) {
    const LayerAction& action = *entry.second.action;
    const bool is_meant = action.act.client == client && (id.empty() || action.act.id == id);
    if (is_meant && action.only_reads()) replies.push_back(action.act.reply);
    return is_meant && action.only_reads();
  });
  for (const auto& reply : replies) {
    reply(Error{ErrorCode::kCancelled, "the request was cancelled", "", ""});
  }
  return !replies.empty();
}

void Session::look_for_patterns(const SharedPolicy& policy, Looked then) {
  auto beside = std::make_unique<Beside>();
  Expansions& found = beside->expansions;
  if (!has_patterns(*policy)) return then({}, found);
  const auto looked = std::make_shared<Status>();
  beside->then = [looked, &found, then = std::move(then)] {
    found.close();
    then(*looked, found);
  };
  go_beside(std::move(beside), [policy, looked, &found] {
    if (const auto view = inspect_roots(*policy, &found); !view.ok()) *looked = view.error();
  });
}

// Where there can be no thread, the loop waits.
void Session::go_beside(std::unique_ptr<Beside> beside, const std::function<void()>& work) {
  const Key key = next_key_++;
  const auto end = [this, key] {
    const std::unique_ptr<Beside> ended = std::move(besides_.at(key));
    besides_.erase(key);
    ended->watch.stop();
    ended->then();
  };
  Beside& own = *besides_.emplace(key, std::move(beside)).first->second;
  own.aside = Aside::start(work);
  if (own.aside == nullptr) {
    work();
  } else if (own.watch = watch(own.aside->fd(), EPOLLIN, end); own.watch.is_on()) {
    return;
  } else {
    own.aside.reset();  // which waits for it
  }
  end();
}

}  // namespace sbx
