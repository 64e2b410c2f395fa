// Over files of DeepSpeed's ranks that are written here, a value at a time, and over those of real runs with several parameters in a
// group (scripts/golden/deepspeed_parts.py).
#include "hftrain/interchange/zero_parts.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/interchange/deepspeed_folder.h"
#include "hftrain/interchange/torch_tensors.h"
#include "hftrain/interchange/zip_writer.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "pickled_values.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/temporary_directory.h"

namespace hftrain::interchange::ranks_test {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryDirectory;

namespace written {

using namespace pickled;

std::string size(const std::vector<int32_t>& dims) {
  std::string bytes = "ctorch\nSize\n(";
  for (const int32_t dim : dims) bytes += number(dim);
  return bytes + "t\x85R";
}
std::string place(int32_t start, int32_t count, const Entries& more = {}) {
  Entries fields = {{"numel", number(count)}, {"start", number(start)}};
  fields.insert(fields.begin(), more.begin(), more.end());
  return "cdeepspeed.utils.tensor_fragment\nfragment_address\n)\x81" + dict(fields) + 'b';
}
// All of the storage 0, and a name for it.
std::string row(size_t numbers) {
  const std::string count = number(static_cast<int32_t>(numbers));
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\nFloatStorage\n" + text("0") +
         text("cpu") + count + "tQ" + number(0) + count + '\x85' + number(1) + '\x85' + "\x89}tR";
}

}  // namespace written

void write_torch_file(const std::string& path, const std::string& value, size_t numbers = 0) {
  storage::PosixFileSystem files;
  fs::remove(path);
  ZipWriter zip(files, path, 0);
  zip.add("state/data.pkl", "\x80\x02" + value + '.');
  if (numbers != 0) zip.add("state/data/0", std::string(numbers * sizeof(float), '\0'));
  zip.finish();
}

std::string deepspeed_golden(const std::string& name) {
  return testing::source_dir() + "/tests/golden/interchange/deepspeed/" + name;
}

// The part of a rank with one group.
struct Part {
  int stage = 2, ranks = 1, step = 2;
  size_t numbers = 0;        // in each row
  size_t rows = 1;           // states beside the weights
  std::string places = "}";  // of stage 2
  written::Entries more;     // beside the groups
  bool round_robin = false;
  bool says_stage = true;   // but for BF16_Optimizer
  bool keeps_state = true;  // but for SGD without momentum
  std::vector<int> groups_with_state = {0};

  std::string value() const {
    using namespace written;
    const std::string numbers_of_all = row(numbers);
    Entries states = {{"step", number(step)}};
    for (size_t i = 0; i < rows; ++i) states.emplace_back("row" + std::to_string(i), numbers_of_all);
    if (!keeps_state) states = {{"momentum_buffer", "N"}};
    Entries of_groups;
    for (const int group : groups_with_state) of_groups.emplace_back(number(group), dict(states));
    const std::string groups = dict({{"state", of_groups.empty() ? "}" : dict_of(of_groups)}});
    Entries saved = {{"partition_count", number(ranks)}};
    if (says_stage) saved.emplace_back("zero_stage", number(stage));
    if (stage == 3) {
      saved.insert(saved.end(),
                   {{"fp32_flat_groups", list({numbers_of_all})}, {"optimizer_state_dict", groups}});
    } else {
      saved.insert(saved.end(), {{"single_partition_of_fp32_groups", list({numbers_of_all})},
                                 {"param_slice_mappings", list({places})},
                                 {"base_optimizer_state", groups}});
    }
    saved.insert(saved.end(), more.begin(), more.end());
    const std::string zero = dict({{"stage", number(stage)}, {"round_robin_gradients", truth(round_robin)}});
    return dict({{"optimizer_state_dict", dict(saved)}, {"ds_config", dict({{"zero_optimization", zero}})}});
  }
};

struct RanksOfDeepSpeed : TemporaryDirectory {
  RanksOfDeepSpeed() {
    fs::create_directory(*this / "global_step2");
    std::ofstream(*this / "latest") << "global_step2";
    std::ofstream(*this / "trainer_state.json") << R"({"global_step": 2, "epoch": 0.5})";
  }
  void shapes(const std::vector<std::string>& groups) {
    write_torch_file(*this / "global_step2/mp_rank_00_model_states.pt",
                     written::dict({{"param_shapes", written::list(groups)}}));
  }
  std::string path_of(int rank) const {
    return *this / ("global_step2/zero_pp_rank_" + std::to_string(rank) + "_mp_rank_00_optim_states.pt");
  }
  void part(int rank, const Part& part) { write_torch_file(path_of(rank), part.value(), part.numbers); }
  Diagnostic refusal() const {
    try {
      open_deepspeed_weights(path());
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
      const Diagnostic& said = error.diagnostics().front();
      CHECK(!said.what.empty());
      CHECK(!said.where.empty());
      CHECK(!said.hint.empty());
      return said;
    }
    return {};
  }
};

// A row of 8 of one parameter in two ranks, which `change` changes in the second.
struct TwoRanks : RanksOfDeepSpeed {
  explicit TwoRanks(int stage, const std::function<void(Part&)>& change = {}) {
    shapes({written::dict({{"w", written::size({4, 2})}})});
    for (int rank = 0; rank < 2; ++rank) {
      Part saved;
      saved.stage = stage;
      saved.ranks = 2;
      saved.numbers = 4;
      saved.places = written::dict({{"w", written::place(0, 4)}});
      if (rank == 1 && change) change(saved);
      part(rank, saved);
    }
  }
};

TEST_CASE("ranks' files of two saves are not taken for one") {
  const int stage = GENERATE(2, 3);
  CHECK(TwoRanks(stage).refusal().why.empty());
  const TwoRanks folder(stage, [](Part& part) { part.step = 999; });
  CHECK(folder.refusal().where == folder.path_of(1));
  CHECK(folder.refusal().why == "it is of 999 updates, and the file of rank 0 of 2");
  const TwoRanks other(2, [](Part& part) { part.stage = 1; });
  CHECK(other.refusal().why == "it is of stage 1 of ZeRO, and the file of rank 0 of 2");
}

TEST_CASE("shares that are larger than the parameters are refused, and those cut among some ranks") {
  const TwoRanks larger(3, [](Part& part) { part.numbers = 8; });
  CHECK(larger.refusal().where == larger.path_of(1));
  CHECK(larger.refusal().why == "group 0 has 8 numbers of 'fp32', and its parameters have 4 on a rank");
  const TwoRanks experts(3, [](Part& part) {
    part.more = {{"ds_zero_partition_groups", written::list({"}"})}};
  });
  CHECK(experts.refusal().why.find("(expert parallelism)") != std::string::npos);
}

TEST_CASE("of stage 0 and expert parallelism it is said what a run starts from, and no converter is named") {
  const auto said = [](const Diagnostic& refused, const std::string& file, const std::string& why) {
    CHECK(refused.where == file);
    CHECK(refused.why.find(why) != std::string::npos);
    CHECK(refused.hint.find("ds_to_universal") == std::string::npos);
    CHECK(refused.hint.find("zero_to_fp32") == std::string::npos);
    return refused.hint;
  };
  const RanksOfDeepSpeed stage0;
  const std::string model = stage0 / "global_step2/mp_rank_00_model_states.pt";
  write_torch_file(model, written::dict({{"optimizer", "N"}}));
  CHECK(stage0.refusal().why == "it holds no zero_pp_rank_0_mp_rank_00_optim_states.pt");
  write_torch_file(model, written::dict({{"optimizer", "}"}}));
  CHECK(said(stage0.refusal(), model, "stage 0").find("trainer.save_model") != std::string::npos);
  const TwoRanks experts(2);
  const std::string expert = experts / "global_step2/layer_0_expert_1_mp_rank_00_model_states.pt";
  write_torch_file(expert, "}");
  said(experts.refusal(), expert, "(expert parallelism)");
  fs::copy_file(deepspeed_golden("several2_parts/model.safetensors"), experts / "model.safetensors");
  CHECK(said(experts.refusal(), expert, "(expert parallelism)")
            .find("--model_name_or_path " + experts.path()) != std::string::npos);
}

TEST_CASE("files of experts are never taken for those of the model, and neither form is read beside them") {
  const std::string name =
      GENERATE("expert_0_mp_rank_00_model_states.pt", "layer_0_expert_0_mp_rank_00_model_states.pt",
               "expp_rank_0_mp_rank_00_optim_states.pt");
  const TwoRanks folder(2);
  const std::string expert = folder / ("global_step2/" + name);
  std::ofstream(expert) << "no zip";
  const auto refused = [&] {
    CHECK(folder.refusal().where == expert);
    CHECK(folder.refusal().why == "its ranks hold experts of their own (expert parallelism)");
  };
  refused();
  fs::create_directories(folder / "global_step2/zero/w");
  write_torch_file(folder / "global_step2/zero/w/fp32.pt", written::dict({{"param", written::row(8)}}), 8);
  std::ofstream(folder / "latest_universal") << "global_step2";
  refused();
  fs::remove(expert);
  CHECK(folder.refusal().why.empty());
}

TEST_CASE("what DeepSpeed leaves of the model is one file of all ranks, or the first one's") {
  const RanksOfDeepSpeed folder;
  const std::string begin = folder / "global_step2/", end = "mp_rank_00_model_states.pt";
  CHECK(!deepspeed_model_file(folder / "global_step2"));
  for (const char* other :
       {"expert_0_mp_rank_00_model_states.pt", "layer_0_expert_0_mp_rank_00_model_states.pt",
        "mp_rank_01_model_states.pt", "zero_pp_rank_x_mp_rank_00_model_states.pt"})
    std::ofstream(begin + other) << "another";
  CHECK(!deepspeed_model_file(folder / "global_step2"));
  for (const char* rank : {"10", "1", "0"})
    std::ofstream(begin + "zero_pp_rank_" + rank + '_' + end) << "a rank's";
  CHECK(deepspeed_model_file(folder / "global_step2") == begin + "zero_pp_rank_0_" + end);
  std::ofstream(begin + end) << "of all";
  CHECK(deepspeed_model_file(folder / "global_step2") == begin + end);
}

// Of "a" and "b", of four numbers each; by their places the first rank has "b".
struct RoundRobin : RanksOfDeepSpeed {
  explicit RoundRobin(const std::function<void(Part&)>& change = {}, int32_t size_of_b = 4) {
    using namespace written;
    shapes({dict({{"a", size({4})}, {"b", size({size_of_b})}})});
    for (int rank = 0; rank < 2; ++rank) {
      Part saved;
      saved.ranks = 2;
      saved.numbers = 4;
      saved.places = dict({{rank == 0 ? "b" : "a", place(0, 4)}});
      saved.round_robin = true;
      if (change) change(saved);
      part(rank, saved);
    }
  }
  std::string file_of(const std::string& parameter) const {
    const std::vector<std::string> files = open_deepspeed_weights(path()).files_of(parameter);
    return files.size() == 1 ? *this / files.front() : "";
  }
};

TEST_CASE(
    "with round_robin_gradients parameters lie in the order of their shapes, but for BF16_Optimizer's") {
  const RoundRobin turned;
  CHECK(turned.file_of("a") == turned.path_of(0));
  CHECK(turned.file_of("b") == turned.path_of(1));
  const RoundRobin in_order([](Part& part) { part.says_stage = false; });
  CHECK(in_order.file_of("a") == in_order.path_of(1));
  CHECK(in_order.file_of("b") == in_order.path_of(0));
  CHECK(TwoRanks(3, [](Part& part) { part.round_robin = true; }).refusal().why.empty());
  RanksOfDeepSpeed alone;
  alone.shapes({written::dict({{"w", written::size({4, 2})}})});
  Part all;
  all.numbers = 8;
  all.places = written::dict({{"w", written::place(0, 8)}});
  all.round_robin = true;
  alone.part(0, all);
  CHECK(alone.refusal().why.empty());
  CHECK(RoundRobin({}, 5).refusal().why ==
        "the ranks have 8 numbers of group 0, and its parameters have more");
  CHECK(RoundRobin({}, 1).refusal().why.empty());  // filled up to 8
  CHECK(RoundRobin([](Part& part) { part.numbers = 8; }).refusal().why ==
        "the ranks have 16 numbers of group 0, and its parameters have fewer");
  const RoundRobin filled_up([](Part& part) {
    using namespace written;
    part.more = {{"param_alignment_paddings", list({list({number(0), number(2)})})}};
  });
  CHECK(filled_up.refusal().why == "with round_robin_gradients it is not said there where a parameter lies");
  CHECK(filled_up.refusal().hint.find("zero_to_fp32.py") != std::string::npos);
}

TEST_CASE("what was trained without a state of it is known by the file of the model") {
  RanksOfDeepSpeed folder;
  folder.shapes({written::dict({{"w", written::size({4, 2})}})});
  Part part;
  part.numbers = 8;
  part.places = written::dict({{"w", written::place(0, 8)}});
  part.keeps_state = false;
  folder.part(0, part);
  CHECK(open_deepspeed_optimizer(folder.path()).all().empty());
  const storage::StoredWeights weights =
      open_deepspeed_trained(folder.path(), [](const std::string& name) { return "the." + name; });
  CHECK(weights.entries().size() == 1);
  CHECK(weights.find("the.w") != nullptr);
}

TEST_CASE(
    "an optimizer that keeps nothing has state of no group, and state of other groups alone is refused") {
  RanksOfDeepSpeed folder;
  folder.shapes({written::dict({{"w", written::size({4, 2})}})});
  Part part;
  part.stage = GENERATE(2, 3);
  part.numbers = 8;
  part.places = written::dict({{"w", written::place(0, 8)}});
  part.groups_with_state = {};
  folder.part(0, part);
  CHECK(folder.refusal().why.empty());
  CHECK(open_deepspeed_optimizer(folder.path()).all().empty());
  CHECK(open_deepspeed_weights(folder.path()).find("w")->dtype == storage::DType::kF32);
  part.groups_with_state = {1};
  folder.part(0, part);
  CHECK(folder.refusal().where == folder.path_of(0));
  CHECK(folder.refusal().why == "its optimizer has state of some parameters and none of those of group 0");
}

TEST_CASE("a rank without the state that another has is refused, where its parameters are not begun anew") {
  RanksOfDeepSpeed folder;
  for (int rank = 0; rank < 2; ++rank) {
    Part part;
    part.ranks = 2;
    part.numbers = 4;
    part.places = written::dict({{rank == 0 ? "a" : "b", written::place(0, 4)}});
    if (rank == 1) part.groups_with_state = {};
    folder.part(rank, part);
  }
  folder.shapes({written::dict({{"a", written::size({4})}, {"b", written::size({4})}})});
  CHECK(folder.refusal().where == folder / "global_step2");
  CHECK(folder.refusal().why == "its optimizer has state of some parameters and none of 'b'");
}

TEST_CASE("a universal folder of an optimizer that keeps nothing is empty, and the ranks' files are named") {
  const TwoRanks folder(2);
  fs::create_directories(folder / "global_step2/zero");
  std::ofstream(folder / "latest_universal") << "global_step2";
  CHECK(folder.refusal().why.find("(SGD without momentum)") != std::string::npos);
  CHECK(folder.refusal().hint.find("remove latest_universal") == 0);
  fs::remove(folder.path_of(0));  // `latest` stays
  // The converter would make the same of it once more.
  CHECK(folder.refusal().hint.find("convert") == std::string::npos);
  CHECK(folder.refusal().hint.find("copy the checkpoint again when it is not whole; otherwise ") == 0);
  CHECK(folder.refusal().hint.find("starts a new run from ") != std::string::npos);
}

TEST_CASE("a file that names a parameter, a group or a field a hundred thousand times is refused at once") {
  using namespace written;
  constexpr size_t kMany = 100000;
  const auto repeated = [](const std::string& first, const std::string& next, size_t times) {
    std::string bytes = first;
    for (size_t i = 1; i < times; ++i) bytes += next;
    return bytes;
  };
  const TwoRanks twice(2, [&](Part& part) {
    part.places = "}(" + repeated(text("w") + "q\x05" + place(0, 0) + "q\x06", "h\x05h\x06", kMany) + 'u';
  });
  CHECK(twice.refusal().why == "'w' has two places");
  const TwoRanks fields(2, [&](Part& part) {
    part.places = dict({{"w", place(0, 4, Entries(kMany, {"x", "N"}))}});
  });
  CHECK(fields.refusal().why == "a parameter has no place");
  RanksOfDeepSpeed groups;
  write_torch_file(groups / "global_step2/mp_rank_00_model_states.pt",
                   dict({{"param_shapes", "](" + repeated("}q\x01", "h\x01", kMany) + 'e'}}));
  CHECK(groups.refusal().why == "it has too many groups");
}

TEST_CASE("what a run has is bounded for each of its ranks") {
  using namespace written;
  constexpr int kRanks = 8, kParameters = 12;
  constexpr size_t kRows = 5, kOfARank = kParameters * (kRows + 2);  // with the weights and the counter
  RanksOfDeepSpeed folder;
  Entries shapes, places;
  for (int i = 0; i < kParameters; ++i) {
    shapes.emplace_back("w" + std::to_string(i), size({kRanks}));
    places.emplace_back("w" + std::to_string(i), place(i, 1));
  }
  folder.shapes({dict(shapes)});
  Part part;
  part.ranks = kRanks;
  part.numbers = kParameters;
  part.rows = kRows;
  part.places = dict(places);
  for (int rank = 0; rank < kRanks; ++rank) folder.part(rank, part);
  const auto refused = [&](size_t most) {
    try {
      ZeroParts(folder.path(), Checksums::kLeft, most);
    } catch (const Error& error) {
      return error.diagnostics().front().why;
    }
    return std::string();
  };
  CHECK(refused(kOfARank).empty());
  CHECK(refused(kOfARank - 1) == "it has too many parameters");
}

void flatten(const Json& nested, std::vector<float>& numbers) {
  if (!nested.is_array()) return numbers.push_back(nested.get<float>());
  for (const Json& item : nested) flatten(item, numbers);
}

using Reader = std::function<void(const storage::Box&, std::span<char>)>;
std::vector<float> numbers_of(const std::vector<int64_t>& shape, const Reader& read) {
  const storage::Box box{std::vector<int64_t>(shape.size(), 0), shape};
  std::vector<float> values(storage::volume(box));
  read(box, std::span(reinterpret_cast<char*>(values.data()), values.size() * sizeof(float)));
  return values;
}

struct SeveralParameters : RanksOfDeepSpeed {
  explicit SeveralParameters(const std::string& golden) {
    fs::copy(deepspeed_golden(golden), path(),
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }
};

TEST_CASE(
    "several parameters of a group are told apart, a tied one's second name and a frozen one among them") {
  const std::string stage = GENERATE("several2", "several3", "round_robin");
  const bool names_said = GENERATE(true, false);
  const SeveralParameters folder(stage + "_parts");
  if (!names_said) {
    if (stage != "several2") return;  // its shapes, or their order, are said nowhere else
    fs::remove(folder / "global_step2/mp_rank_00_model_states.pt");
  }
  const storage::StoredWeights weights = open_deepspeed_weights(folder.path());
  const OptimizerStates states = open_deepspeed_optimizer(folder.path());
  CHECK(weights.find("head.weight") == nullptr);
  REQUIRE(weights.find("fixed.weight") != nullptr);
  CHECK(weights.find("fixed.weight")->dtype == storage::DType::kBF16);
  size_t compared = 0;
  const Json expected =
      read_json_file(deepspeed_golden(stage == "several3" ? "several3.json" : "several2.json"));
  for (const auto& [key, numbers] : expected.items()) {
    INFO(stage << ' ' << key);
    if (key == "head.weight" || key == "fixed.weight") continue;
    std::vector<float> wanted, found;
    flatten(numbers, wanted);
    const size_t dot = key.rfind(".exp_avg");
    if (dot == std::string::npos) {
      REQUIRE(weights.find(key) != nullptr);
      found = numbers_of(weights.find(key)->shape,
                         [&](const storage::Box& box, std::span<char> out) { weights.read(key, box, out); });
    } else {
      const storage::SlicedTensor* state = states.find(key.substr(0, dot), key.substr(dot + 1));
      REQUIRE(state != nullptr);
      found = numbers_of(state->shape, [&](const storage::Box& box, std::span<char> out) {
        storage::read_box(*state, box, out, "here");
      });
    }
    CHECK(found == wanted);
    ++compared;
  }
  CHECK(compared == 15);
}

std::string bytes_of(const storage::StoredWeights& weights, const std::string& name) {
  const storage::TensorEntry& entry = *weights.find(name);
  std::string bytes(entry.bytes(), '\0');
  weights.read(name, {std::vector<int64_t>(entry.shape.size(), 0), entry.shape}, std::span(bytes));
  return bytes;
}

TEST_CASE(
    "frozen parameters of a folder without a model's own file come from DeepSpeed's files of the model") {
  const std::string stage = GENERATE("several2", "several3");
  INFO(stage);
  const SeveralParameters folder(stage + "_parts");
  const std::string whole = bytes_of(open_deepspeed_weights(folder.path()), "fixed.weight");
  fs::remove(folder / "model.safetensors");
  const storage::StoredWeights weights = open_deepspeed_weights(folder.path(), Checksums::kCompared);
  REQUIRE(weights.find("fixed.weight") != nullptr);
  CHECK(weights.find("fixed.weight")->dtype == storage::DType::kBF16);
  CHECK(weights.find("fixed.weight")->shape == std::vector<int64_t>{4, 4});
  CHECK(bytes_of(weights, "fixed.weight") == whole);
  CHECK(weights.find("head.weight") == nullptr);  // a tied one's second name
  CHECK(weights.find("embed.weight")->dtype == storage::DType::kF32);
  const std::string begin = "global_step2/zero_pp_rank_", end = "_mp_rank_00_model_states.pt";
  const std::vector<std::string> one = {"global_step2/mp_rank_00_model_states.pt"},
                                 each = {begin + '0' + end, begin + '1' + end};
  CHECK(weights.files_of("fixed.weight") == (stage == "several2" ? one : each));
  if (stage == "several2") return;
  write_torch_file(folder / each[1], "}");
  CHECK(folder.refusal().where == folder / each[1]);
  CHECK(folder.refusal().why == "it has no share of 'fixed.weight', which was not trained");
  fs::remove(folder / each[1]);
  CHECK(folder.refusal().why == "its share of 'fixed.weight' is not that of one of 1 ranks");
}

TEST_CASE("buffers lie beside the shares of frozen parameters, and a parameter that no file has is named") {
  using namespace written;
  const TwoRanks folder(3);
  const auto model = [&](const std::string& name) {
    fs::remove(folder / "global_step2/mp_rank_00_model_states.pt");
    write_torch_file(folder / "global_step2/zero_pp_rank_0_mp_rank_00_model_states.pt",
                     dict({{"param_shapes", list({dict({{"w", size({4, 2})}})})},
                           {"shared_params", dict({{"tied", text("w")}})},
                           {"buffer_names", list({text("table")})},
                           {"module", dict({{"w", row(1)}, {"tied", row(1)}, {name, row(1)}})}}),
                     1);
  };
  model("table");
  CHECK(open_deepspeed_weights(folder.path()).find("table") != nullptr);
  model("lost");
  CHECK(folder.refusal().why == "no file has the numbers of 'lost', which the run did not train");
}

TEST_CASE("a real run with round_robin_gradients is refused in the universal form, which has it mixed up") {
  const SeveralParameters folder("round_robin_parts");
  CHECK(folder.refusal().why.empty());
  fs::create_directories(folder / "global_step2/zero");
  for (const char* name : {"embed.weight", "inner.weight", "inner.bias", "outer.weight", "outer.bias"}) {
    fs::create_directory(folder / ("global_step2/zero/" + std::string(name)));
    write_torch_file(folder / ("global_step2/zero/" + std::string(name) + "/fp32.pt"),
                     written::dict({{"param", written::row(1)}}), 1);
  }
  const std::string settings = folder / "global_step2/zero/optimizer_state.pt";
  write_torch_file(settings, written::dict({{"zero_stage", written::number(1)}}));
  std::ofstream(folder / "latest_universal") << "global_step2";
  CHECK(folder.refusal().why.find("under the name of a parameter are numbers of others") !=
        std::string::npos);
  CHECK(folder.refusal().hint.find("remove latest_universal") == 0);
  // Without the ranks' files, which `latest` outlives, there is nothing that zero_to_fp32.py would read.
  for (const char* rank : {"0", "1"})
    REQUIRE(fs::remove(
        folder / ("global_step2/bf16_zero_pp_rank_" + std::string(rank) + "_mp_rank_00_optim_states.pt")));
  CHECK(folder.refusal().hint ==
        "--model_name_or_path " + folder.path() + " starts a new run from its model.safetensors");
  write_torch_file(settings, written::dict({{"clip_grad", written::number(1)}}));  // BF16_Optimizer's
  CHECK(folder.refusal().why.empty());
}

}  // namespace
}  // namespace hftrain::interchange::ranks_test
