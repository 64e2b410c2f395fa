// Whole runs of the built programs: exit codes, signals, what is written. Without hftrain-worker (a build
// without LibTorch) only what the front program does alone is tested.
#include <poll.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "built_programs.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/base/text.h"
#include "hftrain/storage/manifest.h"
#include "support/catch.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace hftrain {
namespace {

using testing::kHasWorker;
using testing::kNoWorker;
using testing::kProgram;
using testing::Program;

// A folder with text, a tokenizer and nothing else, and a cache of its own.
class RunFixture {
 public:
  RunFixture() {
    std::ofstream text(folder / "text.txt");
    for (int i = 0; i < 600; ++i)
      text << "line " << i << ": the quick brown fox number " << i * 7919 % 1009 << '\n';
    text.close();
    environment.set("HFTRAIN_CACHE", folder / "cache");
    environment.set("OMP_NUM_THREADS", "1");
    Program tokenizer({kProgram, "tokenizer", "train", "--kind", "bpe", "--vocab_size", "384", "--files",
                       folder / "text.txt", "--output", folder / "tokenizer"},
                      environment);
    REQUIRE(tokenizer.finish() == 0);
  }

  // A run of a tiny model on two CPU ranks; `more` are flags that come last.
  Program start(const std::vector<std::string>& more) const {
    std::vector<std::string> argv = {
        kProgram,
        "--model_type",
        "gpt2",
        "--config_overrides",
        "n_layer=1,n_head=2,n_embd=32,n_positions=32,vocab_size=384,bos_token_id=0,eos_token_id=0",
        "--tokenizer_name",
        folder / "tokenizer",
        "--train_file",
        folder / "text.txt",
        "--block_size",
        "32",
        "--use_cpu",
        "--nproc_per_node",
        "2",
        "--output_dir",
        output,
        "--logging_steps",
        "1",
        "--max_steps",
        "6",
        "--save_steps",
        "3"};
    argv.insert(argv.end(), more.begin(), more.end());
    return Program(argv, environment);
  }
  Json summary() const { return read_json_file(output + "/hftrain/summary.json"); }

  testing::TemporaryDirectory folder;
  Environment environment = Environment::of_process();
  std::string output = folder / "out";
};

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  const std::string id = std::to_string(parent);
  std::ifstream list("/proc/" + id + "/task/" + id + "/children");
  for (pid_t child; list >> child;) children.push_back(child);
  return children;
}

}  // namespace

TEST_CASE("help, a plan and a mistyped flag do not load LibTorch", "[process]") {
  Environment environment = Environment::of_process();
  environment.set("LD_TRACE_LOADED_OBJECTS", "1");
  Program libraries({kProgram}, environment);
  libraries.finish();
  CHECK(libraries.out().find("libc.so") != std::string::npos);
  CHECK(libraries.out().find("torch") == std::string::npos);
}

TEST_CASE("help goes to stdout and names commands and flags", "[process]") {
  Program help({kProgram, "--help"});
  CHECK(help.finish() == 0);
  CHECK(help.err().empty());
  CHECK(help.out().find("usage: hftrain") != std::string::npos);
  CHECK(help.out().find("--learning_rate") != std::string::npos);
}

TEST_CASE("a mistyped flag is code 2 with the nearest name, and nothing is written", "[process]") {
  const testing::TemporaryDirectory folder;
  Program run({kProgram, "--output_dir", folder / "out", "--lerning_rate", "1"});
  CHECK(run.finish() == 2);
  CHECK(run.err().find("--learning_rate") != std::string::npos);
  CHECK_FALSE(path_exists(folder / "out"));
}

TEST_CASE("a plan is printed as JSON on stdout and writes nothing", "[process]") {
  const RunFixture fixture;
  Program plan = fixture.start({"--dry_run", "--json"});
  REQUIRE(plan.finish() == 0);
  const Json document = parse_json(plan.out(), "stdout");
  CHECK(document["world_size"] == 2);
  CHECK(document["workers"].size() == 2);
  CHECK(document["resume"].is_null());
  CHECK_FALSE(path_exists(fixture.output));
}

TEST_CASE("secrets that a file exports stand in no plan and in no file of the run", "[process]") {
  const RunFixture fixture;
  write_file_atomically(
      fixture.folder / "env.yaml",
      "env:\n  HF_TOKEN: hf_verysecret\n  WANDB_API_KEY: verysecret2\n  WANDB_PROJECT: shown\n");
  const std::vector<std::string> flags = {"--config", fixture.folder / "env.yaml"};
  for (const char* form : {"--json", "--quiet"}) {
    std::vector<std::string> words = flags;
    words.insert(words.end(), {"--dry_run", form});
    Program plan = fixture.start(words);
    REQUIRE(plan.finish() == 0);
    CHECK((plan.out() + plan.err()).find("verysecret") == std::string::npos);
    CHECK(plan.out().find("shown") != std::string::npos);
  }
  if (!kHasWorker) HFTRAIN_SKIP(kNoWorker);
  Program run = fixture.start(flags);
  REQUIRE(run.finish() == 0);
  CHECK((run.out() + run.err()).find("verysecret") == std::string::npos);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(fixture.output)) {
    INFO(entry.path());
    if (entry.is_regular_file()) CHECK(read_file(entry.path()).find("verysecret") == std::string::npos);
  }
  const auto mode = std::filesystem::status(fixture.output + "/hftrain/arguments.yaml").permissions();
  CHECK(mode == (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
}

TEST_CASE("the plan of a job over machines is shown on each, and once for all ranks of one launcher",
          "[process]") {
  RunFixture fixture;
  Program second_machine = fixture.start({"--dry_run", "--json", "--nnodes", "2", "--node_rank", "1",
                                          "--master_addr", "10.0.0.5", "--master_port", "29501"});
  REQUIRE(second_machine.finish() == 0);
  const Json document = parse_json(second_machine.out(), "stdout");
  CHECK(document["world_size"] == 4);
  CHECK(document["workers"][3]["env"]["MASTER_ADDR"] == "10.0.0.5");

  for (const auto& [name, value] : {std::pair("RANK", "1"), std::pair("WORLD_SIZE", "2"),
                                    std::pair("LOCAL_RANK", "1"), std::pair("LOCAL_WORLD_SIZE", "2"),
                                    std::pair("MASTER_ADDR", "10.0.0.5"), std::pair("MASTER_PORT", "29501")})
    fixture.environment.set(name, value);
  Program second_rank = fixture.start({"--dry_run", "--json"});
  CHECK(second_rank.finish() == 0);
  CHECK(second_rank.out().empty());
}

TEST_CASE(
    "slots of a host file take the place of another mask where every machine is started by hand, as is told",
    "[process]") {
  RunFixture fixture;
  std::ofstream(fixture.folder / "hosts") << "localhost slots=2\n";
  fixture.environment.set("CUDA_VISIBLE_DEVICES", "5");
  Program plan =
      fixture.start({"--dry_run", "--hostfile", fixture.folder / "hosts", "--include", "localhost:0,1",
                     "--no_ssh", "--node_rank", "0", "--use_cpu", "false", "--gpu_ids", "1"});
  plan.finish();  // as the GPUs of this machine allow
  CHECK_THAT(plan.err(), Catch::Contains("CUDA_VISIBLE_DEVICES=5 is not used"));
}

TEST_CASE("what is missing is code 4 and named", "[process]") {
  const RunFixture fixture;
  const auto [flag, value, named] = GENERATE(table<std::string, std::string, std::string>({
      {"--tokenizer_name", "/no/such/tokenizer", "/no/such/tokenizer"},
      {"--train_file", "/no/such/text.txt", "/no/such/text.txt"},
      {"--train_file", "/dev/null.txt", "/dev/null.txt"},
      {"--resume_from_checkpoint", "/no/such/checkpoint-3", "/no/such/checkpoint-3"},
  }));
  Program run = fixture.start({flag, value});
  INFO(flag << ' ' << value);
  CHECK(run.finish() == 4);
  CHECK(run.err().find(named) != std::string::npos);
}

TEST_CASE("data without a full block are code 4", "[process]") {
  const RunFixture fixture;
  write_file_atomically(fixture.folder / "empty.txt", "");
  Program run = fixture.start({"--train_file", fixture.folder / "empty.txt"});
  CHECK(run.finish() == 4);
}

TEST_CASE("a signal while data are prepared is code 10 and leaves no cache entry", "[process]") {
  const RunFixture fixture;
  std::ofstream text(fixture.folder / "large.txt");
  for (int i = 0; i < 2000000; ++i) text << i << " lines of text that take a while to read\n";
  text.close();
  Program run = fixture.start({"--train_file", fixture.folder / "large.txt"});
  REQUIRE(run.wait_for("hftrain 0."));
  // The folder that prepare works in appears once its handlers are in fixture.
  pollfd ended{run.child().exit_descriptor(), POLLIN, 0};
  while (!path_exists(fixture.folder / "cache/tokens")) REQUIRE(::poll(&ended, 1, 1) == 0);
  run.child().send(SIGTERM);
  CHECK(run.finish() == 10);
  CHECK_FALSE(path_exists(fixture.output + "/hftrain/plan.json"));
}

TEST_CASE("a run trains, saves and leaves a summary; starting it again goes on and finds it finished",
          "[process]") {
  if (!kHasWorker) HFTRAIN_SKIP(kNoWorker);
  const RunFixture fixture;
  Program first = fixture.start({});
  INFO(first.err());
  REQUIRE(first.finish() == 0);
  const Json summary = fixture.summary();
  CHECK(summary["exit_code"] == 0);
  CHECK(summary["ranks"].size() == 2);
  CHECK(summary["checkpoints"]["written"] == 2);
  for (const char* phase : {"parse", "plan", "prepare", "spawn", "load", "first_step", "train", "save"}) {
    INFO(phase);
    CHECK(summary["phases"].contains(phase));
  }
  double parts = 0;
  for (const char* part : {"data", "forward", "backward", "communication", "optimizer"}) {
    INFO(part);
    REQUIRE(summary["phases"].contains(part));
    const auto seconds = summary["phases"][part].get<double>();
    CHECK(seconds > 0);
    parts += seconds;
  }
  CHECK(parts <= summary["phases"]["train"].get<double>() + 1e-6);
  CHECK(summary["tokens_per_second"] > 0);
  CHECK(storage::verify_checkpoint(fixture.output + "/checkpoint-6").ok);
  CHECK(read_file(fixture.output + "/hftrain/arguments.yaml").find("torch: ") != std::string::npos);

  Program again = fixture.start({});
  CHECK(again.finish() == 0);
  CHECK(again.err().find("resuming from " + fixture.output + "/checkpoint-6") != std::string::npos);
  CHECK(path_exists(fixture.output + "/hftrain/ranks/1/0/stderr.log"));

  Program other = fixture.start({"--seed", "7"});
  CHECK(other.finish() == 2);
  CHECK(other.err().find("seed: 42 there, 7 here") != std::string::npos);

  Program anew = fixture.start({"--seed", "7", "--overwrite_output_dir"});
  CHECK(anew.finish() == 0);
  CHECK(storage::verify_checkpoint(fixture.output + ".old-1/checkpoint-6").ok);
}

TEST_CASE("a killed rank ends the run with code 9 and leaves no process", "[process]") {
  if (!kHasWorker) HFTRAIN_SKIP(kNoWorker);
  const RunFixture fixture;
  Program run = fixture.start({"--max_steps", "100000"});
  REQUIRE(run.wait_for("'loss'"));
  const std::vector<pid_t> workers = children_of(run.child().pid());
  REQUIRE(workers.size() == 2);
  ::kill(workers[1], SIGKILL);
  CHECK(run.finish() == 9);
  CHECK(run.err().find("rank 1 was killed by SIGKILL") != std::string::npos);
  for (const pid_t worker : workers) CHECK(::kill(worker, 0) == -1);
  CHECK(read_json_file(fixture.output + "/hftrain/ranks/0/1/error.json")["signal"] == 9);
  CHECK(fixture.summary()["exit_code"] == 9);
}

TEST_CASE("SIGTERM saves a checkpoint that verifies, code 143, and the run goes on from it", "[process]") {
  if (!kHasWorker) HFTRAIN_SKIP(kNoWorker);
  const RunFixture fixture;
  const auto [signal, code] =
      GENERATE(std::pair(SIGTERM, 143), std::pair(SIGUSR1, 143), std::pair(SIGINT, 130));
  Program run = fixture.start({"--max_steps", "100000", "--save_steps", "100000"});
  REQUIRE(run.wait_for("'loss'"));
  run.child().send(signal);
  CHECK(run.finish() == code);
  CHECK(fixture.summary()["exit_code"] == code);
  std::string saved;
  for (const auto& entry : std::filesystem::directory_iterator(fixture.output)) {
    if (entry.path().filename().string().rfind("checkpoint-", 0) == 0) saved = entry.path().string();
  }
  const storage::Verification verified = storage::verify_checkpoint(saved);
  CHECK(verified.ok);
  Program again = fixture.start({"--max_steps", std::to_string(verified.step + 2)});
  CHECK(again.finish() == 0);
  CHECK(again.err().find("resuming from " + saved) != std::string::npos);
}

TEST_CASE("the signals that stop a run can be named, and a quiet run says nothing", "[process]") {
  if (!kHasWorker) HFTRAIN_SKIP(kNoWorker);
  const RunFixture fixture;
  Program run = fixture.start({"--max_steps", "100000", "--signals_to_handle", "SIGHUP, SIGQUIT", "--quiet"});
  pollfd ended{run.child().exit_descriptor(), POLLIN, 0};
  while (!path_exists(fixture.output + "/checkpoint-3")) REQUIRE(::poll(&ended, 1, 1) == 0);
  run.child().send(SIGQUIT);
  CHECK(run.finish() == 143);
  CHECK(run.err().empty());
  CHECK(fixture.summary()["exit_code"] == 143);

  Program wrong = fixture.start({"--signals_to_handle", "SIGTERM,SIGKILL"});
  CHECK(wrong.finish() == 2);
  CHECK(wrong.err().find("SIGKILL") != std::string::npos);
}

TEST_CASE("a signal that --signals_to_handle does not name ends a run as the system has it", "[process]") {
  if (!kHasWorker) HFTRAIN_SKIP(kNoWorker);
  const RunFixture fixture;
  Program run = fixture.start({"--max_steps", "100000", "--signals_to_handle", "SIGINT"});
  REQUIRE(run.wait_for("'loss'"));
  run.child().send(SIGTERM);
  CHECK(run.finish() == 128 + SIGTERM);  // as a shell says it
  CHECK_FALSE(path_exists(fixture.output + "/hftrain/summary.json"));
  CHECK(run.err().find("before anything was started") == std::string::npos);
}

TEST_CASE("a second run on the same folder is refused while the first works", "[process]") {
  if (!kHasWorker) HFTRAIN_SKIP(kNoWorker);
  const RunFixture fixture;
  Program first = fixture.start({"--max_steps", "100000"});
  REQUIRE(first.wait_for("'loss'"));
  Program second = fixture.start({});
  CHECK(second.finish() == 2);
  CHECK(second.err().find("another run is using the output folder") != std::string::npos);
  first.child().send(SIGTERM);
  CHECK(first.finish() == 143);
}

TEST_CASE("two interrupts stop at once without saving, code 10", "[process]") {
  if (!kHasWorker) HFTRAIN_SKIP(kNoWorker);
  const RunFixture fixture;
  Program run = fixture.start({"--max_steps", "100000", "--save_steps", "100000"});
  REQUIRE(run.wait_for("'loss'"));
  // Frozen workers cannot save before the second signal comes.
  const std::vector<pid_t> workers = children_of(run.child().pid());
  for (const pid_t worker : workers) ::kill(worker, SIGSTOP);
  run.child().send(SIGINT);
  REQUIRE(run.wait_for("SIGINT: stopping"));
  run.child().send(SIGINT);
  CHECK(run.finish() == 10);
  for (const pid_t worker : workers) CHECK(::kill(worker, 0) == -1);
  for (const auto& entry : std::filesystem::directory_iterator(fixture.output)) {
    CHECK(entry.path().filename().string().rfind("checkpoint-", 0) != 0);
  }
}

TEST_CASE("a launcher killed with -9 takes its workers with it, and the run can be started again",
          "[process]") {
  if (!kHasWorker) HFTRAIN_SKIP(kNoWorker);
  const RunFixture fixture;
  Program run = fixture.start({"--max_steps", "100000"});
  REQUIRE(run.wait_for("committed"));
  ::kill(run.child().pid(), SIGKILL);
  CHECK(run.finish() == 128 + SIGKILL);  // also waits until nobody holds its output
  Program again = fixture.start({});
  CHECK(again.finish() == 0);
  CHECK(again.err().find("resuming from") != std::string::npos);
}

}  // namespace hftrain
