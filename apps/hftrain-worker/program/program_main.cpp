// libhftrain.so: a program of the user's as hftrain, and as one of its ranks.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/program/trainer.h"
#include "hftrain/trainer/plugin_callback.h"
#include "plugin_path.h"
#include "program/rank.h"
#include "program/trainer_inner.h"
#include "rank_main.h"

namespace hftrain {
namespace {

// The numbers that the stages of a run end with.
template <typename Kept>
class LastNumbers final : public trainer::Callback {
 public:
  explicit LastNumbers(Kept& kept) : kept_(kept) {}
  void on_log(const trainer::State&, trainer::Control&, const Json& record) override {
    if (record.contains("train_loss")) kept_.train = trainer::numbers_of(record);
  }
  void on_evaluate(const trainer::State&, trainer::Control&, const Json& metrics) override {
    kept_.evaluation = trainer::numbers_of(metrics);
  }
  void on_predict(const trainer::State&, trainer::Control&, const Json& metrics) override {
    kept_.prediction = trainer::numbers_of(metrics);
  }

 private:
  Kept& kept_;
};

int failed(const Error& error) {
  std::cerr << error.render() << std::endl;
  return static_cast<int>(error.code());
}

// Commands of hftrain that take the flags of a run; train is the one of no name. A configuration in its place has an ending.
bool takes_program(int argc, char** argv) {
  constexpr std::string_view kOfRuns[] = {"train", "plan", "prepare", "search"};
  if (argc < 2) return true;
  const std::string_view first = argv[1];
  const bool is_word = !first.empty() && first.front() != '-' && first.find('.') == std::string_view::npos;
  return !is_word || std::find(std::begin(kOfRuns), std::end(kOfRuns), first) != std::end(kOfRuns);
}

// It prepares the run and starts this program again, as a rank.
int start_hftrain(int argc, char** argv) {
  const std::string program = worker::installed_tree() + "/bin/hftrain";
  std::string self = std::filesystem::read_symlink("/proc/self/exe").string(), flag = "--worker_program";
  std::vector<char*> words(argv, argv + argc);
  if (takes_program(argc, argv)) words.insert(words.end(), {flag.data(), self.data()});
  words.push_back(nullptr);
  ::execv(program.c_str(), words.data());
  return failed(Error(ExitCode::kEnvironment, "hftrain cannot be started")
                    .where(program)
                    .why(std::strerror(errno))
                    .hint("libhftrain.so belongs into lib of an installation, beside its bin"));
}

int other_interface(const Program& program) {
  return failed(Error(ExitCode::kEnvironment, "the program cannot be used")
                    .where(std::filesystem::read_symlink("/proc/self/exe").string())
                    .why("it was built for interface for programs " + std::to_string(program.interface) +
                         ", and the libhftrain.so that it has found has " +
                         std::to_string(HFTRAIN_PROGRAM_INTERFACE))
                    .hint("build it again with find_package(hftrain) of this installation"));
}

}  // namespace

trainer::RunOutcome Rank::train(const worker::RankParts& parts, const Program& program) {
  Rank rank(parts, program.overridden);
  const trainer::PluginPart part = part_of_program("its Trainer");
  const std::shared_ptr<Trainer> own = part.call("being made", [&] { return program.make(rank); });
  const std::shared_ptr<trainer::Trainer> opened = rank.open();
  opened->add_callback(std::make_unique<LastNumbers<Trainer::Inner::Numbers>>(own->inner_->numbers));
  own->inner_->trainer = opened;
  parts.ready(own);
  return worker::with_memory_account(*opened, [&] {
    try {
      part.call("run", [&] { own->run(); });
    } catch (...) {
      if (!own->inner_->failure) throw;
    }
    if (own->inner_->failure) std::rethrow_exception(own->inner_->failure);
    return opened->finish();
  });
}

extern "C" int hftrain_program_main(int argc, char** argv, const Program& program) {
  if (program.interface != HFTRAIN_PROGRAM_INTERFACE) return other_interface(program);
  const bool is_rank = argc > 1 && argv[1] == std::string_view("--plan");
  if (!is_rank) return start_hftrain(argc, argv);
  return worker::rank_main(
      argc, argv, [&program](const worker::RankParts& parts) { return Rank::train(parts, program); });
}

}  // namespace hftrain
