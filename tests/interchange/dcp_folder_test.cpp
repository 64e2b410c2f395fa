// Over metadata written here, instruction by instruction; real ones are in fsdp_folder_test.cpp.
#include "hftrain/interchange/dcp_folder.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/interchange/fsdp_folder.h"
#include "hftrain/interchange/torch_writer.h"
#include "pickled_values.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::interchange {
namespace {

using namespace std::string_literals;
using testing::TemporaryDirectory;

const std::string kRecords = "torch.distributed.checkpoint.metadata\n";

std::string record(const std::string& type, const std::string& state) {
  return "c" + type + "\n)\x81"s + state + "b";
}
std::string size_of(const std::vector<int64_t>& sizes) {
  std::string text = "ctorch\nSize\n((";
  for (const int64_t size : sizes) text += pickled::long_number(size);
  return text + "ttR";
}

struct Piece {
  std::vector<int64_t> offsets, sizes;
  std::string file = "__0_0.distcp";
  int64_t offset = 0, length = 0;
};

struct Given {
  std::string name = "w";
  std::string type = "torch\nfloat32";
  std::vector<int64_t> shape = {4, 3};
  std::vector<Piece> pieces, placed;  // `placed`: what the places say, when it is not the same
  std::string more;                   // further values of the state dict
};

std::string metadata_of(const Given& given) {
  std::string chunks = "](", places = "}(";
  for (const Piece& piece : given.pieces)
    chunks += record(kRecords + "ChunkStorageMetadata",
                     pickled::dict({{"offsets", size_of(piece.offsets)}, {"sizes", size_of(piece.sizes)}}));
  for (const Piece& piece : given.placed.empty() ? given.pieces : given.placed)
    places +=
        record(kRecords + "MetadataIndex",
               pickled::dict({{"fqn", pickled::text(given.name)}, {"offset", size_of(piece.offsets)}})) +
        record("torch.distributed.checkpoint.filesystem\n_StorageInfo",
               pickled::dict({{"relative_path", pickled::text(piece.file)},
                              {"offset", pickled::long_number(piece.offset)},
                              {"length", pickled::long_number(piece.length)}}));
  const std::string properties = record(kRecords + "TensorProperties", "(c" + given.type + "\nN\x89N\x89t"s);
  const std::string tensor = record(
      kRecords + "TensorStorageMetadata",
      pickled::dict({{"properties", properties}, {"size", size_of(given.shape)}, {"chunks", chunks + "e"}}));
  return "\x80\x04"s +
         record(kRecords + "Metadata",
                pickled::dict(
                    {{"state_dict_metadata", "}(" + pickled::text(given.name) + tensor + given.more + "u"},
                     {"storage_data", places + "u"}})) +
         ".";
}

// A folder with one file of two pieces, two rows of three each.
struct Shards : TemporaryDirectory {
  Shards() {
    storage::PosixFileSystem files;
    for (const float first : {1.0F, 7.0F}) {
      TorchWriter writer;
      writer.tensor(storage::DType::kF32, {2, 3}, [&](const ByteSink& sink) {
        for (int i = 0; i < 6; ++i) {
          const float number = first + static_cast<float>(i);
          sink(std::string_view(reinterpret_cast<const char*>(&number), sizeof number));
        }
      });
      writer.finish(files, *this / "piece");
      pieces.push_back(read_file(*this / "piece"));
      std::filesystem::remove(*this / "piece");
    }
    std::ofstream(*this / "__0_0.distcp", std::ios::binary) << pieces[0] << pieces[1];
  }
  Given given() const {
    const auto first = static_cast<int64_t>(pieces[0].size()),
               second = static_cast<int64_t>(pieces[1].size());
    Given sound;
    sound.pieces = {{{0, 0}, {2, 3}, "__0_0.distcp", 0, first},
                    {{2, 0}, {2, 3}, "__0_0.distcp", first, second}};
    return sound;
  }
  std::string why_not(const Given& given) const { return why_not(metadata_of(given)); }
  std::string why_not(const std::string& metadata) const {
    std::ofstream(*this / ".metadata", std::ios::binary) << metadata;
    try {
      DcpFolder(path(), Checksums::kCompared);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
      const Diagnostic& said = error.diagnostics().front();
      CHECK(!said.what.empty());
      CHECK(said.where.find(path()) == 0);
      CHECK(!said.hint.empty());
      return said.why;
    }
    return "";
  }
  std::vector<std::string> pieces;
};

bool contains(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

TEST_CASE("a sound folder of pieces is read") {
  const Shards shards;
  REQUIRE(shards.why_not(shards.given()).empty());
  const DcpFolder folder(shards.path());
  const storage::SlicedTensor& tensor = folder.tensors().at("w");
  CHECK(tensor.shape == std::vector<int64_t>{4, 3});
  std::vector<float> column(4);
  storage::read_box(tensor, {{0, 1}, {4, 1}}, std::span(reinterpret_cast<char*>(column.data()), 16), "here");
  CHECK(column == std::vector<float>{2, 5, 8, 11});
}

TEST_CASE("a folder of pieces that is no model's of FSDP is a model under its own names") {
  const Shards shards;
  REQUIRE(shards.why_not(shards.given()).empty());
  const storage::StoredWeights model = open_dcp_model(shards.path());
  REQUIRE(model.entries().size() == 1);
  CHECK(model.entries().front().name == "w");
  CHECK(model.files_of("w") == std::vector<std::string>{"__0_0.distcp"});
  CHECK_FALSE(is_fsdp_adapter(shards.path()));
  Given adapter = shards.given();
  adapter.name = "model.base_model.model.w.lora_A.weight";
  REQUIRE(shards.why_not(adapter).empty());
  CHECK(is_fsdp_adapter(shards.path()));
}

TEST_CASE("places that are not in a file are refused") {
  const Shards shards;
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  Given given = shards.given();
  given.pieces[1].length += 1;
  CHECK(contains(shards.why_not(given), "and the file has"));
  given = shards.given();
  given.pieces[1].offset = given.pieces[1].length = kMost;
  CHECK(contains(shards.why_not(given), "and the file has"));
  given.pieces[1].offset = -1;
  CHECK(contains(shards.why_not(given), "below 0"));
  given = shards.given();
  given.pieces[1].offset -= 1;
  CHECK(contains(shards.why_not(given), "another piece lies there"));
  given = shards.given();
  given.pieces[1].file = "__1_0.distcp";
  CHECK(shards.why_not(given) == "the file is missing");
  for (const std::string& file :
       {"../__0_0.distcp"s, "/etc/passwd"s, "a/__0_0.distcp"s, "__0_0.distcp\0.distcp"s}) {
    given.pieces[1].file = file;
    CHECK(contains(shards.why_not(given), "is no file of a rank"));
  }
}

TEST_CASE("pieces that leave holes, overlap or reach out are refused") {
  const Shards shards;
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  Given given = shards.given();
  given.shape = {5, 3};
  CHECK(contains(shards.why_not(given), "its pieces hold 12 of the 15 numbers"));
  given = shards.given();
  given.pieces[1].offsets = {1, 0};
  CHECK(contains(shards.why_not(given), "overlap"));
  given = shards.given();
  given.pieces[1].offsets = {kMost, 0};
  CHECK(contains(shards.why_not(given), "reaches out of it"));
  given = shards.given();
  given.pieces[1].offsets = {2};
  CHECK(contains(shards.why_not(given), "reaches out of it"));
  given = shards.given();
  given.shape = {kMost, kMost};
  CHECK(contains(shards.why_not(given), "too large"));
  given = shards.given();
  given.placed = {given.pieces[0]};
  CHECK(contains(shards.why_not(given), "is in no file"));
  given.placed = {given.pieces[0], given.pieces[0]};
  CHECK(contains(shards.why_not(given), "twice"));
}

TEST_CASE("pieces that were cut along any dim are compared with their neighbours") {
  const Shards shards;
  for (const size_t cut : {size_t{0}, size_t{1}}) {
    Given given = shards.given();
    given.pieces.clear();
    given.shape = {4, 4};
    for (const int64_t begin : {int64_t{2}, int64_t{0}, int64_t{3}, int64_t{1}}) {
      Piece piece{{0, 0}, {4, 4}, "__0_0.distcp", 0, 1};
      piece.offsets[cut] = begin, piece.sizes[cut] = 1;
      given.pieces.push_back(piece);
    }
    CHECK(!contains(shards.why_not(given), "overlap"));
    given.pieces[3].sizes[cut] = 2;
    CHECK(contains(shards.why_not(given), "overlap"));
  }
}

TEST_CASE("pieces of which more lie side by side than can be compared are refused") {
  const Shards shards;
  Given given = shards.given();
  given.pieces.clear();
  given.shape = {4096, 4096};
  for (int64_t row = 0; row < 4096; ++row)
    given.pieces.push_back({{row, 0}, {1, 4096}, "__0_0.distcp", row, 1});
  CHECK(!contains(shards.why_not(given), "pieces"));
  // The corners of a cube with twelve dims: in each dim half of them begin together.
  given.pieces.clear();
  given.shape.assign(12, 2);
  for (int64_t corner = 0; corner < 4096; ++corner) {
    Piece piece{{}, {}, "__0_0.distcp", corner, 1};
    for (int64_t dim = 0; dim < 12; ++dim) piece.offsets.push_back(corner >> dim & 1);
    piece.sizes.assign(12, 1);
    given.pieces.push_back(piece);
  }
  CHECK(contains(shards.why_not(given), "too many pieces side by side"));
}

TEST_CASE("a value that claims more entries than it may have is not walked") {
  const Shards shards;
  Given given = shards.given();
  given.shape.assign(65, 1);
  CHECK(contains(shards.why_not(given), "more than 64 dims"));
  std::string many = "(";
  for (int i = 0; i < 100; ++i) many += pickled::long_number(1);
  const std::string sized =
      record(kRecords + "TensorStorageMetadata",
             pickled::dict({{"properties", record(kRecords + "TensorProperties", many + "t")},
                            {"size", size_of({1})},
                            {"chunks", "]"}}));
  given = shards.given();
  given.more = pickled::text("x") + sized;
  CHECK(contains(shards.why_not(given), "properties of a tensor are too many"));
  given.more = pickled::text("w") + sized;
  CHECK(contains(shards.why_not(given), "two tensors 'w'"));
}

TEST_CASE("a piece of another type or shape than the metadata say is refused") {
  const Shards shards;
  Given given = shards.given();
  given.type = "torch\nfloat64";
  CHECK(contains(shards.why_not(given), "another type or shape"));
  given = shards.given();
  for (Piece& piece : given.pieces) piece.sizes = {3, 2};
  given.pieces[1].offsets = {3, 0};
  given.shape = {6, 2};
  CHECK(contains(shards.why_not(given), "another type or shape"));
  given.type = "torch\ncomplex64";
  CHECK(contains(shards.why_not(given), "asks for 'torch.complex64'"));
  given.type = "torch\nSize";
  CHECK(contains(shards.why_not(given), "no type of numbers"));
}

TEST_CASE("a class that is not of the list is refused by its name and never made") {
  const Shards shards;
  Given given = shards.given();
  given.more = pickled::text("x") + "cos\nsystem\n" + pickled::text("true") + "\x85R"s;
  CHECK(contains(shards.why_not(given), "asks for 'os.system'"));
  given.more = pickled::text("x") + record("pathlib\nPurePath", "}");
  CHECK(contains(shards.why_not(given), "asks for 'pathlib.PurePath'"));
  given.more = pickled::text("x") + "N";
  CHECK(contains(shards.why_not(given), "neither a tensor nor bytes"));
  const std::string sound = metadata_of(shards.given());
  CHECK(!shards.why_not(sound.substr(0, sound.size() / 2)).empty());
  CHECK(!shards.why_not("").empty());
  CHECK(!shards.why_not("\x80\x04N."s).empty());
  // Two states of one object, and an object that is made of no type.
  CHECK(!shards.why_not("\x80\x04" + record(kRecords + "Metadata", "}") + "}b.").empty());
  CHECK(!shards.why_not("\x80\x04N)\x81."s).empty());
}

}  // namespace
}  // namespace hftrain::interchange
