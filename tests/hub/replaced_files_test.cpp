#include "hftrain/hub/replaced_files.h"

#include "support/catch.h"

using hftrain::hub::replaced_files;
using Names = std::vector<std::string>;

TEST_CASE("replaced files: a model in one file replaces one in parts, and the other way round", "[hub]") {
  const std::string part1 = "model-00001-of-00002.safetensors", part2 = "model-00002-of-00002.safetensors";
  const std::string whole = "model.safetensors", index = "model.safetensors.index.json";
  CHECK(replaced_files({part1, part2, whole, index}, {whole, "config.json"}, "") ==
        Names{part1, part2, index});
  CHECK(replaced_files({part1, part2, whole, index}, {part1, part2, index}, "") == Names{whole});
  CHECK(replaced_files({"model-00003-of-00003.safetensors", index}, {part1, part2, index}, "") ==
        Names{"model-00003-of-00003.safetensors"});
}

TEST_CASE("replaced files: what is no weights of the model stays, and all where no model is pushed",
          "[hub]") {
  const std::string whole = "model.safetensors";
  CHECK(replaced_files({"sub/adapter_model.safetensors", "sub/" + whole, "model-a-of-b.safetensors",
                        "config.json", "my_" + whole, whole + ".txt"},
                       {whole}, "")
            .empty());
  CHECK(replaced_files({whole, "adapter_config.json"}, {"config.json", "sub/" + whole}, "").empty());
}

TEST_CASE("replaced files: an adapter does not stay beside a whole model, which may stay beside an adapter",
          "[hub]") {
  const std::string config = "adapter_config.json", adapter = "adapter_model.safetensors";
  const std::string whole = "model.safetensors";
  CHECK(replaced_files({config, adapter, whole}, {whole, "config.json"}, "") == Names{config, adapter});
  CHECK(replaced_files({config, adapter, whole}, {config, adapter}, "").empty());
  CHECK(replaced_files({config, adapter, whole}, {config, adapter, whole}, "").empty());
}

TEST_CASE("replaced files: a folder has nothing but what is pushed into it", "[hub]") {
  CHECK(replaced_files({"last/a", "last/b", "lasting", "c"}, {"last/a"}, "last") == Names{"last/b"});
}
