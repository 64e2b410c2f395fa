#include "launcher/ssh/host_file.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "hftrain/base/byte_order_mark.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/printable.h"
#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"

namespace hftrain::launcher {
namespace {

constexpr int kMostSlots = 4096;

std::string place_in(const std::string& path, size_t line) {
  return path + ':' + std::to_string(line);
}

// "name slots=N"; nothing for another line.
std::optional<Host> parse_line(const std::string& line) {
  const std::vector<std::string> words = split_words(line);
  constexpr std::string_view kSlots = "slots=";
  if (words.size() != 2 || !words[1].starts_with(kSlots)) return std::nullopt;
  // No machine is called so, and everything that names it would go to the terminal.
  if (printable(words[0]) != words[0]) return std::nullopt;
  const std::optional<int> count = whole_number(std::string_view(words[1]).substr(kSlots.size()));
  if (!count || *count < 1 || *count > kMostSlots) return std::nullopt;
  Host host{words[0], std::vector<int>(static_cast<size_t>(*count)), false};
  std::iota(host.slots.begin(), host.slots.end(), 0);
  return host;
}

// ssh would take it for an option; no name of a machine begins like this.
bool looks_like_option(const std::string& name) {
  return name.front() == '-' || name.find("@-") != std::string::npos;
}

// One host of a filter; without slots the whole host is meant.
struct Named {
  std::string host;
  std::vector<int> slots;
};

Error bad_filter(const std::string& flag, const std::string& text, const std::string& why,
                 const std::string& path) {
  return Error(ExitCode::kUsage, flag + " '" + printable(text) + "' does not fit the host file")
      .where("--" + flag + ", " + path)
      .why(printable(why))
      .hint("host, host:0,2, or several of them joined by @");
}

std::vector<Named> parse_filter(const std::string& flag, const std::string& text,
                                const std::vector<Host>& hosts, const std::string& path) {
  std::vector<Named> named;
  for (const std::string& part : split(text, '@')) {
    const size_t colon = part.find(':');
    Named one{trim(part.substr(0, colon)), {}};
    const auto host =
        std::find_if(hosts.begin(), hosts.end(), [&](const Host& each) { return each.name == one.host; });
    if (host == hosts.end()) throw bad_filter(flag, text, "there is no host '" + one.host + "' in it", path);
    if (colon != std::string::npos) {
      for (const std::string& word : split(std::string_view(part).substr(colon + 1), ',')) {
        const std::optional<int> slot = whole_number(trim(word));
        if (!slot || std::find(host->slots.begin(), host->slots.end(), *slot) == host->slots.end())
          throw bad_filter(flag, text,
                           "host " + one.host + " has the slots 0 to " +
                               std::to_string(host->slots.size() - 1) + ", not '" + word + "'",
                           path);
        one.slots.push_back(*slot);
      }
    }
    named.push_back(std::move(one));
  }
  return named;
}

std::vector<Host> included(const std::vector<Host>& hosts, const std::vector<Named>& filter) {
  std::vector<Host> left;
  for (Host host : hosts) {
    std::vector<int> slots;
    bool whole = false, named = false;
    for (const Named& each : filter) {
      if (each.host != host.name) continue;
      named = true;
      whole = whole || each.slots.empty();
      slots.insert(slots.end(), each.slots.begin(), each.slots.end());
    }
    if (!named) continue;
    if (!whole) {
      std::sort(slots.begin(), slots.end());
      slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
      host.slots = slots;
      host.chosen = true;
    }
    left.push_back(std::move(host));
  }
  return left;
}

std::vector<Host> not_excluded(std::vector<Host> hosts, const std::vector<Named>& filter) {
  for (const Named& each : filter) {
    for (Host& host : hosts) {
      if (host.name != each.host) continue;
      if (each.slots.empty()) host.slots.clear();
      const size_t removed = std::erase_if(host.slots, [&](int slot) {
        return std::find(each.slots.begin(), each.slots.end(), slot) != each.slots.end();
      });
      host.chosen = host.chosen || removed > 0;
    }
  }
  std::erase_if(hosts, [](const Host& host) { return host.slots.empty(); });
  return hosts;
}

}  // namespace

std::vector<Host> parse_host_file(std::string_view text, const std::string& path) {
  std::vector<Host> hosts;
  std::vector<Diagnostic> problems;
  size_t number = 0;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (const std::string& line : split(text, '\n')) {
    ++number;
    const std::string content = trim(std::string_view(line).substr(0, line.find('#')));
    if (content.empty()) continue;
    std::optional<Host> host = parse_line(content);
    if (!host) {
      problems.push_back({.what = "this line of the host file is not 'name slots=N'",
                          .where = place_in(path, number),
                          .why = "it is '" + printable(content) + "'",
                          .hint = "worker-0 slots=4"});
    } else if (looks_like_option(host->name)) {
      const bool behind_user = host->name.front() != '-';
      problems.push_back({.what = "the name '" + host->name + "' in the host file " +
                                  (behind_user ? "names a machine that begins" : "begins") + " with '-'",
                          .where = place_in(path, number),
                          .why = "the remote shell would take it for an option",
                          .hint = "worker-0 slots=4"});
    } else if (std::any_of(hosts.begin(), hosts.end(),
                           [&](const Host& each) { return each.name == host->name; })) {
      problems.push_back({.what = "host " + host->name + " stands twice in the host file",
                          .where = place_in(path, number),
                          .why = "every machine gets one front program, and this would be its second",
                          .hint = "one line a machine, with all its slots"});
    } else {
      hosts.push_back(std::move(*host));
    }
  }
  if (hosts.empty() && problems.empty())
    problems.push_back({.what = "the host file names no machine",
                        .where = path,
                        .why = "it is empty, or all of it is comment",
                        .hint = "lines like 'worker-0 slots=4'"});
  if (!problems.empty()) throw Error(ExitCode::kUsage, std::move(problems));
  return hosts;
}

std::vector<Host> choose_hosts(std::vector<Host> hosts, const arguments::LaunchArguments& launch,
                               const std::string& path) {
  if (!launch.include.empty()) hosts = included(hosts, parse_filter("include", launch.include, hosts, path));
  if (!launch.exclude.empty()) {
    const std::vector<Named> filter = parse_filter("exclude", launch.exclude, hosts, path);
    hosts = not_excluded(std::move(hosts), filter);
  }
  if (hosts.empty())
    throw Error(ExitCode::kUsage, "no machine of the host file is left")
        .where("--exclude, " + path)
        .why("exclude '" + printable(launch.exclude) + "' takes all of them")
        .hint("leave at least one host, or one slot of one, out of --exclude");
  if (launch.num_nodes > static_cast<int64_t>(hosts.size()))
    throw Error(ExitCode::kUsage, "the host file has fewer machines than num_nodes")
        .where("--num_nodes, " + path)
        .why(std::to_string(hosts.size()) + (hosts.size() == 1 ? " machine" : " machines") + ", num_nodes " +
             std::to_string(launch.num_nodes))
        .hint("--num_nodes " + std::to_string(hosts.size()) + ", or more lines in the host file");
  if (launch.num_nodes > 0) hosts.resize(static_cast<size_t>(launch.num_nodes));
  return hosts;
}

std::vector<Host> read_hosts(const arguments::LaunchArguments& launch) {
  return choose_hosts(parse_host_file(read_file(launch.hostfile, ExitCode::kUsage), launch.hostfile), launch,
                      launch.hostfile);
}

}  // namespace hftrain::launcher
