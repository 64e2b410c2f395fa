#include "hftrain/base/secrets.h"

#include "support/catch.h"

namespace hftrain {

TEST_CASE("names of secrets are known by their words") {
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "WANDB_API_KEY", "MLFLOW_TRACKING_PASSWORD",
                           "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "HFTRAIN_JOB_SECRET", "hub_token",
                           "NEPTUNE_API_TOKEN", "MY_CREDENTIALS", "BASIC_AUTH", "DB_PASS", "MYSQL_PWD",
                           "AUTHTOKEN", "AZURE_STORAGE_CONNECTION_STRING", "PGPASSWORD", "SSHPASS"}) {
    INFO(name);
    CHECK(names_secret(name));
  }
  for (const char* name :
       {"TOKENIZERS_PARALLELISM", "MAX_TOKENS", "OMP_NUM_THREADS", "HF_HOME", "WANDB_PROJECT",
        "MLFLOW_TRACKING_URI", "KEYBOARD", "PATH", "MONKEY", "PWD", "OLDPWD", "BYPASS", "CONNECTION_LIMIT"}) {
    INFO(name);
    CHECK_FALSE(names_secret(name));
  }
}

TEST_CASE(
    "keys of secrets in a document are known however they are written, tokens of a tokenizer are none") {
  for (const char* key : {"api_key", "apiKey", "api-key", "token", "hf_token", "accessToken", "password",
                          "db_pass", "connectionString", "secret_token", "authtoken"}) {
    INFO(key);
    CHECK(names_secret_key(key));
  }
  for (const char* key :
       {"pad_token", "eos_token", "pad_token_id", "image_token", "enabled", "project", "stage"}) {
    INFO(key);
    CHECK_FALSE(names_secret_key(key));
  }
}

TEST_CASE("a secret is shown as its name, and a password in a URL not at all") {
  CHECK(masked("HF_TOKEN", "hf_abc") == "<HF_TOKEN>");
  CHECK(masked("HF_HOME", "/data/hf") == "/data/hf");
  CHECK(masked("MLFLOW_TRACKING_URI", "https://me:pa:ss@host:5000/x") == "https://me:<password>@host:5000/x");
  CHECK(masked("PIP_EXTRA_INDEX_URL", "https://a:one@x/simple https://b:two@y/simple https://z/") ==
        "https://a:<password>@x/simple https://b:<password>@y/simple https://z/");
  for (const char* plain : {"https://host:5000/a@b:c", "https://me@host/", "a:b@c", "://", "x://y"}) {
    INFO(plain);
    CHECK(masked("MLFLOW_TRACKING_URI", plain) == plain);
  }
  CHECK(masked({{"A", "1"}, {"A_KEY", "2"}}) ==
        std::map<std::string, std::string>{{"A", "1"}, {"A_KEY", "<A_KEY>"}});
}

TEST_CASE("a secret that somebody repeats is not repeated") {
  CHECK(without_secret("Bearer abc, abcabc", "abc", "token") == "Bearer <TOKEN>, <TOKEN><TOKEN>");
  CHECK(without_secret("E TOKEN", "TOKEN", "token") == "E <TOKEN>");  // which stands in its own placeholder
  CHECK(without_secret("as it is", "", "token") == "as it is");
}

}  // namespace hftrain
