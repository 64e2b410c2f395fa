#include "launcher/supervision/hang_watch.h"

#include <unistd.h>

#include <cmath>

#include "hftrain/base/file.h"
#include "support/catch.h"
#include "support/temporary_directory.h"
#include "worker_event.h"

namespace hftrain::launcher {
namespace {

using testing::event;
using Kind = plan::WorkerEvent::Kind;
using Sign = Suspect::Sign;

constexpr HangLimits kLimits{.startup_seconds = 300,
                             .least_seconds = 30,
                             .most_seconds = 1800,
                             .multiple = 10,
                             .confirm_seconds = 2,
                             .alone = false};

// Two ranks that train: what the launcher knows of them and what it sees of them.
struct WatchFixture {
  std::vector<WorkerRecord> workers{2};
  std::vector<WorkerSnapshot> snapshots{2};
  HangWatch watch;

  explicit WatchFixture(HangLimits limits = kLimits) : watch(limits, 0) {
    for (size_t i = 0; i < workers.size(); ++i) {
      workers[i].rank = static_cast<int>(i);
      workers[i].ready = true;
      workers[i].step = 5;
    }
    for (WorkerSnapshot& snapshot : snapshots) {
      snapshot.process.state = 'S';
      snapshot.has_status = true;
      snapshot.status.phase = WorkPhase::kTraining;
      snapshot.status.step = 5;
      snapshot.status.operations = 100;
      snapshot.status.operation = "all-reduce";
    }
    snapshots[1].status.operations = 99;
  }
  // `count` updates of rank 0, `seconds` apart; returns when the last was.
  double train(int count, double seconds, double now = 0) {
    for (int i = 0; i < count; ++i) watch.heard(event(Kind::kStep), now += seconds);
    return now;
  }
  void set_phase(WorkPhase phase) {
    for (WorkerSnapshot& snapshot : snapshots) snapshot.status.phase = phase;
  }
  HangWatch::Look look(double now) { return watch.look(workers, snapshots, now); }
};

}  // namespace

TEST_CASE("the first updates have the time of starting, later ones a multiple of the longest recent one") {
  WatchFixture fixture;
  CHECK(fixture.watch.allowed_seconds(WorkPhase::kTraining) == 300);
  fixture.watch.heard(event(Kind::kReady), 0);
  fixture.train(2, 8);
  CHECK(fixture.watch.allowed_seconds(WorkPhase::kTraining) == 300);
  double now = fixture.train(1, 8, 16);
  CHECK(fixture.watch.allowed_seconds(WorkPhase::kTraining) == 80);
  now = fixture.train(1, 20, now);
  CHECK(fixture.watch.allowed_seconds(WorkPhase::kTraining) == 200);
  fixture.train(HangWatch::kRecent, 1, now);
  CHECK(fixture.watch.allowed_seconds(WorkPhase::kTraining) == 30);  // the long one is forgotten
}

TEST_CASE("no deadline is longer than that of collective operations") {
  HangLimits limits = kLimits;
  limits.most_seconds = 20;
  WatchFixture fixture(limits);
  for (const WorkPhase phase : {WorkPhase::kStarting, WorkPhase::kTraining, WorkPhase::kSaving}) {
    CHECK(fixture.watch.allowed_seconds(phase) == 20);
  }
  fixture.train(5, 100);
  CHECK(fixture.watch.allowed_seconds(WorkPhase::kTraining) == 20);
}

TEST_CASE("the time of an evaluation is learned from its own batches, that of a save from nothing") {
  WatchFixture fixture;
  const double now = fixture.train(5, 1);
  CHECK(fixture.watch.allowed_seconds(WorkPhase::kEvaluating) == 300);
  for (int i = 1; i < 6; ++i)
    fixture.watch.heard(event(Kind::kProgress, 0, {{"phase", "eval"}}), now + 4 * i);
  CHECK(fixture.watch.allowed_seconds(WorkPhase::kEvaluating) == 40);
  CHECK(fixture.watch.allowed_seconds(WorkPhase::kTraining) == 30);
  CHECK(fixture.watch.allowed_seconds(WorkPhase::kSaving) == 300);
}

TEST_CASE("evaluations too short to tell of batches are learned from as a whole") {
  WatchFixture fixture;
  double now = 0;
  for (int i = 0; i < 3; ++i) {
    now = fixture.train(4, 1, now);
    fixture.watch.heard(event(Kind::kLog, 0, {{"record", {{"eval_loss", 2.0}, {"eval_runtime", 5.0}}}}),
                        now += 5);
  }
  CHECK(fixture.watch.allowed_seconds(WorkPhase::kEvaluating) == 50);
  CHECK(fixture.watch.allowed_seconds(WorkPhase::kTraining) == 30);
}

TEST_CASE("a save between two updates does not count as a long update") {
  WatchFixture fixture;
  double now = fixture.train(4, 1);
  fixture.watch.heard(event(Kind::kCheckpoint), now += 100);
  fixture.train(1, 1, now);
  CHECK(fixture.watch.allowed_seconds(WorkPhase::kTraining) == 30);
}

TEST_CASE(
    "a save may take for ever while it tells of bytes that it moves, and no update's time is learned from "
    "it") {
  WatchFixture fixture;
  double now = fixture.train(4, 1);
  fixture.set_phase(WorkPhase::kSaving);
  for (int64_t i = 0; i < 40; ++i) {  // longer than collective operations may take
    const int rank = i % 2 == 0 ? 0 : 1;
    now += 290;
    const HangWatch::Look look = fixture.look(now);
    CHECK_FALSE(look.ask_for_stacks);
    fixture.watch.heard(event(Kind::kProgress, rank, {{"phase", "save"}, {"done", i << 20}, {"total", 0}}),
                        now);
  }
  CHECK(fixture.watch.next_look() >= now + 30);
  fixture.set_phase(WorkPhase::kTraining);
  CHECK(fixture.watch.allowed_seconds(WorkPhase::kTraining) == 30);
  fixture.set_phase(WorkPhase::kSaving);
  CHECK(fixture.look(now + 300).ask_for_stacks);  // and then no byte in all that time
  CHECK(fixture.look(now + 302).hang);
}

TEST_CASE("a rank that waits for its data may do so as long as collective operations may take") {
  WatchFixture fixture;
  const double said = fixture.train(4, 1);
  fixture.snapshots[1].status.phase = WorkPhase::kWaitingForData;
  for (double now = said + 30; now < said + 1799; now = fixture.watch.next_look()) {
    const HangWatch::Look look = fixture.look(now);
    CHECK_FALSE(look.ask_for_stacks);
    CHECK(fixture.watch.next_look() > now);
    CHECK(fixture.watch.next_look() <= now + 300);
  }
  SECTION("and then it hangs") {
    CHECK(fixture.look(said + 1800).ask_for_stacks);
    const HangWatch::Look look = fixture.look(said + 1802);
    REQUIRE(look.hang);
    CHECK(look.hang->worker == 1);
  }
  SECTION("what hangs when the data have come is found, though nobody says a word") {
    fixture.set_phase(WorkPhase::kTraining);
    const double next = fixture.watch.next_look();
    CHECK(fixture.look(next).ask_for_stacks);
    CHECK(fixture.look(next + 2).hang);
  }
}

TEST_CASE("any word of any rank is a sign of life") {
  WatchFixture fixture;
  const double now = fixture.train(4, 1);
  CHECK(fixture.watch.next_look() == now + 30);
  fixture.watch.heard(event(Kind::kMessage, 1), now + 25);
  CHECK(fixture.watch.next_look() == now + 55);
}

TEST_CASE("a job that stands still hangs at the second look, and the stacks are asked for at the first") {
  WatchFixture fixture;
  const double now = fixture.train(4, 1) + 30;
  const HangWatch::Look first = fixture.look(now);
  CHECK(first.ask_for_stacks);
  CHECK_FALSE(first.hang);
  CHECK(fixture.watch.next_look() == now + 2);
  const HangWatch::Look second = fixture.look(now + 2);
  REQUIRE(second.hang);
  CHECK(second.hang->worker == 1);
  CHECK(second.hang->silent_seconds == 32);
  CHECK(second.hang->allowed_seconds == 30);
}

TEST_CASE("time in which a job was suspended is no silence, and no update's") {
  WatchFixture fixture;
  const double now = fixture.train(4, 1);
  fixture.watch.skip(3600);
  CHECK(fixture.watch.next_look() == now + 3600 + 30);
  CHECK_FALSE(fixture.watch.waited_out(now + 3600 + 1));
  const double first = now + 3600 + 30;
  CHECK(fixture.look(first).ask_for_stacks);
  fixture.watch.skip(600);  // between the two looks
  CHECK(fixture.watch.next_look() == first + 600 + 2);
  const HangWatch::Look second = fixture.look(first + 600 + 2);
  REQUIRE(second.hang);
  CHECK(second.hang->silent_seconds == 32);
  fixture.watch.heard(event(Kind::kStep), first + 600 + 3);
  CHECK(fixture.watch.allowed_seconds(WorkPhase::kTraining) == 330);  // of an update of 33 s
}

TEST_CASE("a job that moves between the looks has its time again") {
  using Snapshots = std::vector<WorkerSnapshot>;
  using Move = void (*)(Snapshots&);
  constexpr Move kOperation = [](Snapshots& snapshots) { ++snapshots[0].status.operations; };
  constexpr Move kUpdate = [](Snapshots& snapshots) { ++snapshots[1].status.step; };
  constexpr Move kPhase = [](Snapshots& snapshots) { snapshots[0].status.phase = WorkPhase::kSaving; };
  for (const Move move : {kOperation, kUpdate, kPhase}) {
    WatchFixture fixture;
    const double now = fixture.train(4, 1) + 30;
    fixture.look(now);
    move(fixture.snapshots);
    const HangWatch::Look second = fixture.look(now + 2);
    CHECK_FALSE(second.hang);
    CHECK(fixture.watch.next_look() >= now + 32);
  }
}

TEST_CASE("when the ranks turn out to save or to evaluate, those phases' times count") {
  const WorkPhase phase = GENERATE(WorkPhase::kSaving, WorkPhase::kEvaluating, WorkPhase::kLoading);
  WatchFixture fixture;
  const double said = fixture.train(4, 1);
  fixture.set_phase(phase);
  const HangWatch::Look look = fixture.look(said + 30);
  CHECK_FALSE(look.ask_for_stacks);
  CHECK(fixture.watch.next_look() == said + 300);
}

TEST_CASE("the rank that the others wait for may compute or wait for a disk, but not for ever") {
  WatchFixture fixture;
  const double said = fixture.train(4, 1), now = said + 30;
  fixture.look(now);
  const auto work = [&](double at) {
    fixture.snapshots[1].process.cpu_seconds = at;  // a whole core
    return fixture.look(at);
  };
  SECTION("while it trains: as long as a start may take") {
    CHECK_FALSE(work(now + 2).hang);
    CHECK_FALSE(work(said + 299).hang);
    CHECK(work(said + 301).hang);
  }
  SECTION("while it saves: as long as collective operations may take") {
    fixture.set_phase(WorkPhase::kSaving);
    fixture.look(now + 2);
    CHECK_FALSE(work(said + 400).hang);
    CHECK_FALSE(work(said + 1799).hang);
    CHECK(work(said + 1801).hang);
  }
  SECTION("though a crowded machine hardly lets it") {
    fixture.snapshots[1].process.state = 'R';
    CHECK_FALSE(fixture.look(now + 2).hang);
    CHECK(fixture.look(said + 301).hang);
  }
  SECTION("on a disk") {
    fixture.snapshots[1].process.state = 'D';
    CHECK_FALSE(fixture.look(now + 2).hang);
    fixture.snapshots[1].process.state = 'S';
    CHECK(fixture.look(now + 4).hang);
  }
  SECTION("unless it is stopped") {
    fixture.snapshots[1].process.state = 'T';
    CHECK(work(now + 2).hang);
  }
}

TEST_CASE("a host that spins while its device is in an operation does not compute") {
  WatchFixture fixture;
  const double now = fixture.train(4, 1) + 30;
  fixture.snapshots[1].status.waits = 1;
  fixture.look(now);
  fixture.snapshots[1].process.cpu_seconds = 2;
  SECTION("in the same one all the while: it hangs") {
    CHECK(fixture.look(now + 2).hang);
  }
  SECTION("out of it by now: it may compute") {
    fixture.snapshots[1].status.waits = 0;
    CHECK_FALSE(fixture.look(now + 2).hang);
  }
}

TEST_CASE("work of a rank that waits for another does not count") {
  WatchFixture fixture;
  const double now = fixture.train(4, 1) + 30;
  fixture.look(now);
  fixture.snapshots[0].process.cpu_seconds = 2;
  CHECK(fixture.look(now + 2).hang);
}

TEST_CASE("nothing hangs while a debugger holds a rank") {
  WatchFixture fixture;
  const double now = fixture.train(4, 1) + 30;
  fixture.snapshots[0].process.state = 't';
  CHECK_FALSE(fixture.look(now).ask_for_stacks);
  CHECK(fixture.watch.next_look() == now + 30);
}

TEST_CASE("without a longest time nothing is watched") {
  WatchFixture fixture(HangLimits{.most_seconds = 0});
  CHECK(std::isinf(fixture.watch.next_look()));
  fixture.train(4, 1);
  CHECK(std::isinf(fixture.watch.next_look()));
}

TEST_CASE("the suspect: stopped before not ready before behind in operations before behind in updates") {
  WatchFixture fixture;
  const auto suspect = [&] { return find_suspect(fixture.workers, fixture.snapshots).value(); };
  CHECK(suspect().worker == 1);
  CHECK(suspect().sign == Sign::kBehindOperation);
  fixture.snapshots[0].process.state = 'T';
  CHECK(suspect().worker == 0);
  CHECK(suspect().sign == Sign::kStopped);
  fixture.snapshots[0].process.state = 'S';
  fixture.snapshots[1].status.operations = 100;
  fixture.snapshots[0].status.step = 6;
  CHECK(suspect().worker == 1);
  CHECK(suspect().sign == Sign::kBehindStep);
  fixture.workers[0].ready = false;
  CHECK(suspect().worker == 0);
  CHECK(suspect().sign == Sign::kNotReady);
}

TEST_CASE("only ranks that run and go on are suspects, and at the end those that do not leave") {
  WatchFixture fixture;
  fixture.workers[1].status = ExitStatus{0, 0};
  CHECK(find_suspect(fixture.workers, fixture.snapshots)->worker == 0);
  fixture.workers[0].finished = event(Kind::kFinished);
  CHECK(find_suspect(fixture.workers, fixture.snapshots)->worker == 0);
  fixture.workers[0].status = ExitStatus{0, 0};
  CHECK_FALSE(find_suspect(fixture.workers, fixture.snapshots));
}

TEST_CASE("without snapshots, as of ranks elsewhere, events have to do") {
  WatchFixture fixture;
  fixture.workers[0].step = 4;
  CHECK(find_suspect(fixture.workers, {})->worker == 0);
}

TEST_CASE("a process is seen as the kernel describes it, whatever its name is") {
  const hftrain::testing::TemporaryDirectory root;
  write_file_atomically(root / "proc/42/stat",
                        "42 (a) T (b) D 1 42 1 0 -1 0 0 0 0 0 150 50 0 0 20 0 1 0 9\n");
  write_file_atomically(root / "proc/42/wchan", "folio_wait_bit_common");
  const ProcessSnapshot snapshot = look_at_process(42, root.path());
  CHECK(snapshot.waits_for_disk());
  CHECK(snapshot.cpu_seconds * static_cast<double>(::sysconf(_SC_CLK_TCK)) == Approx(200));
  CHECK(describe_process(snapshot) == "waiting for a disk or a device in folio_wait_bit_common (state D)");
  CHECK(look_at_process(43, root.path()).state == '?');
}

}  // namespace hftrain::launcher
