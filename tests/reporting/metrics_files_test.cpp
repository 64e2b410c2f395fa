#include "hftrain/reporting/metrics_files.h"

#include <fstream>

#include "golden.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::reporting {
namespace {

using testing::TemporaryDirectory;

TEST_CASE("blocks and files of metrics are those of the Trainer", "[reporting]") {
  for (const Json& item : testing::golden("metrics.json")) {
    const TemporaryDirectory folder;
    const std::string split = item.at("split");
    const Json metrics = testing::restored(item.at("metrics"));
    CHECK(format_metrics(split, metrics) == item.at("block").get<std::string>());
    std::ofstream(folder / "all_results.json") << R"({"zebra": 1, "epoch": 0.5})";
    save_metrics(folder.path(), split, metrics);
    CHECK(read_file(folder / (split + "_results.json")) == item.at("results").get<std::string>());
    CHECK(read_file(folder / "all_results.json") == item.at("all_results").get<std::string>());
  }
}

TEST_CASE("the first split makes all_results.json, a broken one is not overwritten", "[reporting]") {
  const TemporaryDirectory folder;
  save_metrics(folder / "deep", "train", {{"train_loss", 2.5}});
  CHECK(read_file(folder / "deep/all_results.json") == "{\n    \"train_loss\": 2.5\n}");
  for (const char* broken : {"[1]", "{\"a\":"}) {
    std::ofstream(folder / "all_results.json") << broken;
    CHECK_REFUSED(save_metrics(folder.path(), "eval", {{"eval_loss", 1.0}}),
                  broken[0] == '[' ? "not a file of results" : "not valid JSON");
    CHECK(read_file(folder / "all_results.json") == broken);
  }
}

TEST_CASE("operations of a long run, beyond every integer type, are counted in GF all the same",
          "[reporting]") {
  CHECK(format_metrics("train", {{"total_flos", 1e21}}) ==
        "***** train metrics *****\n  total_flos = 931322574615GF\n");  // int(1e21) >> 30
  CHECK(format_metrics("train", {{"total_flos", 3e9}}) == "***** train metrics *****\n  total_flos = 2GF\n");
  CHECK(format_metrics("train", {{"a_mem_b", -1}}) == "***** train metrics *****\n  a_mem_b = -1MB\n");
}

TEST_CASE("no metrics make a heading alone", "[reporting]") {
  CHECK(format_metrics("eval", Json::object()) == "***** eval metrics *****\n");
}

}  // namespace
}  // namespace hftrain::reporting
