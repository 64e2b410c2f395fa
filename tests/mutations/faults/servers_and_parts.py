# What servers repeat, pauses of a fetch, folders of others, the model of a checkpoint that is not whole.

fault("a token that a server of MLflow repeats is shown",
      "lib/hftrain/reporting/mlflow_server.cpp", "without_secret(words_in(answer), token_, \"MLFLOW_TRACKING_TOKEN\");", "words_in(answer);",
      tests=["reporting: credentials that a server of MLflow repeats are not repeated"], says=r"MLFLOW_TRACKING_TOKEN|tttt")

fault("a password that a server of MLflow repeats is shown",
      "lib/hftrain/reporting/mlflow_server.cpp", "text = http::without_password(std::move(text), each);", "text += each.user.substr(each.user.size());",
      tests=["reporting: credentials that a server of MLflow repeats are not repeated"], says=r"Basic <CREDENTIALS>|bWU6")

fault("the password in an address is sent and not known",
      "lib/hftrain/reporting/mlflow_server.cpp", "http::credentials_in(address_)};", "http::credentials_in(\"\")};",
      tests=["reporting: credentials that a server of MLflow repeats are not repeated"], says=r"Basic <CREDENTIALS>|b3RoZXI6")

fault("a short secret that somebody repeats is shown",
      "lib/hftrain/base/secrets.cpp", "if (secret.empty()) return text;", "if (secret.size() < 6) return text;",
      tests=["base: a secret that somebody repeats is not repeated"], says=r"<TOKEN>")

fault("the first questions of a fetch wait a minute each",
      "apps/hftrain/commands/fetch.cpp", "access.quiet_seconds = access.stall_seconds;", "",
      tests=["runs: fetch: a server that says nothing is told and left"], says=r"TimeoutExpired|timed out")

fault("a call that is slow is cut like one of which nothing comes",
      "lib/hftrain/http/client.cpp", "    set_quiet(options.quiet_seconds);\n", "    if (options.quiet_seconds > 0) set(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(options.quiet_seconds * 1000));\n",
      tests=["hub: a call of which nothing comes is cut before one that is slow"], says=r"200|requests")

fault("a cut connection is told as a refusal",
      "lib/hftrain/hub/api.cpp", "if (answer.status == 429) return", "if (answer.status != 200) return",
      tests=["hub: before each pause its reason is told, which is a refusal only where it was one", "runs: fetch: a server that says nothing is told and left"],
      says=r"no whole answer of the Hub|and why it is asked again")

fault("a fetch begins in silence",
      "apps/hftrain/commands/fetch.cpp", "context.err << \"asking \"", "if (order.json) context.err << \"asking \"",
      tests=["runs: fetch: a server that says nothing is told and left"], says=r"what is waited for, at once")

fault("a folder of torch.distributed.checkpoint by itself is no model",
      "apps/hftrain/commands/checkpoint.cpp", "else if (interchange::is_dcp_folder(request.folder))", "else if (request.folder.empty())",
      tests=["runs: a run keeps: the parts of a model by themselves are exported"], says=r"ended with 4|neither model.safetensors")

fault("names below model. stay there",
      "lib/hftrain/interchange/fsdp_folder.cpp", "below ? saved.substr(kBelowModel.size()) : saved;", "below ? saved : saved;",
      tests=["interchange: the folder of the model by itself is read under the same names, and one of an optimizer has none"], says=r"nullptr|weight")

fault("the optimizer's state counts as weights",
      "lib/hftrain/interchange/fsdp_folder.cpp", "    if (is_of_optimizer(saved)) continue;\n", "",
      tests=["interchange: the folder of the model by itself is read under the same names, and one of an optimizer has none"], says=r"[Nn]o exception")

fault("hftrain-libtorch sees the link alone",
      "scripts/hftrain-libtorch", "  [[ -e $file ]] || file=$(ldd", "  [[ -e $file ]] || false && file=$(ldd",
      tests=["runs: packages: the wheel that hftrain was built with is found"], says=r"status ends with 0|hftrain has no LibTorch")

fault("a best model is not loaded from a checkpoint that was thinned out",
      "lib/hftrain/trainer/finishing.cpp", "own = problem_in(storage::verify_model(", "own = problem_in(storage::verify_checkpoint(",
      tests=["runs: a run keeps: the best model is found after a move and forgotten when gone"], says=r"the best model is not loaded, and that of the last")

fault("the state of the optimizer counts as the model",
      "lib/hftrain/storage/manifest.cpp", "file.path.substr(0, slash) == kShardedModelFolder;", "!file.path.empty();",
      tests=["storage: a model verifies without the state that a run goes on from"], says=r"verify_model")

fault("an adapter in the parts by themselves is exported as a model",
      "lib/hftrain/interchange/fsdp_folder.cpp", "const bool alone = is_dcp_folder(checkpoint);", "const bool alone = checkpoint.empty();",
      tests=["interchange: a folder of pieces that is no model's of FSDP is a model under its own names"], says=r"is_fsdp_adapter")
