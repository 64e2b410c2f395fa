// Runs a job of dummy workers under a Supervisor in this process and keeps all that was seen.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hftrain/base/text.h"
#include "launcher/supervision/supervisor.h"
#include "support/paths.h"
#include "support/temporary_directory.h"

namespace hftrain::testing {

class RecordingObserver : public launcher::WorkerObserver {
 public:
  std::vector<plan::WorkerEvent> events;
  std::vector<launcher::OutputLine> lines;
  std::vector<std::string> notices;
  std::function<void(const plan::WorkerEvent&)> when_event = [](const plan::WorkerEvent&) {};
  std::function<void(const launcher::OutputLine&)> when_line = [](const launcher::OutputLine&) {};
  std::function<void(const std::string&)> when_notice = [](const std::string&) {};

  void on_event(const plan::WorkerEvent& event) override {
    events.push_back(event);
    when_event(event);
  }
  void on_output(const launcher::OutputLine& line) override {
    lines.push_back(line);
    when_line(line);
  }
  void on_notice(const std::string& text) override {
    notices.push_back(text);
    when_notice(text);
  }
  bool has_line(const std::string& text) const {
    for (const launcher::OutputLine& line : lines) {
      if (line.text == text) return true;
    }
    return false;
  }
};

// `scripts`: the words of each rank, separated by spaces.
inline launcher::JobSpec job_of(const std::string& folder, const std::vector<std::string>& scripts) {
  launcher::JobSpec spec;
  spec.output = {folder, launcher::OutputFilter("all", "0")};
  spec.limits.grace_seconds = 0.2;
  spec.rendezvous = launcher::bind_rendezvous();
  for (const std::string& script : scripts) {
    launcher::WorkerSpec worker;
    worker.rank = static_cast<int>(spec.workers.size());
    worker.device = "cpu";
    worker.argv = {program("dummy_worker")};
    for (const std::string& word : split_words(script)) worker.argv.push_back(word);
    worker.serves_store = worker.rank == 0;
    spec.workers.push_back(worker);
  }
  return spec;
}

struct Job {
  TemporaryDirectory folder;
  RecordingObserver observer;
  launcher::Limits limits{.grace_seconds = 0.2, .patience_seconds = 10};
  bool trains = true;

  launcher::JobResult run(const std::vector<std::string>& scripts) {
    launcher::JobSpec spec = job_of(folder.path(), scripts);
    spec.limits = limits;
    spec.trains = trains;
    return launcher::Supervisor(std::move(spec), observer).run();
  }
};

}  // namespace hftrain::testing
