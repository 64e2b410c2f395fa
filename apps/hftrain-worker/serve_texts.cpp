#include "serve_texts.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <memory>
#include <optional>

#include "hftrain/architectures/adapter.h"
#include "hftrain/architectures/adapter_config.h"
#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/checkpoint/weights.h"
#include "hftrain/comm/communicator.h"
#include "hftrain/generation/stop_strings.h"
#include "hftrain/generation/text_protocol.h"
#include "hftrain/models/text_model.h"
#include "hftrain/nn/quantised_matrices.h"
#include "hftrain/parallel/replicated_strategy.h"
#include "hftrain/plan/stored_adapter.h"
#include "hftrain/runtime/failed_device.h"
#include "hftrain/runtime/translate.h"
#include "hftrain/runtime/worker_context.h"
#include "hftrain/tokenizer/tokenizer.h"
#include "hftrain/trainer/components.h"
#include "hftrain/trainer/plugin.h"
#include "plugin_path.h"

namespace hftrain::worker {
namespace {

using generation::GenerationConfig;
using generation::Prompt;
using generation::TextRequest;
using generation::TextSetup;

// Rows of a cache are made for so many new tokens at once; more come as they are needed.
constexpr int64_t kFirstRoom = 256;

class RequestLines {
 public:
  explicit RequestLines(int descriptor) : descriptor_(descriptor) {}
  // Without its newline; nothing at the end of the input.
  std::optional<std::string> next() {
    size_t end = 0, looked_at = 0;
    while ((end = held_.find('\n', looked_at)) == std::string::npos) {
      looked_at = held_.size();
      if (!read_more()) return std::nullopt;
    }
    std::string line = held_.substr(0, end);
    held_.erase(0, end + 1);
    return line;
  }

 private:
  bool read_more() {
    char buffer[64 * 1024];
    while (true) {
      const ssize_t count = ::read(descriptor_.get(), buffer, sizeof(buffer));
      if (count > 0) held_.append(buffer, static_cast<size_t>(count));
      if (count >= 0) return count > 0;
      if (errno != EINTR && errno != EAGAIN) return false;
      pollfd readable{descriptor_.get(), POLLIN, 0};
      ::poll(&readable, 1, -1);
    }
  }

  FileDescriptor descriptor_;
  std::string held_;
};

runtime::WorkerContext context_for(const TextSetup& setup) {
  runtime::WorkerPlace place;
  place.threads = setup.threads;
  place.cuda_ordinal = setup.cuda_ordinal;
  if (setup.cuda_ordinal < 0) place.pages = runtime::Pages::kHuge;
  place.cuda_plugin = plugin_path("libhftrain_cuda.so");
  return runtime::make_worker_context(
      place, {},
      Logger(LogLevel::kWarning, [](LogLevel, std::string_view text) { std::cerr << text << std::endl; }));
}

// Beside weights that are there.
void load_adapter(const std::string& folder, const models::Model& model, parallel::Strategy& strategy) {
  const architectures::ParameterTable& table = model.architecture().parameters();
  std::vector<size_t> saved;
  for (const int whole : architectures::saved_whole(table, *model.architecture().adapter(), folder))
    saved.push_back(static_cast<size_t>(whole));
  for (size_t i = 0; i < table.parameters.size(); ++i) {
    if (table.parameters[i].adapts) saved.push_back(i);
  }
  const storage::StoredWeights weights(folder, architectures::kAdapterWeightsName);
  checkpoint::load_adapter(table, saved, *model.architecture().adapter(), weights, strategy);
}

architectures::AdapterSpec adapter_of(const std::string& folder, const architectures::ParameterTable& table) {
  const std::string path = folder + '/' + architectures::kAdapterConfigName;
  return plan::as_stored(architectures::adapter_from_json(read_json_file(path), path), table,
                         storage::ModelWeights(folder, architectures::kAdapterWeightsName));
}

std::unique_ptr<models::Model> open_model(const TextSetup& setup, const runtime::WorkerContext& context) {
  if (!setup.plugin.path.empty())
    trainer::load_families({setup.plugin.name, setup.plugin.path, setup.plugin.hash});
  const auto beside = [&](const std::optional<architectures::AdapterSpec>& adapter) {
    return architectures::Architecture::from_config(setup.config, setup.folder + "/config.json",
                                                    architectures::head_named(setup.head).value(), adapter);
  };
  auto architecture = beside(std::nullopt);
  if (!setup.adapter.empty()) architecture = beside(adapter_of(setup.adapter, architecture->parameters()));
  models::ModelOptions options;
  options.compute_dtype = options.parameter_dtype = trainer::dtype_named(setup.dtype);
  options.device = context.device;
  for (size_t i = 0; i < architecture->parameters().parameters.size(); ++i)
    options.frozen.push_back(static_cast<int>(i));
  auto model = models::build_model(std::move(architecture), options);
  parallel::ParameterList list{{}, {0.0}};
  for (size_t i = 0; i < model->parameters().size(); ++i)
    list.parameters.push_back({model->parameter_names()[i], model->parameters()[i], 0});
  comm::GroupOptions alone;
  alone.device = context.device;
  const auto communicator = comm::make_communicator(alone, comm::builtin_backends());
  const plan::StrategyPlan plain;
  parallel::ReplicatedStrategy strategy(plain, std::move(list), {}, *communicator);
  checkpoint::load_weights(model->architecture().parameters(), storage::StoredWeights(setup.folder), strategy,
                           {}, {.compared = trainer::dtype_named(setup.tied_dtype)});
  if (!setup.adapter.empty()) load_adapter(setup.adapter, *model, strategy);
  model->train(false);
  return model;
}

// Of the matrices with which drafts are made; nothing where none are.
std::unique_ptr<nn::QuantisedMatrices> copies_for(const TextSetup& setup, const models::Model& model) {
  if (setup.drafts == "none") return nullptr;
  if (nn::QuantisedMatrices::available()) return std::make_unique<nn::QuantisedMatrices>(model.parameters());
  if (setup.drafts == "auto") return nullptr;
  throw Error(ExitCode::kUsage, "copies of 8 bits do not work on this processor")
      .where("--draft_weights int8")
      .why("it has no AVX-512-VNNI, without which they are no quicker than the weights")
      .hint("--draft_weights auto");
}

class TextService {
 public:
  TextService(const TextSetup& setup, FileDescriptor& control)
      : tokenizer_folder_(setup.tokenizer),
        control_(control),
        context_(context_for(setup)),
        model_(open_model(setup, context_)),
        copies_(copies_for(setup, *model_)),
        drafts_always_(setup.drafts == "int8") {}

  void answer(const TextRequest& request) {
    GenerationConfig config;
    config.positions = model_->architecture().max_positions();
    generation::take_json(config, request.settings, model_->architecture().vocab_size(), "the settings");
    models::require_room(model_->architecture(), request.prompts, config);
    const generation::StopStrings stops(config.stop_strings, decoder(config));
    generation::Watchers watchers;
    if (!config.stop_strings.empty())
      watchers.complete = [&](std::span<const int64_t> generated) { return stops.reached(generated); };
    if (request.tells_tokens) {
      watchers.token = [&](size_t prompt, int64_t id) {
        tell({{"event", "token"}, {"prompt", prompt}, {"id", id}});
      };
    }
    models::TextModel reader(*model_, runner_, request.prompts, room_for(request, config), config.filler(),
                             copies_.get(), drafts_always_);
    const double begin = monotonic_seconds();
    const auto texts = generation::generate(reader, request.prompts, config, request.seed, watchers);
    tell({{"event", "texts"},
          {"texts", generation::texts_json(texts)},
          {"seconds", monotonic_seconds() - begin},
          {"steps", reader.steps()},
          {"draft_steps", reader.draft_steps()}});
  }

  void tell(const Json& object) {
    write_all(control_.get(), generation::line_of(object), "the front program");
  }

 private:
  static int64_t room_for(const TextRequest& request, const GenerationConfig& config) {
    int64_t longest = 0;
    for (const Prompt& prompt : request.prompts)
      longest = std::max(longest, static_cast<int64_t>(prompt.ids.size()));
    return longest + std::min(kFirstRoom, std::max<int64_t>(1, config.most_new_tokens(longest)));
  }

  // Loads the tokenizer where texts are looked at.
  generation::DecodeIds decoder(const GenerationConfig& config) {
    if (config.stop_strings.empty()) return {};
    if (tokenizer_ == nullptr) tokenizer_ = tokenizer::Tokenizer::load(tokenizer_folder_);
    return [this](std::span<const int64_t> ids) {
      const std::vector<tokenizer::TokenId> narrow(ids.begin(), ids.end());
      return tokenizer_->decode(narrow, /*skip_special_tokens=*/false);
    };
  }

  std::string tokenizer_folder_;
  FileDescriptor& control_;
  runtime::WorkerContext context_;
  std::unique_ptr<models::Model> model_;
  std::unique_ptr<nn::QuantisedMatrices> copies_;
  bool drafts_always_;
  nn::UnitRunner runner_;
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer_;
};

Json failure(const char* event, const Error& error) {
  Json line = generation::error_json(error);
  line["event"] = event;
  return line;
}

// What helps where texts are written; elsewhere hints name flags of training.
Error with_hint(Error error) {
  if (error.code() == ExitCode::kHostMemory || error.code() == ExitCode::kDeviceMemory)
    error.hint("a smaller --batch_size, fewer --num_beams, shorter texts, or --dtype bfloat16");
  return error;
}

void serve(RequestLines& lines, FileDescriptor& control) {
  const auto setup = lines.next();
  if (!setup) return;
  TextService service(generation::decode_setup(parse_json(*setup, "the setup")), control);
  service.tell({{"event", "ready"}});
  while (const auto line = lines.next()) {
    try {
      runtime::translate_exceptions(
          [&] { service.answer(generation::decode_request(parse_json(*line, "a request"))); });
    } catch (const Error& error) {
      if (error.code() == ExitCode::kEnvironment) throw;  // a device that failed answers nobody any more
      service.tell(failure("refused", with_hint(error)));
    }
  }
}

}  // namespace

ExitCode serve_texts(const Options& options) {
  FileDescriptor control(options.control_fd);
  RequestLines lines(options.requests_fd);
  const auto tell = [&](const Error& error) {
    write_all(control.get(), generation::line_of(failure("failed", with_hint(error))), "the front program");
  };
  const runtime::FailedDeviceReport of_device([&](const Error& error) {
    try {
      tell(error);
    } catch (const Error&) {  // nobody listens
    }
    ::_exit(static_cast<int>(error.code()));
  });
  try {
    runtime::translate_exceptions([&] { serve(lines, control); });
  } catch (const Error& error) {
    tell(error);
    return error.code();
  }
  return ExitCode::kDone;
}

}  // namespace hftrain::worker
