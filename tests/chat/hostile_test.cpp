// Templates that want time or memory: each ends soon, with a message, however it is run.
#include <sys/resource.h>

#include <ctime>

#include "chat/chat_cases.h"
#include "support/catch.h"

namespace hftrain::chat {
namespace {

long peak_kilobytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

std::string repeated(const std::string& text, int times) {
  std::string made;
  for (int i = 0; i < times; ++i) made += text;
  return made;
}

}  // namespace

TEST_CASE("endless loops are stopped") {
  const std::string many =
      "{% for a in range(100000) %}{% for b in range(100000) %}{% for c in range(100000) %}";
  const std::string ends = "{% endfor %}{% endfor %}{% endfor %}";
  CHECK(refusal(many + "{% set x = 1 %}" + ends).find("takes more than 20,000,000 steps") !=
        std::string::npos);
  CHECK(refusal(many + "x" + ends).find("was stopped") != std::string::npos);
  CHECK(refusal("{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}").find("deep") !=
        std::string::npos);
  CHECK(refusal("{{ range(1000000000) | list }}").find("Range too big") != std::string::npos);
  CHECK(
      refusal(
          "{{ range(99999) | list | string | replace('', 'xx') | length }}{{ (range(99999) | list) * 9999 }}")
          .find("stopped") != std::string::npos);
}

TEST_CASE("large texts and lists are stopped before they are made") {
  const long before = peak_kilobytes();
  for (const char* source :
       {"{{ 'x' * 1000000000000 }}",
        "{{ [1] * 1000000000000 }}",
        "{{ 'x' * 9223372036854775807 }}",
        "{{ 'ab'.center(10000000000) }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '{:10000000000}'.format(1) }}",
        "{{ '{:010000000000,}'.format(1) }}",
        "{{ 'x' | indent(10000000000, true) }}",
        "{{ [[1]] | tojson(indent=10000000000) }}",
        "{{ ('x' * 100000) | replace('x', 'y' * 100000) }}",
        "{{ ('x' * 100000) | replace('', 'y' * 100000) }}",
        "{{ 'x'.zfill(99999999999) }}",
        "{{ [1] | batch(99999999999, 2) | list }}",
        "{{ [1] | slice(99999999999) | list }}",
        "{{ ('x' * 100000).join('y' * 100000) }}",
        "{% set n = namespace(s='ab') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
        "{% set n = namespace(s=[1]) %}{% for i in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}",
        "{% set n = namespace(s='x') %}{% for i in range(60) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ n.s "
        "}}",
        "{% set n = namespace(s='x') %}{% for i in range(60) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ n.s "
        "| tojson }}",
        "{% set n = namespace(s='x') %}{% for i in range(60) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ n.s "
        "== [n.s[0], n.s[0]] }}",
        "{% set a = 'x' * 1000000 %}{% for i in range(1000) %}{{ a }}{% endfor %}"}) {
    INFO(source);
    CHECK(refusal(source).find("was stopped") != std::string::npos);
  }
  CHECK(peak_kilobytes() - before < 1'000'000);
}

TEST_CASE("deep nesting is stopped") {
  for (const std::string& source :
       {"{{ " + repeated("(", 100000) + "1" + repeated(")", 100000) + " }}",
        "{{ " + repeated("[", 5000) + repeated("]", 5000) + " }}", "{{ " + repeated("not ", 100000) + "1 }}",
        "{{ " + repeated("-", 100000) + "1 }}", "{{ 1" + repeated(" + 1", 100000) + " }}",
        "{{ x" + repeated(".a", 100000) + " }}", "{{ x" + repeated(" | upper", 100000) + " }}",
        "{{ 1" + repeated(" if 1 else 1", 100000) + " }}",
        repeated("{% if 1 %}", 10000) + repeated("{% endif %}", 10000),
        "{% set " + repeated("(", 10000) + "a" + repeated(")", 10000) + " = 1 %}"}) {
    CHECK(refusal(source).find("deep") != std::string::npos);
  }
  const std::string nested = "{% set n = namespace(s=1) %}{% for i in range(1000) %}{% set n.s = ";
  CHECK(refusal(nested + "[n.s] %}{% endfor %}").find("deep") != std::string::npos);
  CHECK(refusal(nested + "{'a': n.s} %}{% endfor %}").find("deep") != std::string::npos);
  CHECK(refusal(nested + "[n.s] | map('list') %}{% endfor %}").find("deep") != std::string::npos);
  CHECK(render("{{ 1" + repeated(" ~ 1", 5000) + " }}") == std::string(5001, '1'));
}

TEST_CASE("rings of objects are let go of") {
  const std::string ring =
      "{% set n = namespace() %}{% set n.n = n %}{% macro m() %}{{ m }}{% endmacro %}{% set n.m = m %}";
  CHECK(render(ring +
               "{% for i in [1] recursive %}{% set n.l = loop %}{% macro q() %}{% endmacro %}{% set n.q = q "
               "%}{% endfor %}"
               "{% set y = n.q %}{% set z = n.l %}{% set c = cycler(n, m).next %}{{ c() is defined }}") ==
        "True");
  CHECK(refusal(ring + "{{ n }}").find("namespace that holds others") != std::string::npos);
}

TEST_CASE("searching takes linear time") {
  const std::string variables =
      "{\"a\": \"" + std::string(2'000'000, 'a') + "\", \"b\": \"" + std::string(1'000'000, 'a') + "b\"}";
  const std::clock_t start = std::clock();
  CHECK(render("{{ a.find(b) }}{{ a.rfind('b' ~ b) }}{{ a | replace(b, '') | length }}{{ b in a }}{{ "
               "a.split(b) | length }}",
               variables) == "-1-12000000False1");
  CHECK(std::clock() - start < 20 * CLOCKS_PER_SEC);
}

TEST_CASE("limits are what is given") {
  const Limits few{.steps = 100, .bytes = 10240, .depth = 20};
  CHECK(refusal("{% for i in range(100) %}{% endfor %}", "{}", few).find("more than 100 steps") !=
        std::string::npos);
  CHECK(refusal("{{ 'x' * 10241 }}", "{}", few).find("10.0 KiB") != std::string::npos);
  CHECK(render("{{ 'x' * 10 }}", "{}", few) == "xxxxxxxxxx");
  CHECK(refusal("{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}", "{}", {.depth = 20})
            .find("20 deep") != std::string::npos);
}

}  // namespace hftrain::chat
