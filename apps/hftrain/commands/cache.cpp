// hftrain cache list [--json] | prune [--older_than AGE] [--max_size SIZE] [--dry_run] [--json]
#include <ctime>
#include <ostream>

#include "command.h"
#include "command_options.h"
#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/base/quantity.h"
#include "hftrain/base/text.h"
#include "hftrain/data/cache_entries.h"
#include "hftrain/data/prepare.h"
#include "hftrain/plan/text_table.h"

namespace hftrain::app {
namespace {

constexpr const char* kCacheUsage =
    "usage: hftrain cache list [--json]\n"
    "       hftrain cache prune [--older_than AGE] [--max_size SIZE] [--dry_run] [--json]\n"
    "\n"
    "list    tokenised and packed data: key, size, last use, tokenizer and source files\n"
    "prune   removes entries that were not used for AGE (30d; s, m, h, d, w), then the least recently used\n"
    "        until SIZE (20GiB; 0: none) is left; damaged entries and what killed processes left go in any "
    "case, an\n"
    "        entry in use never; --dry_run only says what would go\n";

struct CacheRequest {
  std::optional<std::string> older_than, max_size;  // as typed
  bool json = false;
  data::PruneRequest prune;
};

Error wrong_limit(const std::string& flag, const std::string& text, const std::string& like) {
  return Error(ExitCode::kUsage, flag + ": '" + text + "' does not fit")
      .where("command line")
      .why("it takes something like " + like)
      .hint(flag + ' ' + like);
}

void read_limits(CacheRequest& request) {
  if (request.older_than) {
    const auto seconds = parse_age(*request.older_than);
    if (!seconds) throw wrong_limit("--older_than", *request.older_than, "30d");
    request.prune.unused_seconds = *seconds;
  }
  if (request.max_size) {
    const auto bytes = *request.max_size == "0" ? std::optional<int64_t>(0) : parse_bytes(*request.max_size);
    if (!bytes) throw wrong_limit("--max_size", *request.max_size, "20GiB");
    request.prune.most_bytes = static_cast<uint64_t>(*bytes);
  }
}

CommandOptions cache_options(const std::string& action, CacheRequest& request) {
  CommandOptions options("hftrain cache " + action,
                         action == "list"
                             ? "Tokenised and packed data: key, size, last use, tokenizer and sources"
                             : "Remove what was not used for long, then the least recently used; "
                               "damaged entries and what killed processes left in any case, an "
                               "entry in use never");
  options.flag("--json", request.json, "for machines");
  if (action == "list") return options;
  const auto limit = [&](const char* name, std::optional<std::string>& value, const char* kind,
                         const char* help) {
    options.value(name, kind, help, CommandOptions::Words::kOne, "",
                  [&value](const std::vector<std::string>& words) { value = words.front(); });
  };
  limit("--older_than", request.older_than, "AGE", "not used for 30d; s, m, h, d, w");
  limit("--max_size", request.max_size, "SIZE", "until 20GiB is left; 0: none");
  options.flag("--dry_run", request.prune.dry_run, "only say what would go");
  return options;
}

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

void prune(const CommandContext& context, const CacheRequest& request) {
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

}  // namespace

ExitCode run_cache(const CommandContext& context) {
  const std::vector<std::string>& words = context.arguments;
  const std::string action = words.empty() ? "" : words.front();
  if (action != "list" && action != "prune") {
    if (answered(words, kCacheUsage, context)) return ExitCode::kDone;
    throw_unknown_action("hftrain cache", action, {"list", "prune"});
  }
  CacheRequest request;
  if (!cache_options(action, request).read({words.begin() + 1, words.end()}, context)) return ExitCode::kDone;
  read_limits(request);
  request.prune.now = std::time(nullptr);
  if (action == "list") {
    list(context, request.json);
  } else {
    prune(context, request);
  }
  return ExitCode::kDone;
}

}  // namespace hftrain::app
