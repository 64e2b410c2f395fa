// Runs a job of dummy workers under a Supervisor in this process and keeps all that was seen.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hftrain/base/text.h"
#include "launcher/supervisor.h"
#include "support/paths.h"
#include "support/temporary_directory.h"

namespace hftrain::launcher::testing {

class RecordingObserver : public WorkerObserver {
 public:
  std::vector<plan::WorkerEvent> events;
  std::vector<OutputLine> lines;
  std::vector<std::string> notices;
  std::function<void(const plan::WorkerEvent&)> when_event = [](const plan::WorkerEvent&) {};
  std::function<void(const OutputLine&)> when_line = [](const OutputLine&) {};
  std::function<void(const std::string&)> when_notice = [](const std::string&) {};

  void on_event(const plan::WorkerEvent& event) override {
    events.push_back(event);
    when_event(event);
  }
  void on_output(const OutputLine& line) override {
    lines.push_back(line);
    when_line(line);
  }
  void on_notice(const std::string& text) override {
    notices.push_back(text);
    when_notice(text);
  }
  bool has_line(const std::string& text) const {
    for (const OutputLine& line : lines) {
      if (line.text == text) return true;
    }
    return false;
  }
};

// `scripts`: the words of each rank, separated by spaces.
inline JobSpec job_of(const std::string& folder, const std::vector<std::string>& scripts) {
  JobSpec spec;
  spec.output = {folder, OutputFilter("all", "0")};
  spec.limits.grace_seconds = 0.2;
  spec.rendezvous = bind_rendezvous();
  for (const std::string& script : scripts) {
    WorkerSpec worker;
    worker.rank = static_cast<int>(spec.workers.size());
    worker.device = "cpu";
    worker.argv = {hftrain::testing::program("dummy_worker")};
    for (const std::string& word : split_words(script)) worker.argv.push_back(word);
    worker.serves_store = worker.rank == 0;
    spec.workers.push_back(worker);
  }
  return spec;
}

struct Job {
  hftrain::testing::TemporaryDirectory folder;
  RecordingObserver observer;
  Limits limits{.grace_seconds = 0.2, .patience_seconds = 10};

  JobResult run(const std::vector<std::string>& scripts) {
    JobSpec spec = job_of(folder.path(), scripts);
    spec.limits = limits;
    return Supervisor(std::move(spec), observer).run();
  }
};

}  // namespace hftrain::launcher::testing
