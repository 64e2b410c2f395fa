#include "hftrain/checkpoint/staged_copy.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "hftrain/base/file.h"
#include "hftrain/checkpoint/tensor_bytes.h"
#include "storage/fault_injecting_file_system.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::checkpoint {
namespace {

using testing::FaultInjectingFileSystem;
using testing::TemporaryDirectory;

using Named = std::vector<std::pair<std::string, at::Tensor>>;

// In the order of a file: wide types first. `shift` tells two saves apart.
Named tensors(int64_t shift) {
  const int64_t more_than_a_chunk = static_cast<int64_t>(StagingMemory::kChunk / 4) + 1000;
  const at::Tensor numbers = at::arange(60, at::kFloat).add(shift).view({6, 10});
  return {{"double", at::arange(3, at::kDouble).add(shift)},
          {"large", at::arange(more_than_a_chunk, at::kFloat).add(shift)},
          {"of every other row", numbers.slice(0, 0, 6, 2)},
          {"turned", numbers.t()},
          {"half", at::arange(5, at::kHalf).add(shift)},
          {"empty", at::empty({0, 4}, at::kHalf)},
          {"byte", at::arange(7, at::kByte).add(shift)},
          {"scalar", at::scalar_tensor(shift, at::kByte)}};
}

void save(const Named& tensors, const std::string& file, SaveTarget& target) {
  std::vector<storage::TensorEntry> entries;
  for (const auto& [name, tensor] : tensors)
    entries.push_back({name, dtype_of(tensor.scalar_type()), tensor.sizes().vec()});
  const auto writer =
      target.open(file, std::move(entries), storage::pt_metadata(), storage::TensorOrder::kAsDeclared);
  for (const auto& [name, tensor] : tensors) writer->write(name, tensor);
  writer->close();
}

int64_t resident_pages(const StagingMemory& memory) {
  const std::span<std::byte> chunk = memory.at(0, StagingMemory::kChunk);
  std::vector<unsigned char> pages(chunk.size() / static_cast<size_t>(::getpagesize()));
  REQUIRE(::mincore(chunk.data(), chunk.size(), pages.data()) == 0);
  return std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; });
}

}  // namespace

TEST_CASE("a copy in memory has the bytes of the tensors, across its chunks and save after save") {
  const TemporaryDirectory folder;
  FaultInjectingFileSystem files;  // without trouble
  StagedCopy copy(nullptr);
  const std::atomic<bool> abandoned = false;
  if (GENERATE(false, true)) copy.reserve(StagingMemory::kChunk + 1, abandoned);
  for (const int64_t shift : {1, 2}) {
    const std::string at_once = folder / ("at-once-" + std::to_string(shift)),
                      later = folder / ("later-" + std::to_string(shift));
    files.make_directory(at_once);
    files.make_directory(later);
    storage::StagedFiles direct_files(files, at_once), later_files(files, later);
    DirectTarget direct(direct_files);
    copy.clear();
    for (SaveTarget* target : {static_cast<SaveTarget*>(&direct), static_cast<SaveTarget*>(&copy)}) {
      save(tensors(shift), "a.safetensors", *target);
      target->put("text.json", "{}");
      save({{"small", at::arange(9, at::kFloat).mul(shift)}}, "b.safetensors", *target);
    }
    copy.write_to(later_files, abandoned);
    for (const char* name : {"a.safetensors", "b.safetensors", "text.json"}) {
      INFO(name);
      CHECK(read_file(later + '/' + name) == read_file(at_once + '/' + name));
    }
  }
}

TEST_CASE("memory that was touched is there before it is written to") {
  StagingMemory memory(nullptr);
  memory.grow(1);
  CHECK(memory.size() == StagingMemory::kChunk);
  CHECK(resident_pages(memory) == 0);
  memory.touch(0);
  CHECK(resident_pages(memory) == static_cast<int64_t>(StagingMemory::kChunk) / ::getpagesize());
  memory.grow(StagingMemory::kChunk);
  CHECK(memory.chunks() == 1);
}

TEST_CASE("a copy that is given up makes no memory and writes nothing") {
  const TemporaryDirectory folder;
  FaultInjectingFileSystem files;
  const std::atomic<bool> abandoned = true;
  StagedCopy copy(nullptr);
  CHECK_THROWS_AS(copy.reserve(1, abandoned), Abandoned);
  copy.put("text.json", "{}");
  storage::StagedFiles staged(files, folder.path());
  CHECK_THROWS_AS(copy.write_to(staged, abandoned), Abandoned);
  CHECK(files.operations() == 0);
}

}  // namespace hftrain::checkpoint
