#include "hftrain/runtime/tensor_memory.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "hftrain/runtime/host_memory.h"
#include "hftrain/runtime/translate.h"
#include "support/catch.h"
#include "support/skip.h"

using namespace hftrain;
using runtime::TensorMemory;

namespace {

// By the flag "hg" of the mapping in which it lies.
bool is_asked_in_huge_pages(uintptr_t address) {
  std::ifstream maps("/proc/self/smaps");
  bool here = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long from = 0, to = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx ", &from, &to) == 2) here = from <= address && address < to;
    if (here && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
  }
  return false;
}

}  // namespace

TEST_CASE("size classes are whole pages and at most an eighth above what is asked") {
  for (size_t bytes = TensorMemory::kSmallestKept; bytes < size_t{1} << 34; bytes = bytes * 9 / 8 + 13) {
    INFO(bytes);
    const size_t size = runtime::size_class(bytes);
    CHECK(size >= bytes);
    CHECK(size % 4096 == 0);
    CHECK(size - bytes <= bytes / 8 + 4096);
    CHECK(runtime::size_class(size) == size);
  }
}

TEST_CASE("a large block that was freed serves the next of its class, and only that") {
  TensorMemory memory;
  void* first = memory.allocate(1 << 20);
  CHECK(reinterpret_cast<uintptr_t>(first) % TensorMemory::kAlignment == 0);
  std::memset(first, 7, 1 << 20);
  memory.free(first);
  CHECK(memory.in_use() == 0);
  CHECK(memory.kept() >= 1 << 20);
  void* other = memory.allocate(2 << 20);
  void* smaller = memory.allocate(1 << 19);
  void* again = memory.allocate((1 << 20) - 5000);
  CHECK(other != first);
  CHECK(smaller != first);
  CHECK(again == first);
  memory.free(other);
  memory.free(smaller);
  memory.free(again);
}

TEST_CASE("small blocks are aligned and leave nothing behind") {
  TensorMemory memory;
  for (size_t bytes : {1, 64, 65, 4000, 20000}) {
    void* block = memory.allocate(bytes);
    CHECK(reinterpret_cast<uintptr_t>(block) % TensorMemory::kAlignment == 0);
    std::memset(block, 1, bytes);
    memory.free(block);
  }
  CHECK(memory.kept() == 0);
  memory.free(nullptr);
}

TEST_CASE("what is kept is bounded by what was in use at one time") {
  TensorMemory memory;
  for (size_t megabytes = 1; megabytes < 400; ++megabytes) {  // another shape every time
    void* block = memory.allocate(megabytes << 20);
    memory.free(block);
    CHECK(memory.kept() <= runtime::size_class(megabytes << 20) * 2 + TensorMemory::kAlwaysKept);
  }
}

TEST_CASE("where huge pages are wanted a large block begins with one and asks for no more than it fills") {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage"))
    HFTRAIN_SKIP("this kernel has no huge pages");
  constexpr size_t kHuge = size_t{2} << 20, kUsed = 2 * kHuge + 4097;
  TensorMemory memory(runtime::Pages::kHuge);
  char* block = static_cast<char*>(memory.allocate(kUsed));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(block) - TensorMemory::kAlignment;
  CHECK(begin % kHuge == 0);
  CHECK(is_asked_in_huge_pages(begin));
  CHECK(is_asked_in_huge_pages(begin + 2 * kHuge - 1));
  CHECK_FALSE(is_asked_in_huge_pages(begin + 2 * kHuge));
  std::memset(block, 1, kUsed);
  memory.free(block);
  memory.give_back();
  CHECK(memory.kept() == 0);
  CHECK_FALSE(is_asked_in_huge_pages(begin));
}

TEST_CASE("where nobody wants huge pages none are asked for") {
  TensorMemory memory;
  void* block = memory.allocate(size_t{8} << 20);
  CHECK_FALSE(is_asked_in_huge_pages(reinterpret_cast<uintptr_t>(block) + (size_t{4} << 20)));
  memory.free(block);
}

TEST_CASE("blocks may be freed by another thread than the one that took them") {
  TensorMemory memory;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&memory] {
      for (int i = 0; i < 200; ++i) {
        void* block = memory.allocate(static_cast<size_t>(i + 1) << 12);
        std::memset(block, i, static_cast<size_t>(i + 1) << 12);
        std::jthread([&memory, block] { memory.free(block); });
      }
    });
  }
  threads.clear();
  CHECK(memory.in_use() == 0);
}

// What training does between two log lines: large blocks come and go, and a small object lives on each time.
TEST_CASE("small objects that live on do not make the process grow by large blocks") {
  TensorMemory memory;
  std::vector<std::unique_ptr<std::string>> history;
  const auto step = [&](int number) {
    std::vector<void*> blocks;
    for (size_t i = 1; i < 40; ++i) {
      const size_t bytes = (i * 7919 % 61 + 1) << 14;
      blocks.push_back(memory.allocate(bytes));
      std::memset(blocks.back(), number, bytes);
      if (i % 8 == 0) history.push_back(std::make_unique<std::string>(200, 'x'));
    }
    for (void* block : blocks) memory.free(block);
  };
  for (int i = 0; i < 50; ++i) step(i);
  const int64_t before = runtime::host_memory().resident;
  for (int i = 0; i < 2000; ++i) step(i);
  const int64_t growth = runtime::host_memory().resident - before;
  INFO(growth);
  CHECK(growth < 6 << 20);  // 10,000 texts of 200 bytes are 2.5 MB
}

TEST_CASE("running out of host memory is told apart from other errors of LibTorch") {
  runtime::install_tensor_memory(runtime::Pages::kSmall);
  CHECK(at::ones({3}).sum().item<float>() == 3.0f);
  const auto too_much = [] { return at::empty({int64_t{1} << 52}, at::kFloat); };
  CHECK_THROWS_AS(too_much(), std::bad_alloc);
  try {
    runtime::translate_exceptions(too_much);
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kHostMemory);
  }
  CHECK(at::ones({3}).sum().item<float>() == 3.0f);
}
