#include "hftrain/reporting/mlflow_server.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/secrets.h"
#include "hftrain/base/text.h"
#include "hftrain/reporting/python_text.h"

namespace hftrain::reporting {
namespace {

constexpr double kFirstPause = 1, kLongestPause = 60;
constexpr double kToldFrom = 4;  // a pause: 7 seconds have passed then
constexpr size_t kShownOfAnAnswer = 300;

http::Options options_of(const Environment& environment) {
  return {.user = environment.get_or("MLFLOW_TRACKING_USERNAME", ""),
          .password = environment.get_or("MLFLOW_TRACKING_PASSWORD", ""),
          .authorities = environment.get_or("MLFLOW_TRACKING_SERVER_CERT_PATH", ""),
          .verify = to_lower(environment.get_or("MLFLOW_TRACKING_INSECURE_TLS", "")) != "true"};
}

bool may_pass(const http::Answer& answer) {
  if (answer.permanent) return false;
  return answer.status == 0 || answer.status == 408 || answer.status == 429 || answer.status >= 500;
}

// What the server says of a refusal, which MLflow puts into an object.
std::string words_in(const http::Answer& answer) {
  const std::optional<Json> body = try_parse_json(answer.body);
  const bool told = body && body->is_object() && body->contains("message") && body->at("message").is_string();
  return told ? body->at("message").get<std::string>() : answer.body;
}

// Protocol buffers write what is no number of JSON as a text.
Json number_of(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

Json pairs(const MlflowTexts& texts) {
  Json list = Json::array();
  for (const auto& [key, value] : texts) list.push_back({{"key", key}, {"value", value}});
  return list;
}

const char* status_name(RunEnd how) {
  if (how == RunEnd::kFinished) return "FINISHED";
  return how == RunEnd::kStopped ? "KILLED" : "FAILED";
}

std::string without_slash(std::string address) {
  while (address.ends_with('/')) address.pop_back();
  return address;
}

}  // namespace

MlflowServer::MlflowServer(const Environment& environment, SinkHost host)
    : host_(std::move(host)),
      address_(without_slash(environment.get_or("MLFLOW_TRACKING_URI", ""))),
      shown_(masked("MLFLOW_TRACKING_URI", address_)),
      token_(environment.get_or("MLFLOW_TRACKING_TOKEN", "")),
      client_(options_of(environment)),
      headers_({"Content-Type: application/json"}) {
  if (!token_.empty()) headers_.push_back("Authorization: Bearer " + token_);
  const http::Options options = options_of(environment);
  credentials_ = {{options.user, options.password}, http::credentials_in(address_)};
}

std::string MlflowServer::reason_in(const http::Answer& answer) const {
  if (answer.status == 0) return answer.failure;
  std::string text = without_secret(words_in(answer), token_, "MLFLOW_TRACKING_TOKEN");
  for (const http::Credentials& each : credentials_) text = http::without_password(std::move(text), each);
  return "HTTP " + std::to_string(answer.status) +
         (text.empty() ? "" : ": " + text.substr(0, kShownOfAnAnswer));
}

http::Answer MlflowServer::send_until_taken(const http::Request& request) {
  for (double pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    http::Answer answer = client_.send(request);
    if (!may_pass(answer)) return answer;
    if (pause > kToldFrom && !std::exchange(told_, true)) {
      host_.warn("the server " + shown_ + " takes nothing so far: " + reason_in(answer) +
                 ". It is asked again while the run lasts, and records wait");
    }
    if (!host_.pause(pause)) return client_.send(request);  // the run is over: a last time
  }
}

Json MlflowServer::exchange(const std::string& call, const http::Request& request) {
  const http::Answer answer = send_until_taken(request);
  const std::optional<Json> body = try_parse_json(answer.body);
  if (answer.status == 200 && body && body->is_object()) return *body;
  throw Error(ExitCode::kEnvironment, "the server did not take " + call)
      .where(shown_)
      .why(answer.status == 200 ? "its answer is no object of JSON: is it a server of MLflow?"
                                : reason_in(answer))
      .hint("see whether MLFLOW_TRACKING_URI names a server of MLflow, and what its own log says");
}

Json MlflowServer::post(const std::string& call, const Json& message) {
  return exchange(call, {address_ + "/api/2.0/mlflow/" + call, python_json(message, -1), headers_});
}

Json MlflowServer::ask(const std::string& call, const std::string& query) {
  return exchange(call, {address_ + "/api/2.0/mlflow/" + call + '?' + query, "", headers_});
}

// An experiment that is not there is made.
std::string MlflowServer::experiment_id(const std::string& name) {
  const http::Request request{
      address_ + "/api/2.0/mlflow/experiments/get-by-name?experiment_name=" + http::Client::escaped(name), "",
      headers_};
  const http::Answer answer = send_until_taken(request);
  if (answer.status == 404) return post("experiments/create", {{"name", name}}).at("experiment_id");
  return exchange("experiments/get-by-name", request).at("experiment").at("experiment_id");
}

bool MlflowServer::begin(const MlflowRun& run) {
  if (!run.id.empty()) {
    ask("runs/get", "run_id=" + http::Client::escaped(run.id));
    run_id_ = run.id;
    post("runs/update", {{"run_id", run_id_}, {"status", "RUNNING"}});
    return true;
  }
  Json message = {{"experiment_id", experiment_id(run.experiment)},
                  {"start_time", run.start_ms},
                  {"tags", pairs({{"mlflow.source.name", "hftrain"}, {"mlflow.source.type", "LOCAL"}})}};
  if (!run.name.empty()) message["run_name"] = run.name;
  run_id_ = post("runs/create", message).at("run").at("info").at("run_id");
  return false;
}

void MlflowServer::log_metrics(const std::vector<MlflowMetric>& metrics) {
  Json list = Json::array();
  for (const MlflowMetric& each : metrics)
    list.push_back({{"key", each.key},
                    {"value", number_of(each.value)},
                    {"timestamp", each.time_ms},
                    {"step", each.step}});
  post("runs/log-batch", {{"run_id", run_id_}, {"metrics", std::move(list)}});
}

void MlflowServer::log_parameters(const MlflowTexts& parameters) {
  post("runs/log-batch", {{"run_id", run_id_}, {"params", pairs(parameters)}});
}

void MlflowServer::set_tags(const MlflowTexts& tags) {
  if (!tags.empty()) post("runs/log-batch", {{"run_id", run_id_}, {"tags", pairs(tags)}});
}

void MlflowServer::end(RunEnd how, int64_t time_ms) {
  post("runs/update", {{"run_id", run_id_}, {"status", status_name(how)}, {"end_time", time_ms}});
}

}  // namespace hftrain::reporting
