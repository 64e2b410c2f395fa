#include "launcher/front/hub_pusher.h"

#include <chrono>
#include <cmath>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "hftrain/base/caught_error.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "launcher/front/attempts.h"

namespace hftrain::front {
namespace {

std::string last_part(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

std::string snapshots_of(const std::string& output_dir) {
  return output_dir + "/hftrain/.push";
}

}  // namespace

HubPusher::HubPusher(HubTarget target, const arguments::HubArguments& asked, const plan::RunPlan& plan,
                     reporting::Console& console)
    : asked_(asked),
      output_dir_(plan.output_dir),
      save_strategy_(plan.saving.interval.strategy),
      console_(console),
      target_(std::move(target)),
      warned_(!target_.trouble.empty()) {
  snapshots_.add([this] {  // what a killed run has left
    std::error_code ignored;
    std::filesystem::remove_all(snapshots_of(output_dir_), ignored);
  });
}

HubPusher::~HubPusher() {
  leave();
}

void HubPusher::on_event(const plan::WorkerEvent& event) {
  tell();
  if (const std::optional<std::string> path = committed_checkpoint(event, output_dir_)) add(*path);
}

void HubPusher::push_output() {
  whole_ = true;
  keep_and_send("");
}

void HubPusher::add(const std::string& checkpoint) {
  if (asked_.hub_strategy == "end") return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    saved_.push_back(checkpoint);
    folders_[name_in_repository(checkpoint)] = checkpoint;
    const bool waits = pending_ >= (asked_.hub_always_push ? kMostAtOnce : 1);
    left_out_ = waits ? checkpoint : "";
    if (waits && (asked_.hub_always_push || asked_.hub_strategy == "all_checkpoints"))
      skipped_.insert(last_part(checkpoint));
    if (waits) return;
  }
  keep_and_send(checkpoint);
}

void HubPusher::push_left_out() {
  std::string checkpoint;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (left_out_.empty() || !path_exists(left_out_)) return;
    checkpoint = std::exchange(left_out_, "");
    skipped_.erase(last_part(checkpoint));
  }
  keep_and_send(checkpoint);
}

// Empty: the output folder at the end.
void HubPusher::keep_and_send(const std::string& checkpoint) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++pending_;
  }
  const std::string folder = snapshots_of(output_dir_) + '/' + std::to_string(orders_++);
  snapshots_.add([this, checkpoint, folder] {
    try {
      auto order =
          std::make_shared<Order>(checkpoint.empty() ? keep_output(folder) : keep(checkpoint, folder));
      pushes_.add([this, order] { send(*order); });
    } catch (...) {
      failed(commits_of(checkpoint));
      done();
    }
  });
}

// What they are called when they are missing, and no more.
std::vector<HubPusher::Commit> HubPusher::commits_of(const std::string& checkpoint) const {
  std::vector<Commit> commits = {{kTheModel, {}}};
  if (!checkpoint.empty() && asked_.hub_strategy != "every_save")
    commits.push_back({name_in_repository(checkpoint), {}});
  return commits;
}

HubPusher::Order HubPusher::keep_output(const std::string& folder) {
  Order order;
  order.model = std::make_unique<PushSnapshot>(folder, stop_);
  order.model->take_output(output_dir_);
  order.commits.push_back({kTheModel, {.message = "End of training", .files = order.model->files()}});
  return order;
}

HubPusher::Order HubPusher::keep(const std::string& checkpoint, const std::string& folder) {
  Order order;
  const std::string message = message_of(checkpoint);
  order.model = std::make_unique<PushSnapshot>(folder + "-model", stop_);
  if (order.model->take_model(output_dir_, checkpoint)) {
    order.commits.push_back({kTheModel, {.message = message, .files = order.model->files()}});
  } else if (!told_of_parts_) {
    told_of_parts_ = true;
    say(LogLevel::kInfo,
        "checkpoints hold the ranks' parts of the model, so that the model itself is pushed at the end "
        "alone");
  }
  if (asked_.hub_strategy == "every_save") return order;
  const std::string name = name_in_repository(checkpoint);
  order.checkpoint = std::make_unique<PushSnapshot>(folder + "-state", stop_);
  order.checkpoint->take_checkpoint(checkpoint, name);
  order.commits.push_back(
      {name,
       {.message = message + ", checkpoint", .files = order.checkpoint->files(), .replaced_folder = name}});
  return order;
}

std::string HubPusher::name_in_repository(const std::string& checkpoint) const {
  return asked_.hub_strategy == "checkpoint" ? "last-checkpoint" : last_part(checkpoint);
}

std::string HubPusher::message_of(const std::string& checkpoint) const {
  const std::string begin = "Training in progress, ";
  const std::string name = last_part(checkpoint);
  if (save_strategy_ == "steps") return begin + "step " + name.substr(name.find('-') + 1);
  const std::optional<Json> state = try_parse_json(read_file(checkpoint + "/trainer_state.json"));
  const double epoch = state && state->is_object() ? state->value("epoch", 0.0) : 0.0;
  return begin + "epoch " + std::to_string(static_cast<int64_t>(epoch));
}

void HubPusher::send(Order& order) {
  if (given_up_) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Commit& commit : order.commits) missing_.insert(commit.what);
  } else {
    try_to_send(order);
  }
  order = {};  // its files go before anybody hears that it is over
  done();
}

void HubPusher::try_to_send(Order& order) {
  size_t sent = 0;
  std::optional<hub::Api> api;
  try {
    hub::Access access = target_.access;
    access.waits = [this](double seconds, const std::string& why) {
      if (seconds < hub::kNoticedSeconds) return;
      say(LogLevel::kInfo, why + ": pushing goes on in " + std::to_string(std::lround(seconds)) + " s");
    };
    api.emplace(std::move(access), &stop_);
    if (target_.repository.empty()) {
      HubTarget reached = target_;
      reach_repository(*api, reached);
      if (!reached.remark.empty()) say(LogLevel::kWarning, reached.remark);
      const std::lock_guard<std::mutex> lock(mutex_);
      target_ = std::move(reached);
    }
    for (; sent < order.commits.size(); ++sent) send_one(*api, order.commits[sent]);
  } catch (...) {
    failed({order.commits.begin() + static_cast<std::ptrdiff_t>(sent), order.commits.end()});
    given_up_ = ending_ && api && api->met_silence();
  }
}

void HubPusher::send_one(hub::Api& api, const Commit& commit) {
  hub::PushRequest request = commit.request;
  request.repository = {target_.repository};
  request.revision = target_.revision;
  hub::push(api, request);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    missing_.erase(commit.what);
  }
  say(LogLevel::kInfo, "pushed to " + target_.repository + ": " + request.message);
}

// In a handler, of the error that is being handled.
void HubPusher::failed(const std::vector<Commit>& commits) {
  const Error error = error_of(std::current_exception());
  const Diagnostic& first = error.diagnostics().front();
  bool first_time = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    last_reason_ =
        stop_ ? "the last push was stopped" : first.what + (first.why.empty() ? "" : ": " + first.why);
    for (const Commit& commit : commits) missing_.insert(commit.what);
    first_time = !stop_ && !std::exchange(warned_, true);
  }
  if (first_time)
    say(LogLevel::kWarning, "nothing could be pushed to the Hub: " + last_reason_ +
                                "; the training goes on, and its end says what is missing there");
}

void HubPusher::say(LogLevel level, const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  notices_.emplace_back(level, text);
}

void HubPusher::done() {
  const std::lock_guard<std::mutex> lock(mutex_);
  --pending_;
  over_.notify_all();
}

bool HubPusher::wait(double seconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  return over_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return pending_ == 0; });
}

void HubPusher::tell() {
  std::vector<std::pair<LogLevel, std::string>> notices;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    notices.swap(notices_);
  }
  for (const auto& [level, text] : notices) console_.message(level, text);
}

}  // namespace hftrain::front
