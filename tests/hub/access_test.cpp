#include "hftrain/hub/access.h"

#include <map>
#include <string>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

using hftrain::Environment;
using hftrain::Error;
using hftrain::hub::read_access;

namespace {

Environment with(const std::map<std::string, std::string>& variables) {
  return Environment(variables);
}

}  // namespace

TEST_CASE("hub access: the token is the flag, else the environment, else the stored one", "[hub]") {
  const hftrain::testing::TemporaryDirectory folder;
  hftrain::write_file_atomically(folder / "token", "hf_stored\n");
  hftrain::write_file_atomically(folder / "other", "hf_other");
  Environment environment = with({{"HF_HOME", folder.path()}});
  CHECK(read_access(environment, std::nullopt).token == "hf_stored");
  CHECK(read_access(with({{"HF_HOME", "~"}, {"HOME", folder.path()}}), std::nullopt).token == "hf_stored");
  environment.set("WHERE", folder.path());
  environment.set("HF_TOKEN_PATH", "$WHERE/other");
  CHECK(read_access(environment, std::nullopt).token == "hf_other");
  environment.set("HUGGING_FACE_HUB_TOKEN", "hf_old");
  CHECK(read_access(environment, std::nullopt).token == "hf_old");
  environment.set("HF_TOKEN", " hf_variable ");
  CHECK(read_access(environment, std::nullopt).token == "hf_variable");
  CHECK(read_access(environment, "hf_flag").token == "hf_flag");
  environment.set("HF_HUB_DISABLE_IMPLICIT_TOKEN", "yes");
  CHECK(read_access(environment, std::nullopt).token.empty());
  CHECK(read_access(environment, "hf_flag").token == "hf_flag");
  CHECK(read_access(environment, std::nullopt, true).token == "hf_variable");  // --use_auth_token
  CHECK(read_access(with({{"HOME", folder / "nobody"}}), std::nullopt).token.empty());
}

TEST_CASE("hub access: a token that would end its header is refused and not shown", "[hub]") {
  const Environment environment = with({{"HF_TOKEN", "hf_secret\r\nHost: evil"}});
  try {
    read_access(environment, std::nullopt);
    FAIL("it was taken");
  } catch (const Error& error) {
    CHECK(error.code() == hftrain::ExitCode::kUsage);
    CHECK(error.render().find("hf_secret") == std::string::npos);
    CHECK(error.diagnostics().front().where == "HF_TOKEN");
  }
}

TEST_CASE("hub access: the endpoint is an address without a slash at its end", "[hub]") {
  CHECK(read_access(Environment(), std::nullopt).endpoint == "https://huggingface.co");
  CHECK(read_access(with({{"HF_ENDPOINT", "http://127.0.0.1:8080//"}}), std::nullopt).endpoint ==
        "http://127.0.0.1:8080");
  for (const char* wrong : {"hub.example", "ftp://hub", "https://hub example"})
    CHECK_REFUSED(read_access(with({{"HF_ENDPOINT", wrong}}), std::nullopt), "HF_ENDPOINT is no address");
}

TEST_CASE("hub access: either variable says that there is no network", "[hub]") {
  CHECK_FALSE(read_access(with({{"HF_HUB_OFFLINE", "0"}}), std::nullopt).offline);
  CHECK(read_access(with({{"HF_HUB_OFFLINE", "ON"}}), std::nullopt).offline);
  CHECK(read_access(with({{"TRANSFORMERS_OFFLINE", "1"}}), std::nullopt).offline);
  CHECK_FALSE(
      read_access(with({{"HF_HUB_OFFLINE", "0"}, {"TRANSFORMERS_OFFLINE", "1"}}), std::nullopt).offline);
}
