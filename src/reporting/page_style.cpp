// The rules of a page.
#include <string>

#include <fmt/format.h>

#include "drawing/palette.h"
#include "drawing/svg.h"
#include "reporting/page_parts.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kPageRules = R"css(
*{box-sizing:border-box}
html{color-scheme:light dark}
body{--ground:#fff;--ink:#1f2328;--muted:#57606a;--rule:#d8dee4;--tint:#f6f8fa;--bad:#b3261e;--link:#0b5cad;--shade:#2f6fb51a;
 margin:0 auto;padding:1rem 1.25rem 3rem;max-width:90rem;background:var(--ground);color:var(--ink);
 font:15px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
h1{font-size:1.6rem;line-height:1.2;margin:.5rem 0}
h2{font-size:1.2rem;margin:2rem 0 .6rem;padding-top:.6rem;border-top:1px solid var(--rule)}
h3{font-size:1rem;margin:1.2rem 0 .3rem}
h1,h2,h3,p,dd,summary{overflow-wrap:anywhere}
a{color:var(--link)}
.muted,small{color:var(--muted)}
p{margin:.4rem 0;max-width:60rem}
.tiles{display:flex;flex-wrap:wrap;gap:.6rem;margin:.8rem 0;padding:0;list-style:none}
.tiles li{background:var(--tint);border:1px solid var(--rule);border-radius:6px;padding:.5rem .9rem;min-width:7rem}
.tiles b{display:block;font-size:1.35rem;font-variant-numeric:tabular-nums}
.tiles .bad b{color:var(--bad)}
.scroll{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;font-size:.86rem;margin:.4rem 0}
th,td{padding:.2rem .55rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--rule);unicode-bidi:isolate;overflow-wrap:break-word}
th{vertical-align:bottom;font-weight:600}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
th.n{white-space:normal}
th button{all:unset;cursor:pointer}
th button:hover,th button:focus-visible{text-decoration:underline}
th[aria-sort=ascending] button::after{content:" \2191"}
th[aria-sort=descending] button::after{content:" \2193"}
.runs{width:100%}
.runs td:first-child,td.bad{overflow-wrap:anywhere}
.runs td:first-child{min-width:15rem;max-width:30rem}
[class^=k]{white-space:nowrap}
.runs tbody tr:hover{background:var(--tint)}
td.bad{color:var(--bad);min-width:11rem}
svg.s{display:block;width:120px;height:26px;background:linear-gradient(90deg,#0000 8.33%,var(--shade) 8.33% 91.67%,#0000 91.67%)}
td.u svg.s{opacity:.5;background:none}
svg.s path{fill:none;stroke:var(--ink);stroke-width:1px;vector-effect:non-scaling-stroke;stroke-linejoin:round;stroke-linecap:round}
figure{margin:1rem 0}
figure svg.chart{display:block;max-width:100%;height:auto}
figure>.charts>.scroll>svg.chart{min-width:620px}
figure.many>.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(21rem,100%),1fr));gap:.6rem}
figure.many>.charts>.scroll>svg.chart{min-width:0}
.off{display:none}
g[data-tag]{cursor:pointer}
form{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center;margin:.8rem 0 0;padding:.4rem 0;position:sticky;top:0;z-index:3;background:var(--ground)}
form[hidden]{display:none}
form details{position:relative}
form summary,form input[type=search],form button{font:inherit;color:inherit;background:var(--tint);border:1px solid var(--rule);border-radius:6px;padding:.25rem .6rem;cursor:pointer}
form details.on summary{border-color:var(--link);color:var(--link);font-weight:600}
form details>div{position:absolute;z-index:2;background:var(--ground);border:1px solid var(--rule);border-radius:6px;padding:.4rem .7rem;max-height:20rem;overflow:auto;min-width:11rem;max-width:80vw;box-shadow:0 4px 14px #0003}
form label{display:block;white-space:nowrap;padding:.1rem 0}
summary{cursor:pointer}
@media (max-width:40rem){body{padding:.6rem .7rem 2rem;font-size:14px}.tiles li{min-width:5.5rem;padding:.35rem .6rem}.tiles b{font-size:1.1rem}th,td{padding:.2rem .35rem}.runs td:first-child,td.bad{overflow-wrap:anywhere}
.runs td:first-child{min-width:9rem;max-width:12rem}}
@media screen and (prefers-color-scheme:dark){body{--ground:#16181d;--ink:#e6e8eb;--muted:#a0a8b2;--rule:#2c3138;--tint:#1e2127;--bad:#ff8a80;--link:#79b8ff;--shade:#79b8ff24}}
@media print{@page{size:A4 landscape;margin:12mm}html{color-scheme:light}body{padding:0;max-width:none;font-size:10pt}
 form,form[hidden],details:not([open]),.screen,figure>p{display:none}.scroll{overflow:visible}table{font-size:7.5pt}th,td{padding:.1rem .3rem}
.runs td:first-child,td.bad{overflow-wrap:anywhere}
.runs td:first-child{min-width:0;max-width:18rem}td.bad{min-width:0}
 thead{display:table-header-group}tr,figure .scroll,.tiles li{break-inside:avoid}h2,h3{break-after:avoid}
 figure.many>.charts{grid-template-columns:repeat(3,1fr)}figure>.charts>.scroll>svg.chart{min-width:0;max-height:125mm;margin:0 auto}
 a{color:inherit;text-decoration:none}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
)css";

}  // namespace

std::string page_style() {
  std::string rules(kPageRules);
  // The swatch of a hardware before its name in tables.
  rules +=
      "[class^=k]::before{content:\"\";display:inline-block;width:.65em;height:.65em;"
      "border-radius:50%;margin-right:.4em;background:var(--k)}\n";
  std::string dark;
  for (std::size_t i = 0; i < kColours; ++i) {
    rules += fmt::format(".k{}{{--k:{}}}", i, colour_of(i).light);
    dark += fmt::format(".k{}{{--k:{}}}", i, colour_of(i).dark);
  }
  rules += fmt::format("\n@media screen and (prefers-color-scheme:dark){{{}}}\n", dark);
  return rules + svg_style();
}

}  // namespace aggregate_power
