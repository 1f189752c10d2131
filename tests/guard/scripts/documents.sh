#!/bin/bash
cat <<A <<'B' <<-C; after
in a $(run_a) `run_b` \$(not)
A
in b $(not run)
B
	in c $(run_c)
	C
cat <<"E O F" | consumer && next
$(not) 'quote
E O F
x=$(cat <<X
inner $(nested <<Y
deeper $(deepest)
Y
)
X
) tail
if cat <<\EOF
not $(here)
EOF
then yes; fi
cat <<EOF
joined\
EOF
still inside $(inside)
EOF
diff <(left one) <(right "two") > >(sink) 2> >(errors >&2)
while read -r line; do
  handle "$line"
done <<EOF
$(producer)
EOF
f() {
  cat <<-EOF
	${x:-$(default "quoted")} "'$(in_quotes)'"
	EOF
}
last
