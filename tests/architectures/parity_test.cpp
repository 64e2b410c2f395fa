// transformers reads what config_json() writes as the same configuration.
#include <algorithm>
#include <filesystem>

#include "hftrain/architectures/architecture.h"
#include "hftrain/base/file.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/python.h"
#include "support/skip.h"

namespace hftrain::architectures {
namespace {

// Prints the name of every golden file whose config differs from ours once transformers has read both.
constexpr const char* kCompare = R"(
import json, pathlib, sys
from transformers import AutoConfig
golden, ours = map(pathlib.Path, sys.argv[1:])
for path in sorted(golden.glob("*.json")):
    folder = ours / path.stem
    expected = ours / (path.stem + "-expected")
    expected.mkdir()
    (expected / "config.json").write_text(json.dumps(json.loads(path.read_text())["config_json"]))
    read = [AutoConfig.from_pretrained(f).to_dict() for f in (folder, expected)]
    for config in read: config.pop("_name_or_path", None)
    if read[0] != read[1]: print("differs:", path.stem, read)
print("compared", len(list(golden.glob("*.json"))))
)";

TEST_CASE("configs with both spellings of rope mean the same to transformers", "[parity]") {
  if (!testing::has_python()) HFTRAIN_SKIP("python3 with transformers: set HFTRAIN_TEST_PYTHON");
  const std::string golden = testing::source_dir() + "/tests/golden/architectures";
  const testing::TemporaryDirectory ours;
  for (const auto& entry : std::filesystem::directory_iterator(golden)) {
    const Json golden_file = read_json_file(entry.path().string());
    const auto architecture =
        Architecture::from_config(golden_file["config"], entry.path().string(),
                                  head_named(golden_file["head"].get<std::string>()).value());
    write_file_atomically(ours / entry.path().stem().string() + "/config.json",
                          dump_json(architecture->config_json()));
  }
  const testing::PythonResult result = testing::run_python(kCompare, {golden, ours.path()});
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK(result.output.find("differs") == std::string::npos);
  CHECK(result.output.find("compared ") != std::string::npos);
}

}  // namespace
}  // namespace hftrain::architectures
