#include "launcher/front/hub_pusher.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "hftrain/base/error.h"
#include "launcher/front/batch_search.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::front {
namespace {

constexpr size_t kSlowToCopy = size_t{64} << 20;

void write(const std::string& path, size_t bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << std::string(bytes, 'x');
}

}  // namespace

TEST_CASE("a push keeps a checkpoint before the search for a batch size moves it", "[front]") {
  const testing::TemporaryDirectory out;
  write(out / "checkpoint-2/model.safetensors", 10);
  write(out / "notes.bin", kSlowToCopy);  // what does not belong to the checkpoint is copied, and before it
  plan::RunPlan plan;
  plan.output_dir = out.path();
  plan.saving.interval.strategy = "steps";
  std::ostringstream said;
  reporting::Console console(said,
                             {.progress = reporting::ProgressStyle::kNone, .color = false, .width = 80});
  arguments::HubArguments asked;
  asked.hub_strategy = "all_checkpoints";
  HubTarget nowhere;
  nowhere.access.offline = true;
  HubPusher pusher(nowhere, asked, plan, console);
  pusher.on_event({.kind = plan::WorkerEvent::Kind::kCheckpoint,
                   .rank = 0,
                   .data = {{"step", 2}, {"path", out / "checkpoint-2"}}});
  pusher.settle();
  set_aside({out / "checkpoint-2"}, plan);
  while (!pusher.wait(1)) continue;
  pusher.tell_end();
  CHECK(said.str().find("(the Hub is not asked") != std::string::npos);  // and not that it cannot be kept
}

TEST_CASE("a push that is left copies nothing more", "[front]") {
  const testing::TemporaryDirectory folder;
  write(folder / "out/checkpoint-2/model.safetensors", 10);
  write(folder / "out/notes.txt", 10);
  const std::atomic<bool> stop = true;
  PushSnapshot snapshot(folder / "kept", stop);
  CHECK_THROWS_AS(snapshot.take_model(folder / "out", folder / "out/checkpoint-2"), Error);
  CHECK(snapshot.files().size() == 1);  // the link
}

}  // namespace hftrain::front
