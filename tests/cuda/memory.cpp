#include "memory.h"

#include <deque>
#include <map>

#include "variables.h"

// Of the linker: where this program lies, its constants before its variables.
extern "C" {
extern const char __executable_start, __data_start, _end;  // NOLINT(bugprone-reserved-identifier)
}

namespace hftrain::grid {
namespace {

constexpr int kSeveral = -1;

std::deque<Region>& regions() {
  static std::deque<Region> all;
  return all;
}

uintptr_t place_of(const void* data) {
  return reinterpret_cast<uintptr_t>(data);
}

Region make_region(uintptr_t begin, uintptr_t end, size_t unit, bool shared) {
  Region region{begin, end, unit, shared};
  region.elements.resize((end - begin + unit - 1) / unit);
  return region;
}

bool holds(uintptr_t begin, uintptr_t end, uintptr_t address, size_t bytes) {
  return address >= begin && address + bytes <= end;
}

// The __shared__ array that `address` lies in.
Region* shared_array(uintptr_t address) {
  static std::map<uintptr_t, Region> known;
  if (address < place_of(&__data_start) || address >= place_of(&_end)) return nullptr;
  const std::optional<Extent> found = variable_at(address);
  if (!found) return nullptr;
  const auto [place, added] = known.try_emplace(found->begin);
  if (added) place->second = make_region(found->begin, found->end, sizeof(float), true);
  return &place->second;
}

Region* region_of(uintptr_t address, size_t bytes) {
  for (Region& region : regions()) {
    if (holds(region.begin, region.end, address, bytes)) return &region;
  }
  Region* shared = shared_array(address);
  return shared != nullptr && holds(shared->begin, shared->end, address, bytes) ? shared : nullptr;
}

// Whether nothing orders the two.
bool meet(const Moment& before, const Moment& now, uint64_t began) {
  if (before.phase < began) return false;
  return before.block != now.block || (before.phase == now.phase && before.thread != now.thread);
}

void add_reader(Moment& readers, const Moment& now, uint64_t began) {
  const bool stands = readers.phase >= began;
  const bool other_block = stands && readers.block != now.block;
  const bool other_thread = stands && readers.phase == now.phase && readers.thread != now.thread;
  readers = now;
  if (other_block) readers.block = kSeveral;
  if (other_thread) readers.thread = kSeveral;
}

void touch(const void* data, size_t bytes, bool writes) {
  const Watch& state = watch();
  const uintptr_t address = place_of(data);
  if (!state.on || holds(state.stack, state.stack_end, address, bytes)) return;
  const bool constant = holds(state.parameters, state.parameters_end, address, bytes) ||
                        holds(place_of(&__executable_start), place_of(&__data_start), address, bytes);
  if (constant && !writes) return;
  Region* region = region_of(address, bytes);
  if (region == nullptr) end_with(writes ? "writes outside of its memory" : "reads outside of its memory");
  if (const char* wrong = region->note(address, bytes, writes)) end_with(wrong);
}

// Of an instruction that takes a type of so many bytes and of that alignment.
void require_aligned(const void* data, size_t bytes) {
  if (watch().on && place_of(data) % bytes != 0)
    end_with("is at no multiple of the bytes that it touches at once");
}

}  // namespace

Watch& watch() {
  static Watch state;
  return state;
}

const char* Region::note(uintptr_t address, size_t bytes, bool writes) {
  const Watch& state = watch();
  const uint64_t began = shared ? state.block_began : state.launch_began;
  for (size_t i = (address - begin) / unit; i <= (address + bytes - 1 - begin) / unit; ++i) {
    Touches& element = elements[i];
    if (meet(element.write, state.now, began)) return "meets what another thread writes";
    if (writes && meet(element.read, state.now, began)) return "writes what another thread reads";
    if (shared && !writes && element.write.phase < began) return "reads shared memory that was not written";
    if (writes) element.write = state.now;
    if (!writes) add_reader(element.read, state.now, began);
  }
  return nullptr;
}

Memory::Memory(const void* data, size_t bytes, size_t unit) : begin_(place_of(data)) {
  regions().push_back(make_region(begin_, begin_ + bytes, unit, false));
}

Memory::~Memory() {
  std::erase_if(regions(), [&](const Region& region) { return region.begin == begin_; });
}

}  // namespace hftrain::grid

// What g++ calls.
using hftrain::grid::require_aligned;
using hftrain::grid::touch;
#define HFTRAIN_HOOKS(bytes)                       \
  void __tsan_read##bytes(void* data) {            \
    require_aligned(data, bytes);                  \
    touch(data, bytes, false);                     \
  }                                                \
  void __tsan_write##bytes(void* data) {           \
    require_aligned(data, bytes);                  \
    touch(data, bytes, true);                      \
  }                                                \
  void __tsan_unaligned_read##bytes(void* data) {  \
    touch(data, bytes, false);                     \
  }                                                \
  void __tsan_unaligned_write##bytes(void* data) { \
    touch(data, bytes, true);                      \
  }
extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void* /*caller*/) {}
void __tsan_func_exit() {}
HFTRAIN_HOOKS(1)
HFTRAIN_HOOKS(2)
HFTRAIN_HOOKS(4)
HFTRAIN_HOOKS(8)
HFTRAIN_HOOKS(16)
void __tsan_read_range(void* data, size_t bytes) {
  touch(data, bytes, false);
}
void __tsan_write_range(void* data, size_t bytes) {
  touch(data, bytes, true);
}
}
