#include "launcher/front/hub_pusher.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "launcher/front/batch_search.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::front {
namespace {

constexpr size_t kSlowToCopy = size_t{64} << 20;

// Takes every connection and answers none.
class MuteServer {
 public:
  MuteServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here;
    REQUIRE(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&here), size) == 0);
    REQUIRE(::listen(listener_.get(), 16) == 0);
    REQUIRE(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&here), &size) == 0);
    port_ = ntohs(here.sin_port);
    thread_ = std::thread([this] {
      for (int taken; (taken = ::accept(listener_.get(), nullptr, nullptr)) >= 0; ++connections_)
        held_.emplace_back(taken);
    });
  }
  ~MuteServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  std::string address() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int connections() const { return connections_; }

 private:
  FileDescriptor listener_;
  int port_ = 0;
  std::atomic<int> connections_{0};
  std::vector<FileDescriptor> held_;
  std::thread thread_;
};

void write(const std::string& path, size_t bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << std::string(bytes, 'x');
}

// A run whose pushes are watched, and what it says.
struct Pushes {
  explicit Pushes(const std::string& output_dir) {
    plan.output_dir = output_dir;
    plan.saving.interval.strategy = "steps";
  }
  void save(HubPusher& pusher, int step, const std::string& weights = "model.safetensors") const {
    const std::string checkpoint = plan.output_dir + "/checkpoint-" + std::to_string(step);
    write(checkpoint + '/' + weights, 10);
    pusher.on_event({.kind = plan::WorkerEvent::Kind::kCheckpoint,
                     .rank = 0,
                     .data = {{"step", step}, {"path", checkpoint}}});
  }

  // What is said at the end, when all pushes are over.
  std::string end(HubPusher& pusher) const {
    while (!pusher.wait(1)) continue;
    pusher.note_end();
    pusher.tell();
    return said.str();
  }

  plan::RunPlan plan;
  std::ostringstream said;
  reporting::Console console{said,
                             {.progress = reporting::ProgressStyle::kNone, .color = false, .width = 80}};
};

}  // namespace

TEST_CASE("a push keeps a checkpoint before the search for a batch size moves it", "[front]") {
  const testing::TemporaryDirectory out;
  write(out / "notes.bin", kSlowToCopy);  // what does not belong to the checkpoint is copied, and before it
  Pushes run(out.path());
  arguments::HubArguments asked;
  asked.hub_strategy = "all_checkpoints";
  HubTarget nowhere;
  nowhere.access.offline = true;
  HubPusher pusher(nowhere, asked, run.plan, run.console);
  run.save(pusher, 2);
  pusher.settle();
  set_aside({out / "checkpoint-2"}, run.plan);
  CHECK(run.end(pusher).find("(the Hub is not asked") !=
        std::string::npos);  // and not that it cannot be kept
}

TEST_CASE("a server that says nothing at the end costs its seconds once, whatever is left to push",
          "[front]") {
  const testing::TemporaryDirectory out;
  const MuteServer server;
  Pushes run(out.path());
  arguments::HubArguments asked;
  asked.hub_strategy = "every_save";
  asked.hub_always_push = true;
  HubTarget target;
  target.repository = "me/out";
  target.revision = "main";
  target.access.endpoint = server.address();
  target.access.call_seconds = target.access.sending_seconds = 1;
  HubPusher pusher(target, asked, run.plan, run.console);
  pusher.end();
  for (const int step : {1, 2, 3, 4}) run.save(pusher, step);
  pusher.push_output();
  CHECK(run.end(pusher).find("not pushed to the Hub: the model") != std::string::npos);
  CHECK(server.connections() > 0);
  CHECK(server.connections() <= 2);  // a request, and once again
}

TEST_CASE("a run without its end advises to send the newest whole model that it saved", "[front]") {
  const testing::TemporaryDirectory out;
  write(out / "model.safetensors", 10);  // of a run before
  Pushes run(out.path());
  arguments::HubArguments asked;
  asked.hub_strategy = "every_save";
  asked.hub_always_push = true;
  HubTarget target;
  target.access.offline = true;
  target.repository = "me/out";
  target.revision = "main";
  HubPusher pusher(target, asked, run.plan, run.console);
  SECTION("which is the newest but for one of ranks' parts, and one that is gone") {
    run.save(pusher, 1);
    run.save(pusher, 2);
    run.save(pusher, 3, "model/part.safetensors");
    run.save(pusher, 4);
    pusher.settle();
    std::filesystem::remove_all(out / "checkpoint-4");
    const std::string said = run.end(pusher);
    CHECK(said.find("this sends it: hf upload me/out " + out.path() + "/checkpoint-2 --exclude ") !=
          std::string::npos);
  }
  SECTION("and says where there is none") {
    run.save(pusher, 1);
    pusher.settle();
    std::filesystem::remove_all(out / "checkpoint-1");
    const std::string said = run.end(pusher);
    CHECK(said.find("nothing to send") != std::string::npos);
    CHECK(said.find("hf upload") == std::string::npos);
  }
  SECTION("and the output folder when that is whole") {
    run.save(pusher, 1);
    pusher.push_output();
    CHECK(run.end(pusher).find("this sends it: hf upload me/out " + out.path() + " --exclude ") !=
          std::string::npos);
  }
}

TEST_CASE("what cannot be kept for a push is missing by the names that it has in the repository", "[front]") {
  const testing::TemporaryDirectory out;
  Pushes run(out.path());
  arguments::HubArguments asked;
  HubTarget target;
  target.access.offline = true;
  target.repository = "me/out";
  target.revision = "main";
  const auto said_with = [&](const std::string& strategy) {
    asked.hub_strategy = strategy;
    HubPusher pusher(target, asked, run.plan, run.console);
    pusher.settle();  // after its folder was emptied
    write(out / "hftrain/.push", 1);
    run.save(pusher, 2);
    const std::string said = run.end(pusher);
    std::filesystem::remove(out / "hftrain/.push");
    return said;
  };
  const std::string command = "hf upload me/out " + out.path() + "/checkpoint-2";
  std::string said = said_with("every_save");
  CHECK(said.find("not pushed to the Hub: the model (cannot") != std::string::npos);
  CHECK(said.find("this sends it: " + command + " --exclude ") != std::string::npos);
  said = said_with("checkpoint");
  CHECK(said.find("not pushed to the Hub: last-checkpoint, the model (cannot") != std::string::npos);
  CHECK(said.find("this sends it: " + command + " last-checkpoint --delete '*' && " + command) !=
        std::string::npos);
}

TEST_CASE("the model of a checkpoint is pushed without an adapter that lies in the output folder",
          "[front]") {
  const testing::TemporaryDirectory folder;
  for (const char* path : {"adapter_config.json", "notes.txt", "checkpoint-2/model.safetensors"})
    write(folder / ("out/" + std::string(path)), 10);
  const std::atomic<bool> stop = false;
  PushSnapshot snapshot(folder / "kept", stop);
  REQUIRE(snapshot.take_model(folder / "out", folder / "out/checkpoint-2"));
  REQUIRE(snapshot.files().size() == 2);
  CHECK(snapshot.files()[0].path == "model.safetensors");
  CHECK(snapshot.files()[1].path == "notes.txt");
}

TEST_CASE("the newest checkpoint is named where last-checkpoint is an older one", "[front]") {
  const testing::TemporaryDirectory out;
  const MuteServer server;  // so that the first push goes on
  Pushes run(out.path());
  arguments::HubArguments asked;
  HubTarget target;
  target.repository = "me/out";
  target.revision = "main";
  target.access.endpoint = server.address();
  target.access.call_seconds = target.access.sending_seconds = 1;
  const auto said_with = [&](const std::string& strategy) {
    asked.hub_strategy = strategy;
    HubPusher pusher(target, asked, run.plan, run.console);
    pusher.end();
    run.save(pusher, 1);
    run.save(pusher, 2);
    pusher.push_output();
    return run.end(pusher);
  };
  CHECK(said_with("every_save").find("another push was going on") == std::string::npos);
  CHECK(said_with("checkpoint").find("another push was going on (--hub_always_push): checkpoint-2\n") !=
        std::string::npos);
}

TEST_CASE("a run without its end says that nothing was pushed where only the end is", "[front]") {
  const testing::TemporaryDirectory out;
  Pushes run(out.path());
  arguments::HubArguments asked;
  asked.hub_strategy = "end";
  HubTarget target;
  target.access.offline = true;
  HubPusher pusher(target, asked, run.plan, run.console);
  run.save(pusher, 1);
  pusher.push_left_out();
  CHECK(run.end(pusher).find("nothing was pushed to the Hub: with --hub_strategy end") != std::string::npos);
}

TEST_CASE("a link in the output folder is pushed as the file that it leads to", "[front]") {
  const testing::TemporaryDirectory folder;
  write(folder / "notes.txt", 10);
  write(folder / "out/config.json", 1);
  std::filesystem::create_symlink("../notes.txt", folder / "out/notes.txt");
  const std::atomic<bool> stop = false;
  PushSnapshot snapshot(folder / "out/hftrain/.push/0", stop);
  snapshot.take_output(folder / "out");
  REQUIRE(snapshot.files().size() == 2);
  CHECK(read_file(snapshot.files()[1].local) == std::string(10, 'x'));
}

TEST_CASE("a push that is left copies nothing more", "[front]") {
  const testing::TemporaryDirectory folder;
  write(folder / "out/checkpoint-2/model.safetensors", 10);
  write(folder / "out/notes.txt", 10);
  const std::atomic<bool> stop = true;
  PushSnapshot snapshot(folder / "kept", stop);
  CHECK_REFUSED(snapshot.take_model(folder / "out", folder / "out/checkpoint-2"), "it was stopped");
  CHECK(snapshot.files().size() == 1);  // the link
}

TEST_CASE("a repository and the Hub's own cache below the output folder are not pushed", "[front]") {
  const testing::TemporaryDirectory folder;
  for (const char* path :
       {"sub/.git/config", "sub/.cache/huggingface/kept", "sub/.cache/other/kept", "sub/huggingface/kept"})
    write(folder / ("out/" + std::string(path)), 10);
  const std::atomic<bool> stop = false;
  PushSnapshot snapshot(folder / "kept", stop);
  snapshot.take_output(folder / "out");
  REQUIRE(snapshot.files().size() == 2);
  CHECK(snapshot.files()[0].path == "sub/.cache/other/kept");
  CHECK(snapshot.files()[1].path == "sub/huggingface/kept");
}

TEST_CASE("a link in a circle is no file that is pushed, and a folder that is gone is told of", "[front]") {
  const testing::TemporaryDirectory folder;
  write(folder / "out/model.safetensors", 10);
  std::filesystem::create_symlink("circle", folder / "out/circle");
  std::filesystem::create_symlink("nowhere", folder / "out/dangling");
  const std::atomic<bool> stop = false;
  PushSnapshot snapshot(folder / "kept", stop);
  CHECK_NOTHROW(snapshot.take_output(folder / "out"));
  REQUIRE(snapshot.files().size() == 1);
  CHECK_REFUSED(snapshot.take_output(folder / "gone"), "cannot list");
}

}  // namespace hftrain::front
