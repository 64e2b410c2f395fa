#include "hftrain/storage/sharded_state.h"

#include <cstring>
#include <fstream>
#include <numeric>
#include <random>

#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/python.h"
#include "support/refusal.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace hftrain::storage {
namespace {

using testing::TemporaryDirectory;

// A tensor of numbers 0, 1, 2, … and boxes of it.
std::vector<float> box_of(const std::vector<int64_t>& whole, const std::vector<int64_t>& offsets,
                          const std::vector<int64_t>& shape) {
  std::vector<float> values;
  const int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, index = 0;
    std::vector<int64_t> place(shape.size());
    for (size_t dim = shape.size(); dim-- > 0;) {
      place[dim] = offsets[dim] + rest % shape[dim];
      rest /= shape[dim];
    }
    for (size_t dim = 0; dim < shape.size(); ++dim) index = index * whole[dim] + place[dim];
    values.push_back(static_cast<float>(index));
  }
  return values;
}

std::string_view view_of_bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

struct Piece {
  std::string name;
  std::vector<int64_t> whole, offsets, shape;
};

void write_shard(const std::string& path, const std::vector<Piece>& pieces) {
  PosixFileSystem files;
  std::vector<TensorSlice> slices;
  std::vector<TensorEntry> entries;
  for (const Piece& piece : pieces) {
    slices.push_back({{piece.name, DType::kF32, piece.shape}, piece.offsets});
    entries.push_back(slices.back().entry);
  }
  std::vector<float> values;
  write_safetensors(
      files, path, entries,
      [&](const TensorEntry& entry) {
        for (const Piece& piece : pieces) {
          if (piece.name == entry.name) values = box_of(piece.whole, piece.offsets, piece.shape);
        }
        return view_of_bytes(values);
      },
      sharding_metadata(slices));
}

std::vector<float> read_box(const ShardedState& state, const std::string& name,
                            const std::vector<int64_t>& offsets, const std::vector<int64_t>& shape) {
  std::vector<float> out(
      static_cast<size_t>(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>())));
  state.read(name, {offsets, shape}, {reinterpret_cast<char*>(out.data()), out.size() * sizeof(float)});
  return out;
}

// Two ranks: rows of `w`, columns of `v`, a flat cut through `f` as three boxes, the step counter on rank 0.
void write_two_ranks(const std::string& folder) {
  write_shard(folder + '/' + shard_file_name(0, 0, 2), {{"w", {5, 3}, {0, 0}, {3, 3}},
                                                        {"v", {2, 4}, {0, 0}, {2, 1}},
                                                        {"f", {4, 3}, {0, 0}, {1, 3}},
                                                        {"step", {1}, {0}, {1}}});
  write_shard(folder + '/' + shard_file_name(0, 1, 2), {{"f", {4, 3}, {1, 0}, {1, 2}}});
  write_shard(folder + '/' + shard_file_name(1, 0, 2),
              {{"w", {5, 3}, {3, 0}, {2, 3}}, {"v", {2, 4}, {0, 1}, {2, 3}}, {"f", {4, 3}, {1, 2}, {1, 1}}});
  write_shard(folder + '/' + shard_file_name(1, 1, 2), {{"f", {4, 3}, {2, 0}, {2, 3}}});
}

TEST_CASE("shard files are named as torch expects", "[storage]") {
  CHECK(shard_file_name(0) == "shard-00001-model-00001-of-00001.safetensors");
  CHECK(shard_file_name(1, 1, 3) == "shard-00002-model-00002-of-00003.safetensors");
}

TEST_CASE("any box of a tensor is read from the slices of other ranks", "[storage]") {
  const TemporaryDirectory folder;
  write_two_ranks(folder.path());
  const ShardedState state(folder.path());
  REQUIRE(state.tensors().size() == 4);
  CHECK(state.tensors().at("w").shape == std::vector<int64_t>{5, 3});
  CHECK(state.tensors().at("f").slices.size() == 4);
  for (const auto& [name, tensor] : state.tensors()) {
    const size_t rank = tensor.shape.size();
    std::vector<int64_t> offsets(rank), shape(rank);
    // Every box of the tensor.
    const auto all = [&](const auto& self, size_t dim) -> void {
      if (dim == rank) {
        INFO(name);
        CHECK(read_box(state, name, offsets, shape) == box_of(tensor.shape, offsets, shape));
        return;
      }
      for (offsets[dim] = 0; offsets[dim] <= tensor.shape[dim]; ++offsets[dim]) {
        for (shape[dim] = 0; shape[dim] <= tensor.shape[dim] - offsets[dim]; ++shape[dim])
          self(self, dim + 1);
      }
    };
    all(all, 0);
  }
}

TEST_CASE("three-dimensional boxes and scalars", "[storage]") {
  const TemporaryDirectory folder;
  write_shard(folder / shard_file_name(0), {{"t", {3, 4, 5}, {0, 0, 0}, {3, 2, 5}}, {"s", {}, {}, {}}});
  write_shard(folder / shard_file_name(1), {{"t", {3, 4, 5}, {0, 2, 0}, {3, 2, 5}}});
  const ShardedState state(folder.path());
  CHECK(read_box(state, "t", {1, 1, 2}, {2, 3, 2}) == box_of({3, 4, 5}, {1, 1, 2}, {2, 3, 2}));
  CHECK(read_box(state, "s", {}, {}) == std::vector<float>{0});
}

TEST_CASE("the same slice saved by several ranks counts once", "[storage]") {
  const TemporaryDirectory folder;
  write_shard(folder / shard_file_name(0), {{"w", {4}, {0}, {4}}});
  write_shard(folder / shard_file_name(1), {{"w", {4}, {0}, {4}}});
  CHECK(read_box(ShardedState(folder.path()), "w", {1}, {2}) == std::vector<float>{1, 2});
}

TEST_CASE("holes, part overlaps and unknown names are refused", "[storage]") {
  const TemporaryDirectory folder;
  // As many numbers as the whole has, because a slice was saved twice, and a hole all the same.
  write_shard(folder / shard_file_name(0), {{"hole", {2, 3}, {0, 0}, {1, 3}}, {"over", {6}, {0}, {4}}});
  write_shard(folder / shard_file_name(1), {{"hole", {2, 3}, {0, 0}, {1, 3}}, {"over", {6}, {2}, {4}}});
  write_shard(folder / shard_file_name(2), {{"hole", {2, 3}, {1, 2}, {1, 1}}});
  const ShardedState state(folder.path());
  CHECK(read_box(state, "hole", {0, 0}, {1, 2}) == std::vector<float>{0, 1});
  CHECK_REFUSED(read_box(state, "hole", {1, 1}, {1, 2}), "the shards hold 1 of the 2 numbers asked for");
  CHECK_REFUSED(read_box(state, "over", {0}, {6}), "slices of tensor 'over' overlap in part");
  CHECK_REFUSED(read_box(state, "none", {0}, {1}), "no tensor 'none'");
  CHECK_REFUSED(read_box(state, "over", {0, 0}, {1, 1}),
                "has another rank or size than asked");  // another number of dimensions
}

// What a file says of a slice of `w`, and no more than four bytes behind it.
void claim(const std::string& path, const std::string& shape, const std::string& offsets) {
  std::string header = R"({"__metadata__": {"DCP_SHARDING_INFO": "{\"w\": {\"saved_offsets\": )" + offsets +
                       R"(}}"}, "w": {"dtype": "U8", "shape": )" + shape + R"(, "data_offsets": [0, 4]}})";
  const uint64_t length = header.size();
  std::ofstream(path) << std::string_view(reinterpret_cast<const char*>(&length), 8) << header << "abcd";
}

std::string refusal_of(const std::string& folder) {
  try {
    const ShardedState state(folder);
    std::vector<char> out(4);
    state.read("w", {{0, 0}, {2, 2}}, out);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    return error.render();
  }
  return "";
}

TEST_CASE("places beyond all memory that a shard claims are refused when it is opened", "[storage]") {
  const TemporaryDirectory folder;
  const std::string most = "9223372036854775807";
  const auto refusal = [&](const std::string& offsets) {
    claim(folder / shard_file_name(0), "[2, 2]", offsets);
    return refusal_of(folder.path());
  };
  CHECK_THAT(refusal('[' + most + ", 0]"), Catch::Contains("too large"));  // the end of the slice overflows
  // The product of the whole's sizes overflows, to a small number.
  CHECK_THAT(refusal("[8589934590, 8589934590]"), Catch::Contains("too large"));
  CHECK_THAT(refusal("[4611686018427387902, 2]"), Catch::Contains("too large"));
  // It fits 63 bits, and nobody has it: not said by the read alone, which asks for what is there.
  CHECK_THAT(refusal("[0, 1099511627776]"), Catch::Contains("of its 2199023255556 numbers"));
  for (const char* none :
       {"[1e30, 0]", "[0.5, 0]", "[18446744073709551615, 0]", "[null, 0]", R"(\"ab\")", "7"})
    CHECK_THAT(refusal(none), Catch::Contains("gives no offsets"));
  CHECK(refusal("[0, 0]").empty());
}

TEST_CASE("an empty slice cannot make the whole larger than can be counted", "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  const auto none = [](const auto&) { return ""; };
  const TensorSlice slice{{"w", DType::kF32, {0, 4}}, {int64_t{1} << 40, int64_t{1} << 40}};
  write_safetensors(files, folder / shard_file_name(0), {slice.entry}, none, sharding_metadata({slice}));
  CHECK_THAT(refusal_of(folder.path()), Catch::Contains("too large"));
}

TEST_CASE("files without sharding information are refused, an empty folder is not", "[storage]") {
  const TemporaryDirectory folder;
  CHECK(ShardedState(folder.path()).tensors().empty());
  CHECK_REFUSED(ShardedState(folder / "nowhere"), "cannot list");
  PosixFileSystem files;
  const auto none = [](const auto&) { return "abcd"; };
  write_safetensors(files, folder / "a.safetensors", {{"w", DType::kU8, {4}}}, none);
  CHECK_REFUSED(ShardedState(folder.path()), "it has no DCP_SHARDING_INFO");
  for (const char* offsets : {"{}", "{\"w\": {}}", "{\"w\": {\"saved_offsets\": [0, 0]}}",
                              "{\"w\": {\"saved_offsets\": [-1]}}", "not JSON"}) {
    write_safetensors(files, folder / "a.safetensors", {{"w", DType::kU8, {4}}}, none,
                      {{"DCP_SHARDING_INFO", offsets}});
    CHECK_REFUSED(ShardedState(folder.path()),
                  offsets == std::string("not JSON") ? "not valid JSON" : "gives no offsets for tensor 'w'");
  }
}

TEST_CASE("torch.distributed.checkpoint reads and consolidates what was written", "[storage][parity]") {
  if (!testing::has_python()) HFTRAIN_SKIP("python3 with torch: set HFTRAIN_TEST_PYTHON");
  const TemporaryDirectory folder;
  write_two_ranks(folder.path());
  const testing::PythonResult result = testing::run_python(R"(
import sys, tempfile, torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader
from torch.distributed.checkpoint._consolidate_hf_safetensors import consolidate_safetensors_files
from safetensors.torch import load_file
shapes = {"w": (5, 3), "v": (2, 4), "f": (4, 3), "step": (1,)}
want = {k: torch.arange(torch.Size(s).numel(), dtype=torch.float32).reshape(s) for k, s in shapes.items()}
state = {k: torch.full(s, -1.0) for k, s in shapes.items()}
dcp.load(state, storage_reader=HuggingFaceStorageReader(sys.argv[1]), no_dist=True)
for k in shapes: assert torch.equal(state[k], want[k]), k
with tempfile.TemporaryDirectory() as out:
    consolidate_safetensors_files(sys.argv[1], out, {k: 1 for k in shapes})
    whole = load_file(out + "/model-00001-of-00001.safetensors")
for k in shapes: assert torch.equal(whole[k], want[k]), k
print("equal")
)",
                                                           {folder.path()});
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Catch::Contains("equal"));
}

}  // namespace
}  // namespace hftrain::storage
