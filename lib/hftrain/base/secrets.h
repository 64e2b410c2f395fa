// Values that no file, plan or message may show: tokens, keys and passwords of hubs and trackers, known by
// the name of the variable that holds them.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace hftrain {

// HF_TOKEN, WANDB_API_KEY, MLFLOW_TRACKING_PASSWORD, AWS_SECRET_ACCESS_KEY, …: one of the words between the
// underscores is token, secret, password, key or the like. Not TOKENIZERS_PARALLELISM, nor PWD.
bool names_secret(std::string_view variable);
// The same of a key in a document (api_key, apiKey, auth-token), where pad_token and its like are none.
bool names_secret_key(std::string_view key);

// "<NAME>", how the value of a secret is shown.
std::string placeholder(std::string_view name);

// The value as it may be shown: the placeholder for a secret, and a password in a URL
// ("https://user:password@host") as "<password>".
std::string masked(std::string_view variable, const std::string& value);
std::map<std::string, std::string> masked(const std::map<std::string, std::string>& variables);

// What somebody says who was sent a secret and may repeat it: placeholder(name) in its places. An empty secret is none.
std::string without_secret(std::string text, const std::string& secret, std::string_view name);

}  // namespace hftrain
