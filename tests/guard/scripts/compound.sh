#!/bin/bash
if first; then second; elif third; then fourth; else fifth; fi > out 2>&1
while cond; do body; done < <(producer | filter) | consumer
until a && b || c; do d & done
for x in 1 $(list) "*"; do use "$x"; done; for y do z; done; for q; do w; done
for ((i = 0; i < $(limit); i++)); do step; done
for ((;;)) { forever; }
select s in a b; do pick; done
case $(word) in
  a | b) one ;;
  (c*) two ;&
  $(pat)) three ;;&
  "x y" | [[:alpha:]]*) ;;
  *) if nested; then case in in in) deep ;; esac; fi
esac
f() { in_f; }; function g { in_g; } ; function h() ( in_h ) > log
k ()
{
  in_k
}
(sub; (subsub)); ( (spaced) ); ((arith = 1 + 2)); { group; } && { other; } || !  negated
[[ -n $(test) && ( a < b || $x =~ ^(a|b[[:space:]]+)$ ) && ! -f x ]] && after
time -p timed; time { grouped; }; ! time both
coproc worker; coproc NAME { named; }
if [ -n "$x" ] && ! grep -q y; then echo }; fi; echo if then fi
cmd 2>&1 >&2 >file 2>>log <in <>rw >|clobber &>both &>>more {fd}>named 3<&- <<<"here $(string)" arg
a | b |& c | (d) | { e; } | while f; do g; done
x && y || z; p & q
declare -a arr=(a $(b)); export X=$(exported) Y; local z; readonly R=1
