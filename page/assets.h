// SPDX-License-Identifier: Apache-2.0
// The style and the script of every page. Nothing needs the script but the search; it only hides
// and shows what stands in the page.
#pragma once

#include <string_view>

namespace sbx::page {

inline constexpr std::string_view kStyle = R"css(
:root{--paper:#fff;--ink:#1c2128;--soft:#57606a;--line:#d0d7de;--wash:#f6f8fa;
--good:#2da44e;--fail:#bf8700;--stop:#8250df;--deny:#cf222e;--link:#0969da}
@media (prefers-color-scheme:dark){:root{--paper:#0d1117;--ink:#e6edf3;--soft:#9198a1;--line:#30363d;
--wash:#161b22;--good:#3fb950;--fail:#d29922;--stop:#a371f7;--deny:#f85149;--link:#4493f8}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:76rem;padding:1.5rem;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.6rem;margin:0}h2{font-size:1.15rem;margin:2rem 0 .6rem}
p{margin:.4rem 0}.soft{color:var(--soft)}
code,pre{font:13px/1.45 ui-monospace,monospace;overflow-wrap:anywhere;white-space:pre-wrap}
pre{margin:.3rem 0;padding:.5rem;background:var(--wash);border-radius:6px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(7rem,1fr));gap:.6rem;margin:1rem 0;padding:0;list-style:none}
.tiles li{padding:.6rem .8rem;border:1px solid var(--line);border-radius:8px;
background:var(--wash)}
.tiles b{display:block;font-size:1.35rem;font-variant-numeric:tabular-nums}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(26rem,1fr));gap:1.5rem}
@media (max-width:30rem){.plots{grid-template-columns:1fr}}
figure{margin:0}figcaption{font-weight:600}
svg{display:block;width:100%;height:auto}
svg text{font:11px system-ui,sans-serif;fill:var(--soft)}
svg .axis{stroke:var(--line)}
.good{fill:var(--good);color:var(--good)}.fail{fill:var(--fail);color:var(--fail)}
.stop{fill:var(--stop);color:var(--stop)}.deny{fill:var(--deny);color:var(--deny)}
.bar{fill:var(--link)}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:.2rem 0;padding:0;list-style:none}
table{width:100%;border-collapse:collapse}
th,td{padding:.25rem .5rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line);
overflow-wrap:anywhere}
th{color:var(--soft);font-weight:600}
.keys>tbody>tr>th{width:11rem}
.short,.number{white-space:nowrap}
.number{text-align:right;font-variant-numeric:tabular-nums}
#rows{table-layout:fixed}#rows .when{width:11.5rem}#rows .how{width:9rem}#rows .long{width:6rem}
#rows thead th{position:sticky;top:0;background:var(--paper)}
details>summary{cursor:pointer}
.tree,.tree ul{margin:0;padding-left:1.2rem;list-style:none}.tree details>ul{border-left:1px solid var(--line)}
.find{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center;margin:.6rem 0}
input{flex:1 1 16rem;padding:.4rem .6rem;font:inherit;color:inherit;background:var(--wash);
border:1px solid var(--line);border-radius:6px}
button{padding:.3rem .7rem;font:inherit;color:inherit;background:var(--wash);cursor:pointer;
border:1px solid var(--line);border-radius:6px}
.tag{display:inline-block;padding:0 .45rem;border:1px solid var(--line);border-radius:1rem}
[hidden]{display:none!important}
@media print{.find{display:none}body{max-width:none}}
)css";

// A row is found where it holds every word. What is inside a closed <details> counts, and a tree
// shows the way to what was found.
inline constexpr std::string_view kScript = R"js(
(function () {
  'use strict';
  var input = document.getElementById('search');
  if (!input) return;
  var found = document.getElementById('found');
  var rows = [].slice.call(document.querySelectorAll('[data-row]'));
  var texts = [];
  function textOf(i) {
    if (texts[i] === undefined) texts[i] = rows[i].textContent.toLowerCase();
    return texts[i];
  }
  function search() {
    var words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    var shown = 0;
    rows.forEach(function (row, i) {
      var text = words.length ? textOf(i) : '';
      var fits = words.every(function (word) { return text.indexOf(word) >= 0; });
      if (row.hidden === fits) row.hidden = !fits;
      if (fits) shown += 1;
      var inner = row.firstElementChild;
      if (fits && words.length && row.tagName === 'LI' && inner.tagName === 'DETAILS') inner.open = true;
    });
    found.textContent = words.length ? shown + ' of ' + rows.length : '';
  }
  var wait = 0;
  input.addEventListener('input', function () {
    clearTimeout(wait);
    wait = setTimeout(search, rows.length > 5000 ? 200 : 0);
  });
  document.addEventListener('click', function (event) {
    var word = event.target.getAttribute && event.target.getAttribute('data-find');
    if (word === null || word === undefined) return;
    input.value = word;
    search();
  });
  search();
})();
)js";

}  // namespace sbx::page
