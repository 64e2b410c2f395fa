// What a kernel may touch, and who touched it. The kernels are compiled with -fsanitize=thread, but linked to memory.cpp in the
// place of that sanitizer's library: the compiler calls it before every load and store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hftrain::grid {

// Where the grid is: `phase` goes up with every block and barrier, over all launches.
struct Moment {
  uint64_t phase = 0;
  int64_t block = 0;
  int thread = 0;
};

// Who read or wrote one element last; block or thread are kSeveral where one alone would not tell.
struct Touches {
  Moment read, write;
};

struct Region {
  uintptr_t begin = 0, end = 0;
  size_t unit = 4;  // bytes of an element
  bool shared = false;
  std::vector<Touches> elements{};

  // What is wrong with this access, or null.
  const char* note(uintptr_t address, size_t bytes, bool writes);
};

// Memory of the device while it lives: `bytes` of elements of `unit` bytes. One thread.
class Memory {
 public:
  Memory(const void* data, size_t bytes, size_t unit);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

 private:
  uintptr_t begin_;
};

// What the hooks need to know of the grid; grid.cpp keeps it.
struct Watch {
  bool on = false;  // a thread of the grid runs
  uintptr_t stack = 0, stack_end = 0;
  uintptr_t parameters = 0, parameters_end = 0;
  uint64_t launch_began = 0, block_began = 0;  // phases
  Moment now;
};
Watch& watch();

// Ends the launch, from within a thread of the grid.
[[noreturn]] void end_with(const char* what);

}  // namespace hftrain::grid
