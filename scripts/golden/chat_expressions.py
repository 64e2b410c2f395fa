"""Small templates, each for one part of the language of chat templates; and random ones."""
import random

VARIABLES = {
    "n": 7, "zero": 0, "half": 0.5, "neg": -3, "big": 123456789.25, "s": "Hello World", "low": "abc", "empty": "", "uni": "Éa ß漢🙂\u00a0x",
    "t": True, "f": False, "none": None, "nums": [3, 1, 2, 2], "words": ["b", "A", "c", "a"], "mixed": [1, "a", None, True, 2.5, [1], {"k": "v"}],
    "d": {"b": 1, "a": [1, 2], "items": "own", "C": None}, "users": [{"name": "Zoe", "age": 30, "tags": ["x"]}, {"name": "adam", "age": 25},
                                                                    {"name": "Bob", "age": 30, "tags": []}],
    "lines": "one\ntwo\n\n  three\r\nfour", "padded": "  x y  \n", "html": "<a href='x'>&\"</a>", "digits": "42", "nested": {"a": {"b": {"c": [10, 20]}}},
}

EXPRESSIONS = r"""
1 + 2 * 3 ** 2
-2 ** 2
7 // 2, -7 // 2, 7 // -2, 7 % 3, -7 % 3, 7 % -3
7 / 2, 6 / 2, 2 ** -1, 2 ** 0.5
7.5 // 2, -7.5 // 2, 7.5 % 2, -7.5 % 2, 1e16 + 1, 1e-5, 123456789012345678.0, 1.0, 1e22, 0.1 + 0.2
1 / 0
1 // 0
1 % 0
+t, -t, t + t, t * 3, not t, not ''
1_000 + 0x1F + 0b11 + 0o17 + 00
1.5e3, 1e3, 1_0.2_5
'a' 'b' "c"
'a' + 'b', 'ab' * 3, 3 * 'ab', 'ab' * -1, [1] * 2, [1] + [2], (1,) + (2, 3)
'a' + 1
[1] + (2,)
'a' ~ 1 ~ none ~ true ~ 1.0 ~ [1, 'x'] ~ missing ~ {}
1 < 2 < 3, 1 < 3 < 2, 1 == 1.0, true == 1, 'a' < 'b', [1, 2] < [1, 3], (1, 2) == (1, 2), [1] == (1,)
1 < 'a'
none < 1
missing < 1
missing == other, missing == none, missing != other
2 in nums, 5 not in nums, 'ell' in s, '' in s, 'b' in d, 'z' in d, 1 in range(3), 'x' in missing
1 in s
1 in 5
n is divisibleby 7, n is odd, n is even, n is not odd
n is number, half is number, t is number, s is number
n is integer, t is integer, half is float, n is float
s is string, n is string, d is mapping, nums is mapping, nums is iterable, s is iterable, n is iterable
nums is sequence, s is sequence, d is sequence, n is sequence, missing is sequence
none is none, none is defined, missing is defined, missing is undefined, missing is none
t is true, t is false, f is false, n is true, t is boolean, none is boolean
n is eq 7, n is ne 3, n is lt 10, n is gt(3), n is ge 7, n is le 6, n is in [7, 8], n is equalto 7, n is sameas 7
none is sameas none, t is sameas true, d is sameas d
'abc' is lower, 'ABC' is upper, '' is lower, 'A1' is upper
'upper' is filter, 'nofilter' is filter, 'odd' is test, range is callable, n is callable
n is nosuchtest
'a' if t else 'b', 'a' if f else 'b', 'a' if f
('a' if f) is defined
'a' if f else 'b' if f else 'c'
t and 'x', f and 'x', f or 'y', '' or none or 0, none and x.y
not t or t and f
s[0], s[-1], s[1:4], s[::-1], s[:5], s[6:], s[-5:], s[::2], s[5:1:-1], s[100], s[100:]
uni[0], uni[1:3], uni[::-1], uni | length, uni[-2]
nums[0], nums[-1], nums[1:], nums[::-1], nums[10], nums['0'], nums[true]
nums[1.0]
(1, 2, 3)[1:], range(10)[2:5], range(10)[-1], range(10)[::3] | list
n[0], none.x, none['x']
n[1:]
missing.x
missing[0]
missing.x.y
d.b, d['b'], d.a[0], d.nope, d['nope'], d.items is callable, d['items'], d.get('b'), d.get('z'), d.get('z', 9)
d.items() | list, d.keys() | list, d.values() | list, d | list, d | length
d.items(), d.keys(), d.values()
d.pop('b')
nums.append(1)
nested.a.b.c[1], nested['a']['b'].c, nested.a.b.c.1
users[0].name, users.0.name, users | map(attribute='name') | list, [[1, 2], [3]] | map(attribute='0') | list
users | map(attribute='tags', default='-') | list, users | map('length') | list
users | selectattr('age', 'gt', 26) | map(attribute='name') | join(', ')
users | rejectattr('tags') | map(attribute='name') | list, users | selectattr('tags', 'defined') | list | length
nums | select('odd') | list, nums | reject('odd') | list, mixed | select | list, mixed | reject | list, mixed | select('string') | list
words | sort, words | sort(reverse=true), words | sort(case_sensitive=true), users | sort(attribute='age,name') | map(attribute='name') | list
nums | sort, nums | unique | list, words | unique | list, words | unique(case_sensitive=true) | list
mixed | sort
nums | min, nums | max, words | min, words | max, [] | min, users | max(attribute='age')
nums | sum, users | sum(attribute='age'), [] | sum, nums | sum(start=10), [[1], [2]] | sum(start=[])
['a'] | sum
nums | first, nums | last, [] | first, [] | last, s | first, s | last, d | first, d | last, range(3) | last
(nums | map('string')) | last
nums | length, s | count, range(4) | length, missing | length
n | length
none | length
(nums | map('string')) | length
nums | join, nums | join('-'), words | join(', '), users | join('|', attribute='name'), s | join('.'), missing | join, mixed | join(';')
nums | reverse | list, s | reverse, d | reverse | list, range(3) | reverse | list, d.items() | reverse | list
nums | batch(3) | list, nums | batch(3, 'x') | list, nums | slice(3) | list, nums | slice(3, 'x') | list
users | groupby('age') | map(attribute='grouper') | list, (users | groupby('age'))[0].list | length, users | groupby('age') | list | length
d | dictsort, d | dictsort(true), d | dictsort(reverse=true), {'x': 2, 'y': 1} | dictsort(by='value')
d | items | list, missing | items | list
n | items | list
s | upper, s | lower, s | title, s | capitalize, low | capitalize, 'foo-bar (baz) [q' | title, 5 | upper
uni | upper, uni | lower, 'ΑΣ ΟΔΟΣ' | lower, 'ǆ' | title, 'straße' | upper, 'ﬁx' | capitalize, 'İ' | lower | length
padded | trim, padded | trim(' '), 'xxaxx' | trim('x'), none | trim, 5 | trim
s | replace('o', '0'), s | replace('o', '0', 1), s | replace('', '-'), 'aaa' | replace('aa', 'b'), 5 | replace(5, 6)
missing | default('x'), none | default('x'), none | default('x', true), '' | d('e', boolean=true), missing | default
digits | int, '4x' | int, '4x' | int(9), '42.9' | int, 42.9 | int, -42.9 | int, '0x1f' | int(0, 16), ' 7 ' | int, none | int, '1_0' | int, t | int
missing | int
digits | float, 'x' | float, 'x' | float(1.5), '1e3' | float, n | float, '-.5' | float
neg | abs, -2.5 | abs, half | round, 2.5 | round, 3.5 | round, 2.675 | round(2), n | round, 1234.5 | round(-2), 42.55 | round(1, 'floor'), 42.51 | round(1, 'ceil'), 7 | round(2, 'floor')
big | round(1), 0.125 | round(2), 15 | round(-1), 25 | round(-1), -0.4 | round
n | string, none | string, [1, 'a'] | string, s | list
html | e, html | escape | escape, html | safe, html | forceescape, (html | safe) + '<', '<' + (html | safe), (html | e) ~ '<'
lines | indent, lines | indent(2, true), lines | indent('> ', first=true, blank=true), 'x' | indent
s | truncate(8), s | truncate(8, true), s | truncate(8, false, '…', 0), s | center(20), s | wordcount, 'a b' | urlencode
1000 | filesizeformat, 1 | filesizeformat, 999 | filesizeformat, 1500000 | filesizeformat, 2048 | filesizeformat(true)
'%s is %d' | format('x', 3), '%(a)s' | format(a=1), '%5.2f|%-5s|%05d|%x|%%' % (1.234, 'ab', 42, 255), '%s' % [1], '%r' % 'a', '%s' % none
'%d' % 'x'
'%s %s' % 'x'
'%s' % (1, 2)
'%5d|%+d|% d|%e|%g|%c|%o|%#x|%.3s|%10.3f|%s' % (3, 3, 3, 12345.678, 0.0001, 'x', 8, 255, 'abcdef', 3.14159, t)
'{} {}'.format(1, 'a'), '{1}{0}'.format('a', 'b'), '{x}'.format(x=2), '{:>5}|{:<5}|{:^5}|'.format(1, 'a', 'b'), '{:05.1f}'.format(2.25)
'{:,}'.format(1234567), '{:_}'.format(1234567), '{:x} {:b} {:o} {:X} {:#x}'.format(255, 5, 8, 255, 255), '{:+d} {: d}'.format(5, 5), '{:%}'.format(0.25), '{:.2%}'.format(0.256)
'{0[a]} {0[b]}'.format({'a': 1, 'b': 2}), '{0.name}'.format(users[0]), '{{}}'.format(), '{!r}'.format('x'), '{:*^9}'.format('mid'), '{:.3}'.format('abcdef')
'{:.3}'.format(1.0), '{:.3}'.format(123456.0), '{:g}'.format(1e10), '{:e}'.format(12.5), '{:10}|'.format(1.5), '{:,.2f}'.format(1234567.891), '{:010,}'.format(1234), '{}'.format([1])
'{:d}'.format('x')
'{} {1}'.format(1, 2)
'{}'.format()
s.upper(), s.lower(), s.title(), s.capitalize(), s.swapcase(), "they're x2y".title()
padded.strip(), padded.lstrip(), padded.rstrip(), 'xxhixx'.strip('x'), 'abchicba'.strip('abc'), 'xxhi'.lstrip('x'), 'éxé'.strip('é')
'a,b,,c'.split(','), ' a  b '.split(), 'a,b,c'.split(',', 1), ''.split(), ''.split(','), 'a b c'.rsplit(' ', 1), ' a  b c '.rsplit(maxsplit=1), ' a  b c '.split(none, 1)
lines.splitlines(), lines.splitlines(true), 'a=b=c'.partition('='), 'a=b=c'.rpartition('='), 'abc'.partition('='), 'abc'.rpartition('=')
''.split('')
s.startswith('Hell'), s.startswith(('x', 'H')), s.endswith('d'), s.endswith(('d', 'x')), s.startswith('W', 6), s.startswith('W', -5, 8), s.startswith('')
s.startswith(1)
s.find('o'), s.rfind('o'), s.find('z'), s.index('W'), s.count('o'), s.find('o', 5), s.count('o', 5), s.find('', 3), uni.find('漢'), s.rfind('o', 0, 5), s.count('')
s.index('z')
s.replace('l', 'L'), s.replace('l', 'L', 2), s.replace('', '.', 3), ','.join(words), ''.join([])
','.join(nums)
'abc'.isalpha(), 'ab1'.isalnum(), '12'.isdigit(), '²'.isdigit(), '²'.isdecimal(), '½'.isnumeric(), ' '.isspace(), ''.isspace(), 'Ab'.istitle(), 'ab'.islower(), 'AB'.isupper(), 'é'.isascii(), 'a_1'.isidentifier(), '1a'.isidentifier(), 'a\n'.isprintable()
'7'.zfill(3), '-7'.zfill(4), 'ab'.center(5, '*'), 'ab'.center(6), 'abc'.center(6), 'ab'.ljust(4, '.'), 'ab'.rjust(4, '.'), 'prefix-x'.removeprefix('prefix-'), 'x.py'.removesuffix('.py')
nums.index(2), nums.count(2), (1, 2, 2).count(2), nums.copy()
nums.index(9)
[1, 'a', "it's", 'q"q', "both'\"", none, true, 1.5, missing, {'k': [1]}, (1,), ()]
['\n\t\\', '\x00\x7f', 'é🙂\u00a0\u200b', '\x85']
{'a': 1, 2: 'b', none: 3, 1.5: 4, (1, 2): 5, true: 6}, {1: 'a', true: 'b', 1.0: 'c'}
{[1]: 2}
range(5) | list, range(2, 8, 3) | list, range(5, 0, -2) | list, range(0), range(1, 3), range(0, 6, 2), range(3) | string
range(100001)
range(1, 2, 0)
dict(a=1, b=2), dict({'a': 1}, b=2), dict([('x', 1)]), dict()
namespace(a=1, b='x').a, namespace({'q': 2}).q, namespace().zzz is defined
cycler('a', 'b').next(), joiner(', ')()
d | tojson, mixed | tojson, s | tojson, uni | tojson, uni | tojson(ensure_ascii=true), none | tojson, '</script>\u2028\x07\x7f' | tojson
d | tojson(indent=2), nested | tojson(indent=1), [] | tojson(indent=2), [[], {}, [1]] | tojson(indent=2), d | tojson(separators=(',', ':')), d | tojson(sort_keys=true), [1, [2]] | tojson(indent='\t'), d | tojson(indent=0)
{1: 2, none: 3, true: 4, 1.5: 5} | tojson, (1, 2) | tojson, 1.0 | tojson, 'nan' | float | tojson
missing | tojson
range(3) | tojson
{(1, 2): 3} | tojson
strftime_now('%d %b %Y %H:%M:%S %A %B %j %%'), strftime_now('%Y-%m-%d'), strftime_now('%f|%z|%Z|')
raise_exception('no: ' ~ n)
undefined_function()
n()
s.nope()
s | nosuchfilter
nosuch.thing | default('x')
(nosuch | default({})).thing | default('y')
[x, y] is defined
s is string and n is number or nosuch
(nums | select('gt', 1) | list)[0], ('a', 'b') | join, 'x' in ['x', 'y'] and 'y' not in ('x',)
-n | abs, -1 | string, (1, 2) | length, 1 in [1] == true
loop
s.__class__ is defined, s.__len__, d.__class__ is defined, s._x is defined
s.__class__.__mro__
users | attr('x'), s | attr('upper') is callable, d | attr('b') is defined
d.update({'a': 1})
[1, 2, 3] | map('string') | join('+'), [[3, 4], [5]] | map('sum') | list, ['a', 'b'] | map('upper') | list, [1.5, 2.5] | map('round') | list, ['a:b'] | map('replace', ':', '=') | list
nums | map | list
nums | map('nosuch') | list
[] | map('nosuch') | list
d.a is iterable and d.a is not string and d.a is not mapping
'a' < 'B', 'é' > 'z', '🙂' > '漢', 'a' <= 'a', none == none, none != 0, [] == [], {} == {}, {'a': 1} == {'a': 1.0}
0.1 + 0.2 == 0.3, 1 == true, '1' == 1, 5 | float == 5
9223372036854775807 - 1, -9223372036854775807 - 1, 4611686018427387904 + 4611686018427387903
10 ** 15, 2 ** 62, 7 ** 20, (-2) ** 3, 0 ** 0, 2.0 ** 3, (-8) // 3, 5.5 // -2, -0.0
""".strip("\n").replace("\\\n\"", "\\\n\"").split("\n")

STATEMENTS = [
    "{% for x in nums %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}"
    "{{ loop.previtem }}{{ loop.nextitem }}{{ loop.depth }}{{ loop.cycle('a', 'b') }}{{ loop.changed(x) }};{% endfor %}",
    "{% for x in nums if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }}{{ ',' if not loop.last }}{% else %}none{% endfor %}",
    "{% for x in nums if x > 9 %}{{ x }}{% else %}none {{ x is defined }}{% endfor %}",
    "{% for x in nums | select('odd') %}{{ loop.last }}{{ loop.length }}{{ loop.nextitem is defined }} {% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}|{% for k in d %}{{ k }}{% endfor %}|{% for (a, b), c in [((1, 2), 3)] %}{{ a + b + c }}{% endfor %}",
    "{% for a, b in [1, 2] %}{{ a }}{% endfor %}",
    "{% for a, b in [[1, 2, 3]] %}{{ a }}{% endfor %}",
    "{% for x in 5 %}{% endfor %}",
    "{% for x in none %}{% endfor %}",
    "{% for x in missing %}a{% else %}b{% endfor %}",
    "{% for c in uni %}[{{ c }}]{% endfor %}",
    "{% for x in nums %}{% if x == 1 %}{% continue %}{% endif %}{% if loop.index == 4 %}{% break %}{% endif %}{{ x }}{% else %}e{% endfor %}",
    "{% for x in nums %}{% for y in [] %}{% else %}{% break %}{% endfor %}{{ x }}{% endfor %}!",
    "{% break %}",
    "{% for x in nums %}{% set y %}{% endset %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}",
    "{% for x in nums %}{% for y in 'ab' %}{{ loop.index }}{{ y }}{% endfor %}{{ loop.index }}{% endfor %}",
    "{% for x in [[1, [2]], [3]] recursive %}<{% if x is iterable %}{{ loop(x) }}{% else %}{{ x }}@{{ loop.depth }}{{ loop.depth0 }}{% endif %}>{% endfor %}",
    "{% for x in nums %}{{ loop([1]) }}{% endfor %}",
    "{% set x = 1 %}{% for i in nums %}{{ x }}{% set x = i %}{{ x }}{% endfor %}{{ x }}",
    "{% set ns = namespace(x=0) %}{% for i in nums %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}{{ ns }}",
    "{% set d.x = 1 %}",
    "{% set nosuch.x = 1 %}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set c = 1, 2 %}{{ c }}{% set (e, g) = 'xy' %}{{ e ~ g }}",
    "{% set x %}a{{ n }}b{% set y = 5 %}{% endset %}{{ x }}{{ y is defined }}",
    "{% set x | upper | replace('A', 'z') %}abc{% endset %}{{ x }}",
    "{% if n == 7 %}a{% elif true %}b{% else %}c{% endif %}{% if f %}a{% elif t %}b{% else %}c{% endif %}{% if f %}a{% elif f %}b{% else %}c{% endif %}{% if f %}x{% endif %}",
    "{% if t %}{% set v = 1 %}{% endif %}{{ v }}{% if f %}{% set w = 1 %}{% endif %}{{ w }}",
    "{% macro m(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }}|{{ m(1, c=5) }}|{{ m(b=1, a=0) }}|{{ m() }}|{{ m.name }}{{ m.arguments }}{{ m }}",
    "{% macro m(a) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=2) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, a=2) }}",
    "{% macro m() %}{{ x }}{% endmacro %}{% set x = 3 %}{{ m() }}{% for x in [9] %}{{ m() }}{% endfor %}",
    "{% macro f(k) %}{{ k }}{% if k > 0 %}{{ f(k - 1) }}{% endif %}{% endmacro %}{{ f(5) }}",
    "{% macro m(x) %}<{{ caller(x) }}>{% endmacro %}{% call(y) m(4) %}{{ y }}{{ n }}{% endcall %}",
    "{% macro m() %}<{{ caller() if caller is defined else '-' }}>{% endmacro %}{{ m() }}{% call m() %}in{% endcall %}",
    "{% macro m() %}x{% endmacro %}{% call m() %}in{% endcall %}",
    "{% macro m() %}{% set q = 1 %}{{ q }}{% endmacro %}{{ m() }}{{ q is defined }}",
    "{% macro out(x) %}{% macro inner(y) %}{{ x }}{{ y }}{% endmacro %}{{ inner(2) }}{% endmacro %}{{ out(1) }}",
    "{% with a = 1, b = n %}{{ a + b }}{% set c = 3 %}{{ c }}{% endwith %}{{ a is defined }}{{ c is defined }}",
    "{% filter upper | replace('B', '!') %}abc{{ n }}{% endfilter %}",
    "{% generation %}abc{% endgeneration %}x{% generation %}{{ uni }}{% endgeneration %}",
    "é{% for m in [1, 2] %}u{% generation %}a{{ m }}🙂{% endgeneration %}{% endfor %}",
    "{% set z %}ab{% generation %}cd{% endgeneration %}{% endset %}x{{ z }}{% macro m() %}q{% generation %}r{% endgeneration %}{% endmacro %}{{ m() }}",
    "{% generation %}{% set h = 1 %}{% endgeneration %}{{ h is defined }}{% for x in nums %}{% generation %}{{ loop.index }}{{ x }}{% endgeneration %}{% endfor %}",
    "{% print n, s %}{% print(1) %}",
    "{# comment #}a{#- x -#} b{# multi\nline #}\nc",
    "a\n{% if t %}\nb\n{% endif %}\nc\n",
    "  {% if t %}  \n  b\n  {%- endif %}\n  c {{- n -}} \n d",
    "  {%+ if t %}x{%+ endif +%}\n y",
    "x {% if t -%}\n\n a {%- endif -%} \n b",
    "x\n   {# c #}\n  y {# d #}\nz",
    "x\n   {#- c -#}\n  y\n\n",
    "{% raw %}{{ x }}{% if %}{% endraw %} a {%- raw -%} \n b {%- endraw -%} c",
    "  {% raw %}\n a\n  {% endraw %}\nb",
    "{{- n -}}\n{{+ n }}",
    "a\r\nb\rc\n\n",
    "{{ {'a': {'b': 1}} }}{{ {} }}{{ {'x': [{}]}['x'] }}",
    "{{ '}}' }}{{ \"%}\" }}{{ '{{' }}",
    "\u00a0 {% if t %}x{% endif %}",
    "{% if t %}{{ 'x' | nosuch if f else 'ok' }}{% endif %}",
    "{% if f %}{{ 'x' | nosuch }}{% endif %}fine",
    "{{ 'x' | nosuch if f else 'ok' }}",
    "{% for loop in nums %}{% endfor %}",
    "{% set true = 1 %}",
    "{% nosuchtag %}",
    "{% if t %}",
    "{% endif %}",
    "{{ n",
    "{{ n }",
    "{{ }}",
    "{% for x in %}{% endfor %}",
    "{{ (1 }}",
    "{{ [1, 2 }}",
    "{{ 'abc }}",
    "{# never",
    "{% raw %}never",
    "{{ 1 2 }}",
    "{{ a.b.c( }}",
    "{{ n is }}",
    "{{ x is defined is defined }}",
    "{{ f(**d, 1) }}",
    "{{ f(a=1, 2) }}",
    "{{ dict(*[[('a', 1)]], **{'z': 2}) }}{{ dict(**{'z': 2}, **d) }}",
    "{{ dict(*[[('a', 1)]], **{'z': 2}) }}",
    "{{ range(*[1, 4]) | list }}",
    "{% macro m(a=1, b) %}{% endmacro %}",
    "{% call 5 %}{% endcall %}",
    "{{ x ? y }}",
    "{{ 5 . upper }}",
    "{{ not not t }}{{ not t is false }}{{ n is not none and not f }}",
    "{% set x = namespace() %}{% set x.a %}block{% endset %}{{ x.a }}{% set x.b, y = 1, 2 %}{{ x.b }}{{ y }}",
    "{% set c = cycler(1, 2) %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.current }}{% set j = joiner('|') %}{{ j() }}a{{ j() }}b{{ j() }}",
    "{% set it = nums | map('string') %}{{ it | list }}{{ it | list }}{{ 'yes' if it }}{{ 'yes' if [] | map('string') }}",
    "{% set messages = messages + [{'role': 'x'}] %}{{ messages | length }}{% set loop_messages = messages[1:] %}{{ loop_messages }}",
    "{% for m in users %}{% set ns = namespace(found=false) %}{% for t in m.tags or [] %}{% set ns.found = true %}{% endfor %}{{ ns.found }}{% endfor %}",
    "{% for x in nums: %}{{ x }}{% endfor %}{% if t: %}y{% endif %}",
    "{{ users | tojson(indent=2) | indent(4) }}",
    "{{ '\\x41\\u00e9\\101\\q\\'\\\"\\\\ \\t\\é\\U0001f642' }}{{ \"a\\\nb\" }}",
    "{{ '\\x4' }}",
    "{{ d['a' ~ ''] }}{{ d[low[0]] }}{{ nums[n - 6] }}{{ nums[nums | length - 1] }}{{ nums[-(1)] }}",
    "{%- for i in range(3) -%}\n  {{ i }}\n{%- endfor %}\nend",
    "{{ 1 if 0 else 2 if 0 else 3 }}{{ (1, 2) if t else 3 }}{{ [1, 2, 3][1] }}{{ 'abc'[1] }}{{ {'a': 1}.a }}{{ (1,)[0] }}",
    "{{ -1 | abs }}{{ 2 * -3 }}{{ 2 - -3 }}{{ 1 - 1 - 1 }}{{ 2 ** 3 ** 2 }}{{ 10 - 2 * 3 + 4 / 2 }}{{ 'a' ~ (1 + 2) }}{{ 1 ~ 2 * 3 }}{{ 'x' + 'a' ~ 1 + 'b' }}",
]


def all_sources():
    for line in EXPRESSIONS:
        if line.endswith("\\") or line == '"':
            continue
        yield "{{ [" + line + "] }}" if not line.startswith(("[", "{", "(")) or ", " in line else "{{ " + line + " }}"
        yield "{{ " + line + " }}"
    yield from STATEMENTS


class Maker:
    """Random templates: well-formed, often meaningless."""

    ATOMS = ["n", "zero", "half", "neg", "s", "low", "empty", "uni", "t", "f", "none", "nums", "words", "mixed", "d", "users", "lines", "padded",
             "html", "digits", "nested", "missing", "1", "2", "-1", "0", "1.5", "'a'", "'o'", "''", "' '", "'\\n'", "'é🙂'", "[]", "{}", "()", "[1, 'x']", "{'a': 1}",
             "true", "none", "range(3)", "users[0]", "d.a", "x", "loop.index", "ns.v"]
    NAMES = ["n", "s", "uni", "nums", "words", "mixed", "d", "users", "lines", "missing", "d.a", "x"]
    FILTERS = ["upper", "lower", "title", "capitalize", "trim", "length", "list", "first", "last", "join", "join(', ')", "string", "int", "float", "abs",
               "round", "round(1)", "sort", "unique | list", "reverse", "sum", "min", "max", "tojson", "tojson(indent=1)", "default('q')", "default('q', true)",
               "replace('a', 'bb')", "e", "indent", "indent(2, true)", "items | list", "dictsort", "batch(2) | list", "map('upper') | list", "map(attribute='name') | list",
               "select('string') | list", "reject('none') | list", "selectattr('age') | list", "map('string') | join('/')", "truncate(5, true, '.')", "wordcount", "center(9)"]
    TESTS = ["defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "true", "false", "mapping", "iterable", "sequence", "odd", "even",
             "divisibleby 2", "eq 1", "in nums", "lower", "upper", "callable"]
    METHODS = ["upper()", "lower()", "strip()", "split()", "split('o')", "split('o', 1)", "title()", "startswith('H')", "endswith('d')", "replace('o', 'e')", "find('l')",
               "items() | list", "keys() | list", "get('a')", "get('zz', 3)", "name", "a", "0", "splitlines()", "lstrip('H')", "rstrip('d')", "count('l')", "isdigit()"]
    BINARY = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", ">", "<=", ">=", "in", "not in", "and", "or"]

    def __init__(self, rng):
        self.rng = rng

    def expression(self, depth=3):
        rng = self.rng
        if depth == 0 or rng.random() < 0.15:
            return rng.choice(self.ATOMS)
        kind = rng.randrange(9)
        inner = lambda: self.expression(depth - 1)
        if kind <= 1:
            return f"({inner()} {rng.choice(self.BINARY)} {inner()})"
        if kind <= 3:
            return f"({inner()}) | {rng.choice(self.FILTERS)}"
        if kind == 4:
            return f"({inner()} is {rng.choice(['', 'not '])}{rng.choice(self.TESTS)})"
        if kind == 5:
            return f"({inner()}).{rng.choice(self.METHODS)}"
        if kind == 6:
            return f"({inner()} if {inner()} else {inner()})"
        if kind == 7:
            # Jinja calculates constants before it renders, and makes an undefined value of the slice of one that has none.
            if rng.random() < 0.5:
                return f"{rng.choice(self.NAMES)}[{rng.choice(['1:', ':2', '::-1', '1:3', '-2:', '::2'])}]"
            index = rng.choice(["0", "-1", "'a'", "'name'"])
            return f"({inner()})[{index}]"
        return rng.choice([f"[{inner()}, {inner()}]", f"({inner()}, {inner()})", "{'k': %s, 'a': %s}" % (inner(), inner()), f"(not {inner()})"])

    def space(self):
        return self.rng.choice(["", "", " ", "\n", "  ", "\n  ", " \n", "x", "é "])

    def tag(self, inside, kind="%"):
        opening, closing = ("{{", "}}") if kind == "{" else ("{%", "%}")
        return opening + self.rng.choice(["", "", "-"]) + f" {inside} " + self.rng.choice(["", "", "-"]) + closing + self.space()

    def block(self, depth):
        rng = self.rng
        return self.space() + "".join(self.statement(depth - 1) for _ in range(rng.randint(1, 3)))

    def statement(self, depth):
        rng = self.rng
        kind = rng.randrange(12) if depth > 0 else rng.randrange(4)
        if kind <= 3:
            return self.tag(self.expression(rng.randint(1, 3)), "{")
        if kind == 4:
            return self.tag(f"set x = {self.expression(2)}")
        if kind == 5:
            return self.tag(f"set ns.v = {self.expression(2)}")
        if kind == 6:
            return self.tag(f"if {self.expression(2)}") + self.block(depth) + self.tag("else") + self.block(depth) + self.tag("endif")
        if kind <= 9:
            test = rng.choice(["", "", " if x"])
            other = self.tag("else") + self.block(depth) if rng.random() < 0.3 else ""
            iterable = rng.choice(["nums", "words", "users", "d", "range(3)", "'ab'", "d.items()", "[]", self.expression(1)])
            return self.tag(f"for x in {iterable}{test}") + self.block(depth) + other + self.tag("endfor")
        if kind == 10:
            return self.tag("set x") + self.block(depth) + self.tag("endset")
        return self.tag("generation") + self.block(depth) + self.tag("endgeneration")

    def template(self):
        return "{% set ns = namespace(v=1) %}" + self.space() + "".join(self.statement(3) for _ in range(self.rng.randint(1, 3)))


def random_sources(count, seed):
    maker = Maker(random.Random(seed))
    for i in range(count):
        yield "{{ " + maker.expression(3) + " }}" if i % 2 == 0 else maker.template()
