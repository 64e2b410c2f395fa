#include "hftrain/base/secrets.h"

#include "support/catch.h"

namespace hftrain {

TEST_CASE("names of secrets are known by their words") {
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "WANDB_API_KEY", "MLFLOW_TRACKING_PASSWORD",
                           "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "HFTRAIN_JOB_SECRET", "hub_token",
                           "NEPTUNE_API_TOKEN", "MY_CREDENTIALS", "BASIC_AUTH"}) {
    INFO(name);
    CHECK(names_secret(name));
  }
  for (const char* name : {"TOKENIZERS_PARALLELISM", "MAX_TOKENS", "OMP_NUM_THREADS", "HF_HOME",
                           "WANDB_PROJECT", "MLFLOW_TRACKING_URI", "KEYBOARD", "PATH", "MONKEY"}) {
    INFO(name);
    CHECK_FALSE(names_secret(name));
  }
}

TEST_CASE("a secret is shown as its name, and a password in a URL not at all") {
  CHECK(masked("HF_TOKEN", "hf_abc") == "<HF_TOKEN>");
  CHECK(masked("HF_HOME", "/data/hf") == "/data/hf");
  CHECK(masked("MLFLOW_TRACKING_URI", "https://me:pa:ss@host:5000/x") == "https://me:<password>@host:5000/x");
  for (const char* plain : {"https://host:5000/a@b:c", "https://me@host/", "a:b@c", "://", "x://y"}) {
    INFO(plain);
    CHECK(masked("MLFLOW_TRACKING_URI", plain) == plain);
  }
  CHECK(masked({{"A", "1"}, {"A_KEY", "2"}}) ==
        std::map<std::string, std::string>{{"A", "1"}, {"A_KEY", "<A_KEY>"}});
}

}  // namespace hftrain
