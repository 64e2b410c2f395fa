#include "hftrain/report/page_assets.h"

namespace hftrain::report {

const char* const kStyle = R"css(
:root { color-scheme: light dark; --ground: #fff; --card: #f7f8fa; --ink: #1b1f24; --faint: #626a75; --line: #d9dde3;
  --c0: #2563eb; --c1: #d9480f; --c2: #0b7a55; --c3: #a21caf; --c4: #b58900; --c5: #0e7490; --c6: #be123c; --c7: #64748b; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171b; --card: #1c2026; --ink: #e6e9ed; --faint: #98a2ae; --line: #343b44;
  --c0: #6ea0ff; --c1: #ff9354; --c2: #4cc795; --c3: #e58bef; --c4: #e4bf4d; --c5: #5bc7dc; --c6: #ff7d95; --c7: #a9b6c6; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 14px/1.45 system-ui, sans-serif; }
header { position: sticky; top: 0; z-index: 2; display: flex; flex-wrap: wrap; gap: 4px 24px; align-items: center;
  padding: 8px 24px; background: var(--ground); border-bottom: 1px solid var(--line); }
h1 { font-size: 18px; margin: 0; overflow-wrap: anywhere; } h2 { font-size: 16px; margin: 28px 0 8px; } h3 { font-size: 14px; margin: 12px 0 4px; }
main { padding: 12px 24px 48px; max-width: 1680px; margin: 0 auto; }
#controls { display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: center; color: var(--faint); }
#controls label { display: inline-flex; gap: 6px; align-items: center; }
#controls input[type=range] { width: 110px; }
#plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 420px), 1fr)); gap: 12px; }
figure { position: relative; margin: 0; padding: 8px 8px 4px; background: var(--card); border: 1px solid var(--line); border-radius: 6px; }
figcaption { padding: 0 4px 4px; font-weight: 600; overflow-wrap: anywhere; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--faint); font-size: 11px; font-variant-numeric: tabular-nums; }
svg .grid { stroke: var(--line); stroke-width: 1; }
svg path { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
svg path.raw { opacity: .25; stroke-width: 1; }
svg .cursor { stroke: var(--faint); stroke-dasharray: 2 3; }
.tip { position: absolute; pointer-events: none; top: 30px; padding: 4px 8px; background: var(--ground); border: 1px solid var(--line);
  border-radius: 4px; font-size: 12px; font-variant-numeric: tabular-nums; white-space: nowrap; z-index: 1; }
.dot { display: inline-block; width: 10px; height: 10px; border-radius: 50%; margin-right: 5px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { padding: 3px 12px 3px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
thead th { color: var(--faint); font-weight: 600; } tbody th { font-weight: 500; }
td { overflow-wrap: anywhere; min-width: 5em; }
.numbers th:not(:first-child), .numbers td { text-align: right; font-variant-numeric: tabular-nums; }
pre { margin: 4px 0 12px; padding: 8px 12px; overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 6px; font-size: 12px; }
summary { cursor: pointer; padding: 3px 0; }
.bar { display: flex; height: 18px; border-radius: 4px; overflow: hidden; background: var(--line); }
.bar span { min-width: 1px; border-right: 1px solid var(--ground); }
.parts { display: flex; flex-wrap: wrap; gap: 2px 20px; padding: 0; margin: 6px 0 0; list-style: none; font-variant-numeric: tabular-nums; }
.parts i { display: inline-block; width: 10px; height: 10px; margin-right: 6px; border-radius: 2px; }
.p0 { background: var(--c0); } .p1 { background: var(--c1); } .p2 { background: var(--c2); } .p3 { background: var(--c3); }
.p4 { background: var(--c4); } .p5 { background: var(--c5); } .p6 { background: var(--c6); } .p7 { background: var(--c7); }
.p8 { background: color-mix(in srgb, var(--c0) 50%, var(--card)); } .p9 { background: color-mix(in srgb, var(--c1) 50%, var(--card)); }
.p10 { background: color-mix(in srgb, var(--c2) 50%, var(--card)); } .p11 { background: color-mix(in srgb, var(--c3) 50%, var(--card)); }
)css";

}  // namespace hftrain::report
