// The worker of a command that generates: started, asked and watched from the front program's one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "hftrain/base/environment.h"
#include "hftrain/generation/text_protocol.h"
#include "launcher/process/child_process.h"
#include "launcher/supervision/stop_signals.h"

namespace hftrain::front {

class TextWorker {
 public:
  // Returns while the worker opens the model. `program` is the front program, beside which the worker lies; `stops` must
  // outlive the object. Error (exit code 3) when it cannot be started.
  TextWorker(const std::string& program, const Environment& environment, const generation::TextSetup& setup,
             launcher::StopSignals& stops);

  using TokenSink = std::function<void(size_t prompt, int64_t id)>;
  // Waits for the texts. `tokens`, which may be empty, gets them as they are chosen. Errors: those of the worker, one that
  // is lost (9) or could not be loaded (3), memory (5, 6), a stop signal (130, 143); after any the worker is not to be used.
  generation::Texts write(const generation::TextRequest& request, const TokenSink& tokens = {});
  // That the worker has been generating so far, without opening the model.
  double seconds() const { return seconds_; }
  // Calls of the model so far: one reads the prompts of a request, each further one what was chosen or guessed.
  int64_t steps() const { return steps_; }
  // Of its copies, which foresee what the model says.
  int64_t draft_steps() const { return draft_steps_; }

 private:
  void send();
  void wait();
  void read_control();
  void read_errors();
  [[noreturn]] void throw_lost();

  launcher::StopSignals& stops_;
  FileDescriptor requests_, control_;
  uint64_t memory_kills_;  // before it was started
  std::unique_ptr<launcher::ChildProcess> process_;
  double seconds_ = 0;
  int64_t steps_ = 0, draft_steps_ = 0;
  std::string waiting_;            // that the worker has not taken yet
  std::string held_;               // of the control descriptor: a line that is not complete
  std::deque<std::string> lines_;  // that nobody has looked at
  bool heard_ = false;             // whether it has said anything
  std::string errors_;             // the end of what it wrote to its standard error
};

}  // namespace hftrain::front
