#include "grid.h"

#include <algorithm>
#include <vector>

#include "fiber.h"
#include "memory.h"

namespace hftrain::grid {
namespace {

constexpr int kMostThreads = 1024;            // of a block
constexpr unsigned kMostBlocks = 0x7fffffff;  // of a grid

enum class State { kReady, kAtBarrier, kAtShuffle, kEnded };

// A fiber that is this thread of one block after the other.
struct Thread {
  Fiber fiber{};
  State state = State::kReady;
  std::source_location place{};  // of the barrier or the shuffle
  unsigned mask = 0;             // of the shuffle, as are the next
  int step = 0;
  float value = 0;  // its own, then what it gets
};

struct Fault {
  std::string what;
};

struct Grid {
  Call call;
  unsigned blocks = 0;
  int threads = 0;  // of a block
  Order order = Order::kForward;
  bool watched = true;
  std::vector<Thread> all{kMostThreads};
  int running = 0;
  std::string said;   // by the thread that ended the launch
  std::string fault;  // of the last launch
};

Grid& grid() {
  static Grid state;
  return state;
}

Thread& thread_of(int number) {
  return grid().all[static_cast<size_t>(number)];
}

std::string words(const std::source_location& place) {
  const std::string path = place.file_name();
  return path.substr(path.find_last_of('/') + 1) + ":" + std::to_string(place.line());
}

void call_body() {
  grid().call.body(grid().call.parameters);
}

// Runs it until it waits or ends.
void resume(int number) {
  Thread& thread = thread_of(number);
  Watch& state = watch();
  grid().running = number;
  state.now.thread = number;
  state.stack = thread.fiber.stack();
  state.stack_end = thread.fiber.stack_end();
  state.on = grid().watched;
  thread.fiber.resume(call_body);
  state.on = false;
  if (!grid().said.empty()) throw Fault{grid().said};
  if (thread.fiber.ended()) thread.state = State::kEnded;
}

// The numbers 0 … count − 1 in the order of this launch.
int in_order(int i, int count) {
  return grid().order == Order::kForward ? i : count - 1 - i;
}

bool names(unsigned mask, int lane) {
  return lane < kLanes && (mask >> static_cast<unsigned>(lane) & 1U) != 0;
}

// Whether both stand at one shuffle and mean the same by it.
bool together(const Thread& a, const Thread& b) {
  return b.state == State::kAtShuffle && b.mask == a.mask && b.step == a.step &&
         words(b.place) == words(a.place);
}

// Throws unless all lanes that the mask of thread `number` names stand at its shuffle.
void require_lanes(int number) {
  const Thread& thread = thread_of(number);
  const int first = number / kLanes * kLanes;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!names(thread.mask, lane)) continue;
    if (first + lane >= grid().threads || !together(thread, thread_of(first + lane)))
      throw Fault{"the shuffle at " + words(thread.place) + " is not reached by lane " +
                  std::to_string(lane) + " of its mask"};
  }
}

// What thread `number` gets by its shuffle.
float value_for(int number) {
  const Thread& thread = thread_of(number);
  const int lane = number % kLanes, source = lane ^ thread.step;
  if (!names(thread.mask, lane) || !names(thread.mask, source))
    throw Fault{"the shuffle at " + words(thread.place) + " asks or is asked by a lane outside of its mask"};
  return thread_of(number - lane + source).value;
}

// Lets the lanes of a warp that stand at shuffles exchange their values. Whether there were any.
bool shuffle(int warp) {
  std::vector<std::pair<Thread*, float>> given;
  unsigned checked = 0;  // masks of lanes that are known to be there
  for (int number = warp * kLanes; number < std::min(grid().threads, (warp + 1) * kLanes); ++number) {
    Thread& thread = thread_of(number);
    if (thread.state != State::kAtShuffle) continue;
    if (!names(checked, number % kLanes)) require_lanes(number);
    checked |= thread.mask;
    given.emplace_back(&thread, value_for(number));
  }
  for (auto& [thread, value] : given) {
    thread->value = value;
    thread->state = State::kReady;
  }
  return !given.empty();
}

// Until each of its lanes waits for the block or has ended.
void run_warp(int warp) {
  do {
    for (int i = 0; i < kLanes; ++i) {
      const int number = warp * kLanes + in_order(i, kLanes);
      if (number < grid().threads && thread_of(number).state == State::kReady) resume(number);
    }
  } while (shuffle(warp));
}

// Opens the barrier at which all threads stand. Whether there is one; without, all have ended.
bool open_barrier() {
  const auto begin = grid().all.begin(), end = begin + grid().threads;
  const auto waits = [](const Thread& thread) { return thread.state == State::kAtBarrier; };
  const auto first = std::find_if(begin, end, waits);
  if (first == end) return false;
  const std::string place = words(first->place);
  for (auto thread = begin; thread != end; ++thread) {
    if (!waits(*thread)) throw Fault{"the barrier at " + place + " is not reached by all threads"};
    if (words(thread->place) != place)
      throw Fault{"the barriers at " + place + " and " + words(thread->place) + " are reached by parts"};
    thread->state = State::kReady;
  }
  ++watch().now.phase;
  return true;
}

void run_block(unsigned block) {
  watch().now.block = block;
  watch().block_began = ++watch().now.phase;
  for (int i = 0; i < grid().threads; ++i) thread_of(i).state = State::kReady;
  const int warps = (grid().threads + kLanes - 1) / kLanes;
  do {
    for (int i = 0; i < warps; ++i) run_warp(in_order(i, warps));
  } while (open_barrier());
}

void run_blocks(unsigned blocks, int threads) {
  if (blocks == 0 || blocks > kMostBlocks || threads < 1 || threads > kMostThreads)
    throw Fault{"there is no launch of " + std::to_string(blocks) + " blocks of " + std::to_string(threads)};
  for (unsigned block = 0; block < blocks; ++block) run_block(block);
}

}  // namespace

Index thread_index() {
  return {static_cast<unsigned>(grid().running)};
}
Index block_index() {
  return {static_cast<unsigned>(watch().now.block)};
}
Index block_size() {
  return {static_cast<unsigned>(grid().threads)};
}
Index grid_size() {
  return {grid().blocks};
}

void wait_for_block(std::source_location place) {
  Thread& thread = thread_of(grid().running);
  thread.state = State::kAtBarrier;
  thread.place = place;
  Fiber::pause();
}

float exchange(unsigned mask, float value, int step, std::source_location place) {
  Thread& thread = thread_of(grid().running);
  thread.state = State::kAtShuffle;
  thread.place = place;
  thread.mask = mask;
  thread.step = step;
  thread.value = value;
  Fiber::pause();
  return thread.value;
}

void end_with(const char* what) {
  grid().said = "block " + std::to_string(watch().now.block) + ", thread " + std::to_string(grid().running) +
                " " + what;
  Fiber::give_up();
}

void set_order(Order order) {
  grid().order = order;
}

void set_watched(bool watched) {
  grid().watched = watched;
}

const std::string& fault() {
  return grid().fault;
}

void run(unsigned blocks, int threads, const Call& call) {
  Grid& all = grid();
  all.call = call;
  all.blocks = blocks;
  all.threads = threads;
  all.said.clear();
  all.fault.clear();
  Watch& state = watch();
  state.parameters = reinterpret_cast<uintptr_t>(call.parameters);
  state.parameters_end = state.parameters + call.bytes;
  state.launch_began = ++state.now.phase;
  try {
    run_blocks(blocks, threads);
  } catch (const Fault& found) {
    all.fault = found.what;
    for (Thread& thread : all.all) thread.fiber.forget();
  }
}

}  // namespace hftrain::grid
