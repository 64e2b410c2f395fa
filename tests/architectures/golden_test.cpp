// Every table and config.json against the real transformers package; the files come from
// scripts/golden/architectures.py.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "hftrain/architectures/architecture.h"
#include "hftrain/base/json.h"
#include "support/catch.h"
#include "support/paths.h"

namespace hftrain::architectures {
namespace {

std::vector<std::string> golden_files() {
  std::vector<std::string> paths;
  const std::string folder = testing::source_dir() + "/tests/golden/architectures";
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::shared_ptr<const Architecture> architecture_of(const Json& golden, const std::string& path) {
  return Architecture::from_config(golden["config"], path,
                                   head_named(golden["head"].get<std::string>()).value());
}

std::set<std::string> strings(const Json& list) {
  return list.get<std::set<std::string>>();
}

TEST_CASE("every family is covered by golden files") {
  std::set<std::string> seen;
  for (const std::string& path : golden_files()) seen.insert(read_json_file(path)["config"]["model_type"]);
  for (const std::string& type : Architecture::model_types()) CHECK(seen.count(type) == 1);
}

TEST_CASE("parameter tables have transformers' names, shapes and order") {
  for (const std::string& path : golden_files()) {
    INFO(path);
    const Json golden = read_json_file(path);
    const auto architecture = architecture_of(golden, path);
    ParameterTable table = architecture->parameters();
    std::erase_if(table.parameters, [](const ParameterSpec& parameter) { return parameter.buffer; });
    REQUIRE(table.parameters.size() == golden["parameters"].size());
    for (size_t i = 0; i < table.parameters.size(); ++i) {
      CHECK(table.parameters[i].name == golden["parameters"][i][0]);
      CHECK(table.parameters[i].shape == golden["parameters"][i][1].get<std::vector<int64_t>>());
    }
    CHECK(table.count() == golden["count"]);
    CHECK(table.count_non_embedding() == golden["count_non_embedding"]);
    const auto classes = golden["layer_classes"].get<std::vector<std::string>>();  // one family names none
    CHECK((classes.empty() || architecture->layer_class_names() == classes));
  }
}

TEST_CASE("the head's parameters are those that the classes of a family do not share") {
  for (const std::string& path : golden_files()) {
    INFO(path);
    const Json golden = read_json_file(path);
    const auto architecture = architecture_of(golden, path);
    const std::string& prefix = architecture->parameters().base_prefix;
    REQUIRE((golden.contains("head_parameters") || !prefix.empty()));
    for (const ParameterSpec& parameter : architecture->parameters().parameters) {
      INFO(parameter.name);
      if (parameter.buffer) continue;
      const bool pooler = parameter.name.find(".pooler.") != std::string::npos;
      CHECK(parameter.head == (golden.contains("head_parameters")
                                   ? strings(golden["head_parameters"]).contains(parameter.name)
                                   : pooler || !parameter.name.starts_with(prefix)));
    }
  }
}

TEST_CASE("weight decay and embedding marks are those of the Trainer") {
  for (const std::string& path : golden_files()) {
    INFO(path);
    const Json golden = read_json_file(path);
    const auto architecture = architecture_of(golden, path);
    std::set<std::string> no_decay, embeddings;
    for (const ParameterSpec& parameter : architecture->parameters().parameters) {
      if (parameter.buffer) continue;
      if (!parameter.weight_decay) no_decay.insert(parameter.name);
      if (parameter.embedding) embeddings.insert(parameter.name);
    }
    CHECK(no_decay == strings(golden["no_decay"]));
    CHECK(embeddings == strings(golden["embeddings"]));
  }
}

TEST_CASE("config_json is what save_pretrained writes, plus the v4 rope keys") {
  for (const std::string& path : golden_files()) {
    INFO(path);
    const Json golden = read_json_file(path);
    Json written = architecture_of(golden, path)->config_json();
    if (written.contains("rope_parameters")) {
      CHECK(written["rope_theta"] == written["rope_parameters"]["rope_theta"]);
      const bool scaled = written["rope_parameters"]["rope_type"] != "default";
      CHECK(written["rope_scaling"].is_null() == !scaled);
      written.erase("rope_theta");
      written.erase("rope_scaling");
    }
    CHECK(dump_json(written) == dump_json(golden["config_json"]));
  }
}

TEST_CASE("a written config reads back as itself") {
  for (const std::string& path : golden_files()) {
    INFO(path);
    const auto first = architecture_of(read_json_file(path), path);
    const Json written = first->config_json();
    CHECK(Architecture::head_of(written) == first->head());
    CHECK(Architecture::from_config(written, path, first->head())->config_json() == written);
  }
}

}  // namespace
}  // namespace hftrain::architectures
