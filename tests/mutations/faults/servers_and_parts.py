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
