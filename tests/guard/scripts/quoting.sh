#!/bin/bash
# Every kind of quote, and what only looks like one.
echo 'single' "double $(inner "nested $(deep 'x')") end" $'ansi \' c' $"locale" plain\ word
s''udo id; s"ud"o id; su\do id; \sudo id; 's'u'd'o id
echo a#b # a comment with ' and " and `
echo "a`back "quoted" tick`b" `one \`two three\``
echo ${x:-'} $(not closed'} "${x:-'single' $(in quotes)}" ${x:-"$(dq "${y}")"}
echo ${#x} ${#} ${!y} ${x#\}} ${x%%*(a|b)} ${x/a/$(rep)} ${x:1:$(len)} ${x[$(idx)]} ${x[@]:0:2}
echo $((1 + $(count) * (2 + 3))) $(( (a) + (b) )) $[1 + $(old)]
e\
cho con\
tinued
echo {a,b}{1..3} x{,y} {not} { }
echo "$@" "$*" $# $? $$ $! $- $0 $1 ${10}
a=1 b="$(assigned)" command after
c[1]=$(indexed) d=(one $(two) [3]=three) e+=more
echo "quoted"\
  next ${expanded:+" -p"}\
  ${expanded}\
\
  bare\
  a\
b
