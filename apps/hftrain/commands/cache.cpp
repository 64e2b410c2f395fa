// hftrain cache list [--json] | prune [--older_than AGE] [--max_size SIZE] [--dry_run] [--json]
#include <algorithm>
#include <ctime>
#include <ostream>
#include <utility>

#include "command.h"
#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/base/quantity.h"
#include "hftrain/base/text.h"
#include "hftrain/data/cache_entries.h"
#include "hftrain/data/prepare.h"
#include "hftrain/plan/text_table.h"

namespace hftrain::app {
namespace {

constexpr const char* kUsage =
    "usage: hftrain cache list [--json]\n"
    "       hftrain cache prune [--older_than AGE] [--max_size SIZE] [--dry_run] [--json]\n"
    "\n"
    "list    tokenised and packed data: key, size, last use, tokenizer and source files\n"
    "prune   removes entries that were not used for AGE (30d; s, m, h, d, w), then the least recently used\n"
    "        until SIZE (20GiB) is left; damaged entries and what killed processes left go in any case, an\n"
    "        entry in use never; --dry_run only says what would go\n";

struct Request {
  std::string action;
  data::PruneRequest prune;
  bool json = false;
};

Error usage_error(const std::string& what) {
  return Error(ExitCode::kUsage, what).hint("hftrain cache --help");
}

// A dash and an underscore are equal in flags.
std::string canonical(std::string flag) {
  std::replace(flag.begin() + 2, flag.end(), '-', '_');
  return flag;
}

int64_t age_of(const std::string& text) {
  if (const auto seconds = parse_age(text)) return *seconds;
  throw usage_error("'" + text + "' is not an age")
      .where("--older_than")
      .why("an age is like 30d, 12h or 90m");
}

uint64_t size_of(const std::string& text) {
  if (const auto bytes = parse_bytes(text)) return static_cast<uint64_t>(*bytes);
  throw usage_error("'" + text + "' is not a size").where("--max_size").why("a size is like 20GiB or 500MB");
}

class RequestReader {
 public:
  explicit RequestReader(const std::vector<std::string>& words) : words_(words) {}

  Request read() {
    request_.action = words_.front();
    if (request_.action != "list" && request_.action != "prune")
      throw usage_error("cache does not know the action '" + request_.action + "'")
          .why("the actions are list and prune");
    while (at_ < words_.size()) take(words_[at_++]);
    return std::move(request_);
  }

 private:
  void take(const std::string& word) {
    const size_t equals = word.find('=');
    const std::string flag = word.rfind("--", 0) == 0 ? canonical(word.substr(0, equals)) : word;
    const bool prune = request_.action == "prune", bare = equals == std::string::npos;
    if (flag == "--json" && bare) {
      request_.json = true;
    } else if (flag == "--dry_run" && bare && prune) {
      request_.prune.dry_run = true;
    } else if (flag == "--older_than" && prune) {
      request_.prune.unused_seconds = age_of(value_of(flag, word, equals));
    } else if (flag == "--max_size" && prune) {
      request_.prune.most_bytes = size_of(value_of(flag, word, equals));
    } else {
      throw usage_error("cache " + request_.action + " does not know " + word);
    }
  }

  std::string value_of(const std::string& flag, const std::string& word, size_t equals) {
    if (equals != std::string::npos) return word.substr(equals + 1);
    if (at_ == words_.size()) throw usage_error(flag + " needs a value");
    return words_[at_++];
  }

  const std::vector<std::string>& words_;
  size_t at_ = 1;
  Request request_;
};

Json entry_json(const data::CacheEntry& entry) {
  return {{"key", entry.key},       {"sources", entry.sources},     {"tokenizer", entry.tokenizer},
          {"bytes", entry.bytes},   {"last_used", entry.last_used}, {"folder", entry.folder},
          {"in_use", entry.in_use}, {"damaged", !entry.whole}};
}

Json unfinished_json(const data::UnfinishedEntry& entry) {
  return {{"folder", entry.folder}, {"bytes", entry.bytes}, {"in_use", entry.in_use}};
}

template <typename Entries, typename Convert>
Json list_json(const Entries& entries, Convert&& convert) {
  Json list = Json::array();
  for (const auto& entry : entries) list.push_back(convert(entry));
  return list;
}

std::string local_time(int64_t seconds) {
  const std::time_t time = seconds;
  std::tm local{};
  ::localtime_r(&time, &local);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &local)};
}

std::string state_of(const data::CacheEntry& entry) {
  return !entry.whole ? "damaged" : entry.in_use ? "in use" : "";
}

std::string entry_table(const std::vector<data::CacheEntry>& entries) {
  std::vector<std::vector<std::string>> rows = {
      {"key", "size", "last used", "state", "tokenizer", "sources"}};
  for (const data::CacheEntry& entry : entries) {
    rows.push_back({entry.key, format_bytes(entry.bytes), local_time(entry.last_used), state_of(entry),
                    entry.tokenizer.empty() ? "-" : entry.tokenizer,
                    entry.sources.empty() ? "not recorded" : join(entry.sources, ", ")});
  }
  return plan::format_table(rows);
}

std::string counted(size_t count) {
  return std::to_string(count) + (count == 1 ? " entry" : " entries");
}

uint64_t bytes_of(const std::vector<data::CacheEntry>& entries) {
  uint64_t bytes = 0;
  for (const data::CacheEntry& entry : entries) bytes += entry.bytes;
  return bytes;
}

void list(const CommandContext& context, bool json) {
  const data::CacheContents cache = data::list_cache(data::cache_folder(context.environment));
  if (json) {
    context.out << dump_json({{"schema", 1},
                              {"folder", cache.folder},
                              {"bytes", bytes_of(cache.entries)},
                              {"entries", list_json(cache.entries, entry_json)},
                              {"unfinished", list_json(cache.unfinished, unfinished_json)}})
                << '\n';
    return;
  }
  if (!cache.entries.empty()) context.out << entry_table(cache.entries);
  context.out << counted(cache.entries.size()) << ", " << format_bytes(bytes_of(cache.entries)) << ", in "
              << cache.folder << '\n';
  for (const data::UnfinishedEntry& entry : cache.unfinished) {
    context.out << (entry.in_use ? "being made: " : "left by a process that was killed: ") << entry.folder
                << ", " << format_bytes(entry.bytes) << '\n';
  }
}

void report(const CommandContext& context, const data::PruneRequest& asked, const data::PruneResult& result) {
  const char* const went = asked.dry_run ? "would remove " : "removed ";
  for (const data::CacheEntry& entry : result.removed) {
    context.out << went << entry.key << ", " << format_bytes(entry.bytes) << ", last used "
                << local_time(entry.last_used) << (entry.whole ? "" : ", damaged") << '\n';
  }
  for (const data::UnfinishedEntry& entry : result.removed_unfinished)
    context.out << went << entry.folder << ", " << format_bytes(entry.bytes) << ", never finished\n";
  for (const data::CacheEntry& entry : result.kept_in_use)
    context.out << "kept " << entry.key << ", " << format_bytes(entry.bytes) << ": in use\n";
  context.out << counted(result.removed.size()) << (asked.dry_run ? " would go, " : " removed, ")
              << format_bytes(result.bytes_left) << " left\n";
  if (!asked.unused_seconds && !asked.most_bytes)
    context.err << "note: whole entries are kept without --older_than or --max_size" << std::endl;
}

void prune(const CommandContext& context, const Request& request) {
  const data::PruneResult result = data::prune_cache(data::cache_folder(context.environment), request.prune);
  if (!request.json) return report(context, request.prune, result);
  context.out << dump_json({{"schema", 1},
                            {"dry_run", request.prune.dry_run},
                            {"removed", list_json(result.removed, entry_json)},
                            {"removed_unfinished", list_json(result.removed_unfinished, unfinished_json)},
                            {"kept_in_use", list_json(result.kept_in_use, entry_json)},
                            {"bytes_left", result.bytes_left}})
              << '\n';
}

bool contains_any(const std::vector<std::string>& words, std::initializer_list<const char*> wanted) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(wanted.begin(), wanted.end(), word) != wanted.end();
  });
}

}  // namespace

ExitCode run_cache(const CommandContext& context) {
  const std::vector<std::string>& words = context.arguments;
  if (contains_any(words, {"--help", "-h", "--help-all", "--help_all"})) {
    context.out << kUsage;
    return ExitCode::kDone;
  }
  if (contains_any(words, {"--version"})) {
    context.out << "hftrain " << HFTRAIN_VERSION << '\n';
    return ExitCode::kDone;
  }
  if (words.empty()) throw usage_error("cache needs an action: list or prune");
  Request request = RequestReader(words).read();
  request.prune.now = std::time(nullptr);
  if (request.action == "list") {
    list(context, request.json);
  } else {
    prune(context, request);
  }
  return ExitCode::kDone;
}

}  // namespace hftrain::app
