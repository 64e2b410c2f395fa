// A launcher in a process of its own, for tests that signal or kill it: dummy_launcher WORKER FOLDER GRACE
// SCRIPT… One rank per SCRIPT, whose words go to the worker, with RANK, WORLD_SIZE and MASTER_PORT set. Says
// on stdout what it sees; exits with the job's code.
#include <cstdlib>
#include <iostream>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "launcher/supervision/supervisor.h"

namespace {

using namespace hftrain::launcher;  // NOLINT(google-build-using-namespace): a test program of one page

class Talker : public WorkerObserver {
 public:
  void on_event(const hftrain::plan::WorkerEvent& event) override {
    if (event.kind == hftrain::plan::WorkerEvent::Kind::kReady)
      std::cout << "ready " << event.rank << std::endl;
  }
  void on_output(const OutputLine& line) override { std::cout << "output " << line.text << std::endl; }
  void on_notice(const std::string& text) override { std::cout << "notice " << text << std::endl; }
};

}  // namespace

int main(int argc, char** argv) {
  JobSpec spec;
  spec.output = {argv[2], OutputFilter("all", "0")};
  spec.limits.grace_seconds = std::atof(argv[3]);
  spec.rendezvous = bind_rendezvous();
  for (int i = 4; i < argc; ++i) {
    WorkerSpec worker;
    worker.rank = i - 4;
    worker.argv = {argv[1]};
    for (const std::string& word : hftrain::split_words(argv[i])) worker.argv.push_back(word);
    worker.serves_store = worker.rank == 0;
    worker.environment = hftrain::Environment::of_process();
    worker.environment.set("RANK", std::to_string(worker.rank));
    worker.environment.set("WORLD_SIZE", std::to_string(argc - 4));
    worker.environment.set("MASTER_PORT", std::to_string(spec.rendezvous.port));
    spec.workers.push_back(worker);
  }
  try {
    Talker talker;
    const JobResult result = Supervisor(std::move(spec), talker).run();
    if (result.failure) std::cout << result.failure->render() << std::endl;
    return static_cast<int>(result.code);
  } catch (const hftrain::Error& error) {
    std::cout << error.render() << std::endl;
    return static_cast<int>(error.code());
  }
}
