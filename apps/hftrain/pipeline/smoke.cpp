#include "pipeline/smoke.h"

#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <ostream>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/hash.h"
#include "hftrain/data/sample_text.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "hftrain/tokenizer/bpe_trainer.h"
#include "launcher/watched_process.h"

namespace hftrain::app {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kTextBytes = 200'000;
constexpr uint64_t kTextSeed = 42;
// A small model is through in milliseconds: enough steps are left after the first checkpoint to kill a rank
// in.
struct Length {
  int steps, first_save;
};
constexpr Length kSmallModel = {60, 20}, kNamedModel = {6, 2};

class Smoke {
 public:
  Smoke(const CommandContext& context, std::vector<std::string> flags, const arguments::ParseOutcome& parsed)
      : context_(context), flags_(std::move(flags)) {
    std::string pattern = (fs::temp_directory_path() / "hftrain-smoke-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw system_error(errno, "cannot create a temporary folder", pattern);
    folder_ = pattern;
    complete(parsed.arguments);
  }

  ExitCode run() {
    const bool good =
        check("a run of " + std::to_string(length_.steps) + " steps", [this] { return straight(); }) &&
        check("a killed rank ends the run and is named", [this] { return killed(); }) &&
        check("starting again resumes", [this] { return resumed(); }) &&
        check("the resumed run equals the straight one", [this] { return equal(); }) &&
        check("the checkpoint verifies", [this] { return verified(); });
    if (good) {
      std::error_code ignored;
      fs::remove_all(folder_, ignored);
      return ExitCode::kDone;
    }
    context_.err << "the files of this check are in " << folder_ << '\n';
    return code_;
  }

 private:
  // Empty: passed; otherwise why not.
  template <typename Check>
  bool check(const std::string& name, Check&& passes) {
    const double begin = monotonic_seconds();
    const std::string problem = passes();
    context_.out << (problem.empty() ? "ok      " : "FAILED  ") << name << " ("
                 << static_cast<int>((monotonic_seconds() - begin) * 10) / 10.0 << " s)" << std::endl;
    if (problem.empty()) return true;
    context_.err << problem << '\n';
    if (code_ == ExitCode::kDone) code_ = ExitCode::kInternal;
    return false;
  }

  // Adds what the flags leave open, and what a smoke run must decide itself; later flags win.
  void complete(const arguments::Arguments& arguments) {
    const arguments::ModelArguments& model = arguments.model;
    const bool named = model.model_name_or_path || model.config_name || model.model_type;
    length_ = named ? kNamedModel : kSmallModel;
    if (arguments.data.train_file.empty()) add("--train_file", make_text());
    if (!named) {
      add("--model_type", "gpt2");
      add("--config_overrides",
          "n_layer=2,n_head=2,n_embd=64,n_positions=128,vocab_size=512,bos_token_id=0,eos_token_id=0");
    }
    if (!model.tokenizer_name && !model.model_name_or_path) add("--tokenizer_name", make_tokenizer());
    if (!arguments.data.block_size && !named) add("--block_size", "64");
    const bool gpus = path_exists("/dev/nvidia0") && !arguments.device.use_cpu;
    const bool counted = arguments.launch.nproc_per_node || arguments.launch.cpu_ranks;
    if (!gpus && !counted) add("--cpu_ranks", "2");
    add("--smoke", "false");
    add("--do_train", "true");
    add("--max_steps", std::to_string(length_.steps));
    add("--save_strategy", "steps");
    add("--save_steps", std::to_string(length_.first_save));
    add("--eval_steps", std::to_string(length_.first_save));
    add("--logging_steps", "1");
    add("--progress", "plain");
  }
  void add(const std::string& flag, const std::string& value) {
    flags_.push_back(flag);
    flags_.push_back(value);
  }

  std::string make_text() {
    text_ = folder_ + "/text.txt";
    write_file_atomically(text_, data::sample_text(kTextSeed, kTextBytes));
    return text_;
  }
  std::string make_tokenizer() {
    tokenizer::BpeTrainingOptions options;
    options.vocab_size = 512;
    tokenizer::BpeTrainer trainer(options);
    trainer.add_text(data::sample_text(kTextSeed, kTextBytes));
    const std::string place = folder_ + "/tokenizer";
    tokenizer::write_byte_level_tokenizer(trainer.train(), options, place);
    return place;
  }

  launcher::WatchedProcess start(const std::string& name) {
    std::vector<std::string> argv = {context_.program, "train"};
    argv.insert(argv.end(), flags_.begin(), flags_.end());
    argv.insert(argv.end(), {"--output_dir", folder_ + '/' + name});
    return launcher::WatchedProcess(std::move(argv), context_.environment);
  }
  std::string expect(int wanted, int got, const launcher::WatchedProcess& run) {
    if (got == wanted) return "";
    code_ = got == 0 ? ExitCode::kInternal : static_cast<ExitCode>(got);
    return "it ended with code " + std::to_string(got) + ", expected " + std::to_string(wanted) + ":\n" +
           run.err();
  }

  std::string straight() {
    launcher::WatchedProcess run = start("straight");
    return expect(0, run.finish(), run);
  }
  std::string killed() {
    launcher::WatchedProcess run = start("killed");
    run.wait_for("checkpoint-" + std::to_string(length_.first_save) + " ");
    const std::vector<pid_t> workers = run.children();
    if (workers.empty()) return "no worker was left to kill after the first checkpoint:\n" + run.err();
    ::kill(workers.back(), SIGKILL);
    const std::string problem = expect(static_cast<int>(ExitCode::kWorkerLost), run.finish(), run);
    if (!problem.empty()) return problem;
    return run.err().find("SIGKILL") == std::string::npos
               ? "the report does not say what happened:\n" + run.err()
               : "";
  }
  std::string resumed() {
    launcher::WatchedProcess run = start("killed");
    return expect(0, run.finish(), run);
  }
  std::string equal() {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder_ + "/straight")) {
      const fs::path relative = fs::relative(entry.path(), folder_ + "/straight");
      if (entry.path().extension() != ".safetensors") continue;
      const std::string other = folder_ + "/killed/" + relative.string();
      if (!path_exists(other) || hash_file(entry.path()) != hash_file(other))
        return relative.string() + " differs";
    }
    return "";
  }
  std::string verified() {
    const auto newest = storage::newest_verified_checkpoint(folder_ + "/killed");
    if (!newest.checkpoint || newest.checkpoint->step != length_.steps)
      return "the last checkpoint does not verify";
    return "";
  }

  const CommandContext& context_;
  std::vector<std::string> flags_;
  std::string folder_;
  std::string text_;
  Length length_ = kSmallModel;
  ExitCode code_ = ExitCode::kDone;
};

}  // namespace

ExitCode run_smoke(const CommandContext& context, const std::vector<std::string>& flags,
                   const arguments::ParseOutcome& parsed) {
  return Smoke(context, flags, parsed).run();
}

}  // namespace hftrain::app
