// Pushes a run to the Hub beside it: the model of each checkpoint as --hub_strategy says, and that of the end. A push that fails costs
// a warning, and the end says what is not there. Used by the thread that supervises the workers; what waits for a disk or the
// network does so in threads of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/arguments/arguments.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/reporting/console.h"
#include "launcher/front/hub_target.h"
#include "launcher/front/push_queue.h"
#include "launcher/front/push_snapshot.h"
#include "launcher/supervision/supervisor.h"

namespace hftrain::front {

class HubPusher : public launcher::WorkerObserver {
 public:
  // References must outlive the object. Signals that threads are not to get are blocked by then.
  HubPusher(HubTarget target, const arguments::HubArguments& asked, const plan::RunPlan& plan,
            reporting::Console& console);
  HubPusher(const HubPusher&) = delete;
  HubPusher& operator=(const HubPusher&) = delete;
  ~HubPusher() override;  // leaves what is not done

  // A committed checkpoint, unless a push is going on (four of them with --hub_always_push) or nothing is asked of it.
  void on_event(const plan::WorkerEvent& event) override;
  void on_output(const launcher::OutputLine&) override {}
  void on_notice(const std::string&) override {}

  // Until the checkpoints that were told of are linked or copied aside, and may be moved. From any thread.
  void settle() { snapshots_.wait(); }
  // The output folder, whose files do not change any more.
  void push_output();
  // Of a run that ends otherwise: its newest checkpoint, where that was left out because a push was going on. Asks the disk.
  void push_left_out();
  // Nothing is computed beside the pushes any more: a server that says nothing to one of them gets none of those behind it.
  void end() { ending_ = true; }
  // Waits for all pushes, at most `seconds`; false when there is still one. From any thread.
  bool wait(double seconds);
  // Ends what is going on, within seconds.
  void leave() { stop_ = true; }
  // Says what happened.
  void tell();
  // After the last wait(): what is not there, and how it gets there, which tell() then says. Asks the disk.
  void note_end();

 private:
  static constexpr const char* kTheModel = "the model";
  static constexpr int kMostAtOnce = 4;  // each holds what it is to send on the disk
  // One commit, or two: what it is called when it is missing, and the request.
  struct Commit {
    std::string what;
    hub::PushRequest request;
  };
  struct Order {
    std::unique_ptr<PushSnapshot> model, checkpoint;
    std::vector<Commit> commits;
  };

  void add(const std::string& checkpoint);
  void keep_and_send(const std::string& checkpoint);
  std::vector<Commit> commits_of(const std::string& checkpoint) const;
  Order keep(const std::string& checkpoint, const std::string& folder);
  Order keep_output(const std::string& folder);
  std::string message_of(const std::string& checkpoint) const;
  std::string name_in_repository(const std::string& checkpoint) const;
  void send(Order& order);
  void try_to_send(Order& order);
  void send_one(hub::Api& api, const Commit& commit);
  void failed(const std::vector<Commit>& commits);
  void note_skipped();
  std::optional<std::string> command_for(const std::string& what) const;
  std::optional<std::string> command_for_newest_model() const;
  void say(LogLevel level, const std::string& text);
  void done();

  std::string needs_token() const;
  const arguments::HubArguments& asked_;
  std::string output_dir_, save_strategy_;
  reporting::Console& console_;
  std::atomic<bool> stop_{false}, ending_{false};
  bool given_up_ = false;  // of the queue of pushes alone
  int orders_ = 0;

  std::mutex mutex_;  // guards what follows, but for the queues
  std::condition_variable over_;
  HubTarget target_;  // its repository: of the queue of pushes alone until all are over
  int pending_ = 0;
  bool warned_ = false, told_of_parts_ = false;
  bool whole_ = false;  // the output folder holds the model of the end
  std::string last_reason_, left_out_;
  std::vector<std::string> saved_;  // checkpoints, oldest first
  std::set<std::string> missing_, skipped_;
  std::map<std::string, std::string> folders_;  // of the newest checkpoint with each name in the repository
  std::vector<std::pair<LogLevel, std::string>> notices_;

  PushQueue pushes_, snapshots_;  // the second gives to the first, and ends first
};

}  // namespace hftrain::front
