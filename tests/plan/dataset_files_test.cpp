#include "hftrain/plan/dataset_files.h"

#include <filesystem>
#include <random>
#include <string_view>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/temporary_directory.h"

namespace {

using Catch::Contains;
using hftrain::Error;
using hftrain::ExitCode;
using hftrain::Json;
using hftrain::testing::TemporaryDirectory;

void make_files(const std::string& folder, const std::vector<std::string>& files,
                const std::string& text = "") {
  hftrain::create_directories(folder);
  for (const std::string& file : files) hftrain::write_file_atomically(folder + '/' + file, text);
}

struct DatasetSplit {
  std::string name;
  std::vector<std::string> files;
};

// As a run that takes all of them has them.
std::vector<DatasetSplit> dataset_splits(const std::string& named,
                                         const std::optional<std::string>& configuration,
                                         const std::string& cache) {
  const hftrain::plan::DatasetFiles found =
      hftrain::plan::find_dataset(named, configuration, cache, "--dataset_name " + named);
  std::vector<DatasetSplit> splits;
  for (const auto& each : found.splits) {
    hftrain::plan::require_whole(found, each.split);
    splits.push_back({each.split, hftrain::plan::paths_of_split(found, each)});
  }
  return splits;
}

// {split: [paths from the folder]}, in their order.
Json as_golden(const std::vector<DatasetSplit>& splits, const std::string& folder) {
  Json all = Json::object();
  for (const DatasetSplit& split : splits) {
    Json files = Json::array();
    for (const std::string& file : split.files) files.push_back(file.substr(folder.size() + 1));
    all[split.name] = files;
  }
  return all;
}

std::string data_set_refusal(const std::string& named, const std::optional<std::string>& configuration = {},
                             const std::string& cache = "/nowhere") {
  try {
    dataset_splits(named, configuration, cache);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    for (const auto& diagnostic : error.diagnostics()) {
      CHECK_FALSE(diagnostic.where.empty());
      CHECK_FALSE(diagnostic.why.empty());
      CHECK_FALSE(diagnostic.hint.empty());
    }
    return error.render();
  }
  return "";
}

}  // namespace

TEST_CASE("Files of a folder belong to the splits that the datasets package finds") {
  const Json cases =
      hftrain::read_json_file(hftrain::testing::source_dir() + "/tests/golden/data/data_sets.json");
  const TemporaryDirectory place;
  int taken = 0;
  for (const Json& each : cases) {
    CAPTURE(each.at("name").get<std::string>(), each.at("files").dump());
    const std::string folder = place / "set";
    std::filesystem::remove_all(folder);
    make_files(folder, each.at("files").get<std::vector<std::string>>());
    for (const auto& item : each.at("texts").items())
      hftrain::write_file_atomically(folder + '/' + item.key(), item.value().get<std::string>());
    std::optional<std::string> configuration;
    if (!each.at("config").is_null()) configuration = each["config"].get<std::string>();
    if (each.at("splits").is_null()) {
      CHECK_FALSE(data_set_refusal(folder, configuration).empty());
    } else {
      ++taken;
      Json found;
      CHECK_NOTHROW(found = as_golden(dataset_splits(folder, configuration, "/nowhere"), folder));
      CHECK(found == each["splits"]);
    }
  }
  CHECK(taken > 100);
}

TEST_CASE("Files that are read by their own ending may differ where the datasets package wants one for all") {
  const TemporaryDirectory place;
  const std::string folder = place / "set";
  make_files(folder, {"train.csv", "test.tsv"});
  CHECK(as_golden(dataset_splits(folder, {}, "/nowhere"), folder).dump() ==
        R"({"test":["test.tsv"],"train":["train.csv"]})");
  make_files(folder, {"deep/c.jsonl"});
  make_files(folder, {"README.md"},
             "---\nconfigs:\n- config_name: x\n  data_dir: deep\n  data_files: c.jsonl\n---\n");
  CHECK(dataset_splits(folder, "x", "/nowhere").front().files ==
        std::vector<std::string>{folder + "/deep/c.jsonl"});
}

TEST_CASE("Images of a data set lie in folders of their classes, and a split is their folder") {
  const TemporaryDirectory place;
  const std::string folder = place / "set";
  make_files(folder, {"train/cat/1.png", "train/dog/2.jpg", "test/cat/3.png"});
  const auto splits = dataset_splits(folder, {}, "/nowhere");
  REQUIRE(splits.size() == 2);
  CHECK(splits[0].files == std::vector<std::string>{folder + "/train"});
  CHECK(splits[1].files == std::vector<std::string>{folder + "/test"});
  make_files(folder, {"test/4.png"});
  CHECK_THAT(data_set_refusal(folder), Contains("not all in SPLIT/CLASS/"));
  const std::string flat = place / "flat";
  make_files(flat, {"cat/train-1.png", "cat/test-2.png"});
  CHECK_THAT(data_set_refusal(flat), Contains("do not lie in folders of their classes"));
}

TEST_CASE("A data set of the hub is its snapshot in the cache, and a folder of that name goes before it") {
  const TemporaryDirectory cache;
  const std::string repository = cache / "datasets--org--set";
  hftrain::write_file_atomically(repository + "/refs/main", "abc\n");
  make_files(repository + "/snapshots/abc", {"train.csv"});
  CHECK(dataset_splits("org/set", {}, cache.path()).front().files ==
        std::vector<std::string>{repository + "/snapshots/abc/train.csv"});
  const std::string said = data_set_refusal("org/other", {}, cache.path());
  CHECK_THAT(said, Contains(cache.path() + "/datasets--org--other"));
  CHECK_THAT(said, Contains("hftrain fetch --dataset org/other"));
  make_files(repository + "/snapshots/abc", {"set.py"});
  CHECK_THAT(data_set_refusal("org/set", {}, cache.path()),
             Contains("no code that comes with a data set is run"));
}

TEST_CASE("A card that is damaged, or leads elsewhere, is refused with its place") {
  const TemporaryDirectory place;
  const std::string folder = place / "set";
  make_files(folder, {"a.csv"});
  const auto said = [&](const std::string& configs) {
    make_files(folder, {"README.md"}, "---\nconfigs:\n" + configs + "---\n");
    return data_set_refusal(folder);
  };
  for (const char* file : {"/etc/passwd", "../a.csv", "hf://datasets/x/a.csv", "a**.csv", "b/../../a.csv"})
    CHECK_THAT(said(std::string("- config_name: x\n  data_files: '") + file + "'\n"), Contains("README.md"));
  CHECK_THAT(said("- config_name: [x]\n"), Contains("no config_name"));
  CHECK_THAT(said("- config_name: x\n  data_files: {a: b}\n"), Contains("neither a path nor a list"));
  CHECK_THAT(said("- config_name: x\n  sep: ';'\n"), Contains("'sep'"));
  CHECK_THAT(said("- config_name: x\n  config_name: y\n"), Contains("given twice"));
  CHECK_THAT(said("- {[}\n"), Contains("README.md:3:"));
  std::string deep = "- config_name: x\n  data_files: ";
  for (int i = 0; i < 5000; ++i) deep += '[';
  CHECK_FALSE(said(deep + "\n").empty());
}

TEST_CASE("Changed bytes anywhere in a card give a data set or an error, never a crash") {
  const TemporaryDirectory place;
  const std::string folder = place / "set";
  make_files(folder, {"data/a.csv", "data/b.csv"});
  const std::string card =
      "---\nname: x\nconfigs:\n- config_name: x\n  default: true\n  data_files:\n  - split: train\n    path: "
      "'data/[ab]*.csv'\n  - split: test\n    path: [data/a.csv, '**/b.csv']\n- config_name: y\n  data_dir: "
      "data\n---\n";
  make_files(folder, {"README.md"}, card);
  REQUIRE(dataset_splits(folder, "x", "").size() == 2);
  std::mt19937_64 random(1);
  constexpr std::string_view kBytes = "-:[]{}'\"*?!&#|> \n\t.,/x\xff";
  int refused = 0;
  for (int turn = 0; turn < 400; ++turn) {
    std::string changed = card;
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes)
      changed[random() % changed.size()] = kBytes[random() % kBytes.size()];
    CAPTURE(changed);
    make_files(folder, {"README.md"}, changed);
    refused += !data_set_refusal(folder, random() % 2 ? "x" : "y").empty();
  }
  CHECK(refused > 100);
  CHECK(refused < 400);
}

TEST_CASE("A data set of which a part is missing is refused, unless a card names the parts") {
  const TemporaryDirectory place;
  const std::string folder = place / "set";
  make_files(folder, {"data/train-00000-of-00003.csv", "data/train-00002-of-00003-abc.csv",
                      "data/test-00000-of-00001.csv"});
  CHECK_THAT(data_set_refusal(folder),
             Contains("there is no data/train-00001-of-00003") && Contains("3 parts"));
  make_files(folder, {"data/train-00001-of-00003.csv"});
  CHECK(dataset_splits(folder, {}, "/nowhere").front().files.size() == 3);
  std::filesystem::remove(folder + "/data/train-00001-of-00003.csv");
  const auto card = [&](const std::string& files) {
    make_files(folder, {"README.md"},
               "---\nconfigs:\n- config_name: x\n  data_files: '" + files + "'\n---\n");
  };
  card("data/train-00000-of-00003.csv");
  CHECK(dataset_splits(folder, {}, "/nowhere").front().files.size() == 1);
  card("data/train-*.csv");
  CHECK_THAT(data_set_refusal(folder), Contains("train-00001-of-00003"));
  const std::string deep = place / "deep";
  make_files(deep, {"a-00001-of-00002/b.csv", "x-0001-of-0002.csv"});  // no names of parts
  CHECK(dataset_splits(deep, {}, "/nowhere").front().files.size() == 2);
}

TEST_CASE("Parts of a data set may be counted from one") {
  const TemporaryDirectory place;
  const std::string folder = place / "set";
  make_files(folder, {"data/train-00001-of-00003.csv", "data/train-00003-of-00003.csv"});
  CHECK_THAT(data_set_refusal(folder), Contains("there is no data/train-00002-of-00003"));
  make_files(folder, {"data/train-00002-of-00003.csv"});
  CHECK(dataset_splits(folder, {}, "/nowhere").front().files.size() == 3);
  std::filesystem::remove(folder + "/data/train-00003-of-00003.csv");
  CHECK_THAT(data_set_refusal(folder), Contains("there is no data/train-00000-of-00003"));
}

TEST_CASE("Parts that are missing of files of a kind that is left out do not matter") {
  const TemporaryDirectory place;
  const std::string folder = place / "set";
  make_files(folder, {"train-a.jsonl", "train-b.jsonl", "train-00000-of-00002.csv"});
  std::filesystem::create_symlink("../blobs/1", folder + "/train-c.csv.gz");
  CHECK(dataset_splits(folder, {}, "/nowhere").front().files ==
        std::vector<std::string>{folder + "/train-a.jsonl", folder + "/train-b.jsonl"});
}

TEST_CASE("A run needs those splits of a data set whole that it reads") {
  const TemporaryDirectory place;
  const std::string set = place / "set";
  make_files(set, {"data/train-00000-of-00002.csv", "data/validation-00000-of-00001.csv"});
  std::filesystem::create_symlink("../blobs/1", set + "/data/test-00000-of-00001.csv");
  const auto said = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--model_type", "gpt2", "--dataset_name", set, "--output_dir", place / "out"});
    const hftrain::Environment environment((std::map<std::string, std::string>()));
    try {
      hftrain::plan::files_of_run(hftrain::arguments::parse_arguments(words, environment), environment);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
      return error.render();
    }
    return std::string();
  };
  CHECK(said({"--do_eval"}).empty());
  CHECK_THAT(said({"--do_train"}), Contains("there is no data/train-00001-of-00002"));
  CHECK_THAT(said({"--do_predict"}), Contains("there is no ../blobs/1"));
  make_files(set, {"data/train-00001-of-00002.csv"});
  CHECK(said({"--do_train", "--do_eval"}).empty());
  std::filesystem::remove(set + "/data/validation-00000-of-00001.csv");
  std::filesystem::remove(set + "/data/train-00000-of-00002.csv");
  CHECK_THAT(said({"--do_eval"}), Contains("there is no data/train-00000-of-00002"));  // held out of it
}

TEST_CASE("A file that repeats the default of dataset_test_split names no split, the command line does") {
  const TemporaryDirectory place;
  const std::string set = place / "set", file = place / "run.yaml";
  make_files(set, {"train.csv"});
  hftrain::write_file_atomically(file, "dataset_test_split: test\n");
  const auto said = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--task", "sft", "--model_type", "gpt2", "--dataset_name", set, "--do_train",
                               "--do_eval", "--output_dir", place / "out"});
    const hftrain::Environment environment((std::map<std::string, std::string>()));
    try {
      hftrain::plan::files_of_run(hftrain::arguments::parse_arguments(words, environment), environment);
    } catch (const Error& error) {
      return error.render();
    }
    return std::string();
  };
  CHECK(said({"--config", file}).empty());
  CHECK_THAT(said({"--dataset_test_split", "test"}), Contains("the data set has no split 'test'"));
}

TEST_CASE("A link of a data set that leads nowhere is refused where its file is wanted") {
  const TemporaryDirectory place;
  const std::string folder = place / "set";
  make_files(folder, {"train.csv"});
  std::filesystem::create_symlink("../blobs/1", folder + "/test.csv");
  CHECK_THAT(data_set_refusal(folder), Contains(folder + "/test.csv") && Contains("there is no ../blobs/1"));
  make_files(folder, {"README.md"}, "---\nconfigs:\n- config_name: x\n  data_files: train.csv\n---\n");
  CHECK(dataset_splits(folder, {}, "/nowhere").size() == 1);
  const std::string pictures = place / "pictures";
  make_files(pictures, {"train/cat/1.png"});
  std::filesystem::create_symlink("nowhere.png", pictures + "/train/cat/2.png");
  CHECK_THAT(data_set_refusal(pictures), Contains("train/cat/2.png"));
}

TEST_CASE("Files of another kind in the folder of a configuration are no data in silence") {
  const TemporaryDirectory place;
  const std::string folder = place / "set";
  make_files(folder, {"deep/train.jsonl", "deep/more.jsonl", "deep/labels.csv"});
  make_files(folder, {"README.md"}, "---\nconfigs:\n- config_name: x\n  data_dir: deep\n---\n");
  std::filesystem::rename(folder + "/deep/train.jsonl", folder + "/deep/other.jsonl");
  CHECK_THAT(data_set_refusal(folder), Contains("different kinds") && Contains("'labels.csv'"));
  std::filesystem::remove(folder + "/deep/labels.csv");
  CHECK(dataset_splits(folder, {}, "/nowhere").front().files.size() == 2);
}

TEST_CASE("Documents in the folder of a configuration are no data") {
  const TemporaryDirectory place;
  const std::string folder = place / "set";
  make_files(folder, {"d/a.jsonl", "d/CHANGES.md", "d/paper.pdf"});
  make_files(folder, {"README.md"}, "---\nconfigs:\n- config_name: x\n  data_files: 'd/*'\n---\n");
  CHECK(dataset_splits(folder, {}, "/nowhere").front().files ==
        std::vector<std::string>{folder + "/d/a.jsonl"});
  make_files(folder, {"d/b.jsonl", "d/c.arrow"});
  CHECK_THAT(data_set_refusal(folder), Contains("different kinds"));
}

TEST_CASE("A file that says what images are is not passed over") {
  const TemporaryDirectory place;
  for (const char* name : {"metadata.csv", "metadata.jsonl", "train/metadata.parquet"}) {
    const std::string folder = place / std::string(name).substr(0, 12);
    std::filesystem::remove_all(folder);
    make_files(folder, {"train/cat/1.png", "train/dog/2.jpg", name});
    CHECK_THAT(data_set_refusal(folder), Contains(name) && Contains("--train_file " + folder + '/' + name));
  }
}

TEST_CASE("A description of other files than the images of a split says nothing of them") {
  const TemporaryDirectory place;
  const std::string folder = place / "set";
  make_files(folder, {"train/cat/1.png", "train/dog/2.jpg", ".cache/metadata.csv", "notes/metadata.jsonl"});
  CHECK(dataset_splits(folder, {}, "/nowhere").front().files == std::vector<std::string>{folder + "/train"});
}

TEST_CASE("What a run writes into the folder of its data is no data") {
  const TemporaryDirectory place;
  const std::string folder = place / "set";
  make_files(folder, {"a.jsonl", "runs/b.jsonl"});
  make_files(folder, {"out/hftrain/plan.json", "out/log.jsonl", "out/checkpoint-2/trainer_state.json",
                      "new/hftrain/lock", "new/hftrain/arguments.json"});
  CHECK(dataset_splits(folder, {}, "/nowhere").front().files ==
        std::vector<std::string>{folder + "/a.jsonl", folder + "/runs/b.jsonl"});
}

TEST_CASE("A card of aliases that stand for ever more values gives one message") {
  const TemporaryDirectory place;
  const std::string folder = place / "set";
  make_files(folder, {"a.csv"});
  std::string card = "---\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    card += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int turn = 0; turn < 9; ++turn) card += ", " + before;
    card += "]\n";
  }
  make_files(folder, {"README.md"}, card + "---\n");
  const std::string said = data_set_refusal(folder);
  CHECK_THAT(said, Contains("refers to itself") && Contains("README.md"));
  CHECK(said.find("refers to itself") == said.rfind("refers to itself"));
}

TEST_CASE("A run is told of the variable that its data set was found by, and of rows that are held out") {
  const TemporaryDirectory cache;
  const std::string repository = cache / "datasets--org--set";
  hftrain::write_file_atomically(repository + "/refs/main", "abc\n");
  make_files(repository + "/snapshots/abc", {"train.csv"});
  const hftrain::Environment environment({{"HF_HUB_CACHE", cache.path()}});
  const auto notes_of = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--model_type", "gpt2"});
    const auto parsed = hftrain::arguments::parse_arguments(words, environment);
    std::string text;
    for (const auto& each : hftrain::plan::files_of_run(parsed, environment).notes)
      text += each.render() + '\n';
    return text;
  };
  const std::string output = cache / "out";
  const std::string found = notes_of({"--dataset_name", "org/set", "--do_train", "--output_dir", output});
  CHECK_THAT(found,
             Contains("HF_HUB_CACHE=" + cache.path() + " of the environment says where data sets lie"));
  CHECK_THAT(found, !Contains("held out"));
  const std::string held = notes_of({"--dataset_name", "org/set", "--do_train", "--do_eval", "--output_dir",
                                     output, "--cache_dir", cache.path()});
  CHECK_THAT(held, !Contains("HF_HUB_CACHE"));
  CHECK_THAT(held, Contains("no split 'validation': rows of 'train' are held out") &&
                       Contains("its splits are train"));
  const std::string own = repository + "/snapshots/abc";
  CHECK_THROWS_WITH(notes_of({"--dataset_name", own, "--do_train", "--output_dir", own}),
                    Contains("the output folder is the folder of the data set"));
}
