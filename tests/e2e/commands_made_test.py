# SPDX-License-Identifier: Apache-2.0
"""Texts made at random, in which a value comes to a place where a shell may take it for more than a
value: what the list of allowed commands lets through runs nothing that is not on it. The texts run
in a sandbox without the list."""

import concurrent.futures
import os
import random
import shutil
import subprocess
import tempfile
import unittest

import harness

ALLOW = ["basename", "cat", "cut", "date", "dirname", "echo", "env", "false", "find", "grep", "head", "ls", "printf", "sed",
         "seq", "sort", "tail", "test", "tr", "true", "wc", "["]
TEXTS = 1200
RUN_REFUSED = 150  # of those, to see that the texts are what they are meant to be
LEAST_THAT_RUN = 30

# ./x is the program that must not run.
VALUES = r'''
a[$(./x)]
$(./x)
`./x`
-v a[$(./x)]
-va[$(./x)]
-pa[$(./x)]
x]$(./x)
./x
. ./s
./s
a=$(./x)
a[0$(./x)]=1
0 -o -v a[$(./x)]
x[`./x`]
b
n
1+a[$(./x)]
x -a -v a[$(./x)]
f() { ./x; }; f
-C ./x
./x #
'''.strip("\n").split("\n")

# How $v comes to be TEXT, a quoted value, or RAW; \n stands for a newline. The files f and g/* have it as well.
WAYS = r'''
v=TEXT
v=TEXT; w=$v; v=$w
read v <<< TEXT
read -r v < f
v=$(cat f)
v=$(<f)
v=`head -n1 f`
v=$(printf %s TEXT)
printf -v v %s TEXT
set -- TEXT; v=$1
set -- TEXT; v="$@"
v=(TEXT)
v=([0]=TEXT)
declare v=TEXT
export v=TEXT
readonly v=TEXT
typeset v=TEXT
mapfile -t v < f
read -a v <<< TEXT
v=${w:-TEXT}
v=${w:=TEXT}
w=x; v=${w/x/TEXT}
w=TEXT; v=${w#x}
w=TEXT; v=${w:0:30}
w=TEXT; v=${!u}; u=w; v=${!u}
w=TEXT; declare -n v=w
v=; v+=TEXT
h=TEXT; v=${h:0:2}; v+=${h:2}
IFS=; v=TEXT
while read -r v; do :; done < f; read -r v < f
[[ TEXT =~ .* ]]; v=${BASH_REMATCH[0]}
[[ TEXT =~ (.*) ]]; v=${BASH_REMATCH[1]}
cd d*; v=${PWD##*/}; cd ..
cd d*; cd ..; v=${OLDPWD##*/}
v=$(ls g)
v=$(echo g/*); v=${v##*/}
for v in g/*; do :; done; v=${v##*/}
for v in TEXT; do :; done
v=$(sort f)
v=$(env | grep zz)
true TEXT; v=$_
BASH_ARGV0=TEXT; v=$0
read <<< TEXT; v=$REPLY
set -- -a TEXT; getopts a: o; v=$OPTARG
mapfile -t < f; v=${MAPFILE[0]}
mapfile -t < f; v=$MAPFILE
v=$(tr A a < f)
v=$(sed s/ZZ// f)
v=TEXT; v=${v@Q}; v=${v@E}
w=TEXT; v=${w@A}
v=TEXT; v=${v,,}
v=${u-TEXT}
v=$'\x61[$(pwn)]'
v=a[; v+='$(pwn)]'
v='a[$(p'; v="${v}wn)]"
x1='a['; x2='$(pwn)]'; v=$x1$x2
declare -A m; m[k]=TEXT; v=${m[k]}
declare -A m=([k]=TEXT); v=${m[k]}
m=(TEXT 2); v=${m[0]}
m=(TEXT); v=${m[@]}
m=(TEXT); v=${m[-1]}
m=(1 TEXT); v=${m[1]}
cat <<E > o\nRAW\nE\nread -r v < o
read -r v <<E\nRAW\nE
v=$(cat <<'E'\nRAW\nE\n)
read -r v < <(cat f)
exec 7< f; read -r -u 7 v
read -N 30 v < f
read -d x v < f
v=$(date +TEXT)
v=$(basename TEXT)
v=$(dirname TEXT/x)
v=$(printf '%s\n' TEXT | head -1)
v=$(find g -type f | head -1); v=${v#g/}
v=$(wc -l < f)
alias v=TEXT
local v=TEXT
v=TEXT true
v=TEXT eval 'w=$v'; v=$w
coproc cat f; read -r v <&${COPROC[0]}
v=${p1:=TEXT}; v=$p1
unset v; : ${v:=TEXT}
unset v; : ${v=TEXT}
printf -v 'v[0]' %s TEXT
read 'v[0]' <<< TEXT
declare 'v[0]'=TEXT
v[0]=TEXT
v+=(TEXT)
declare -a v; v+=(TEXT)
declare -i i; v=TEXT
set TEXT; v=$*
set -- x TEXT; shift; v=$1
set -- x TEXT; v=${@:2}
set -- x TEXT; v=${2}
set -- TEXT; for v; do :; done
set -- TEXT; for v in "$@"; do :; done
IFS=, read v _ <<< TEXT
v=TEXT; export -n v
for v in $(cat f); do :; done
for v in `cat f`; do :; done
select v in TEXT; do break; done <<< 1
v=~/x; v=TEXT
case TEXT in *) v=TEXT;; esac
if true; then v=TEXT; fi
false || v=TEXT
{ v=TEXT; }
time v=TEXT
! v=TEXT
v=TEXT &&:
'''.strip("\n").split("\n")

# What is done with it.
USES = r'''
echo $((v))
(( v ))
(( $v ))
echo $[v]
let v
let "$v"
let $v
let y=v
a[v]=1
a[$v]=1
echo ${a[v]}
echo ${a[$v]}
x=abc; echo ${x:v}
x=abc; echo ${x:0:v}
x=abc; echo ${x:$v}
[[ v -eq 1 ]]
[[ $v -lt 1 ]]
[[ 1 -lt "$v" ]]
[[ -v $v ]]
[[ -v "$v" ]]
test -v "$v"
[ -v "$v" ]
[ $v ]
[ x = $v ]
[ -n $v ]
test $v
declare -i n=$v
declare -i n; n=$v
declare -i n; n+=v
declare -n n=$v; echo $n
declare -n n=$v; n=1
echo ${!v}
printf -v "$v" x
printf -v $v x
read "$v" <<< 1
read $v <<< 1
unset "$v"
unset $v
unset -v "$v"
mapfile "$v" < f
getopts x "$v" -x
true & wait -p "$v" -n
true & wait $v
declare "$v=1"
declare "$v"
declare $v
declare -a "$v"
export "$v"
export "$v=1"
readonly "$v"
readonly $v
typeset "$v"
eval "$v"
eval $v
eval "echo $v"
$v
"$v"
command $v
builtin $v
exec $v
. "$v"
source ./$v
echo ${v@P}
echo "${v@P}"
PS4=$v; set -x; true
PS4="+ $v"; set -x; true
trap "$v" EXIT
trap $v EXIT
trap "$v" DEBUG; true
exec {a[v]}>o
exec {v}>o
printf "$v"
printf $v
printf "$v" "$v"
printf '%d' "$v"
printf '%b' "$v"
test "$v" -eq 1
test 1 -eq "$v"
test "$v" "$v"
for ((i=v;i<1;i++)); do break; done
a=([v]=1)
a=([$v]=1)
a+=([v]=1)
declare -a a=([v]=1)
declare a=([v]=1)
echo ${#a[v]}
a=(1 2); echo ${a[@]:v}
a=(1 2); echo ${a[@]:0:v}
shift v
shift $v
[ "$v" -gt 1 ]
hash -p ./s "$v"; $v
alias cat="$v"
shopt -s expand_aliases; alias q="$v"\nq
compgen -C "$v"
compgen -W "$v"
compgen -W '$v'
compgen -F "$v"
complete -W "$v" q
jobs -x $v
coproc $v
coproc { $v; }
time $v
! $v
[[ x =~ $v ]]
[[ x == $v ]]
cat <<< $v
cat <<E\n$v\nE
cat <<E\n$((v))\nE
echo "${u:?$v}"
echo ${u:-$((v))}
echo ${x/$v/}
echo $v
set -o $v
set $v
set -- $v; echo $(($1))
set -- $v; "$1"
shopt $v
kill -0 $v
caller $v
type "$v"
pushd $v
dirs +$v
ulimit -n $v
umask $v
read -t $v y < f
read -n $v y < f
read -u $v y
read -p "$v" y < f
mapfile -n $v y < f
mapfile -C "$v" -c 1 a < f
mapfile -O v a < f
exit $v
return $v
RANDOM=$v
RANDOM=v
OPTIND=$v
SECONDS=$v; echo $SECONDS
HISTCMD=$v; echo $HISTCMD
SRANDOM=$v
LINENO=$v; echo $LINENO
BASH_ENV=$v ls
PROMPT_COMMAND=$v
TIMEFORMAT=$v; time true
BASH_XTRACEFD=$v
IFS=$v; echo x
GLOBIGNORE=$v; echo *
ENV=$v ls
f() { local n=$v; echo $((n)); }; f
f() { local -i n=$v; }; f
f() { echo $(($1)); }; f "$v"
f() { echo $(($1)); }; f $v
f() { [[ $1 -eq 1 ]]; }; f "$v"
f() { $1; }; f "$v"
f() { "$@"; }; f $v
f() { eval "$1"; }; f "$v"
f() { test -v $1; }; f "$v"
cat <(eval "$v")
echo $(eval "$v")
echo ${x^^$v}
x=1; ((x+=v))
x=1; ((x=v?1:2))
x=1; ((a[v]++))
n=$((v)) true
if ((v)); then :; fi
while ((v)); do break; done
case $((v)) in *) ;; esac
echo {1..$((v))}
echo ${v:=$((v))}
echo $((10#$v))
echo $(( ${v} ))
echo $(( "$v" ))
echo $((${v:-1}))
echo $((${v#x}))
echo $((${#v}))
echo $((${v//[!0-9]/}))
x=${v//[!0-9]/}; echo $((x))
y=v; echo $((y))
y=v; echo ${!y}
y=v; echo ${!y@P}
declare -n y=v; echo $((y))
declare -n y=v; echo ${y@P}
declare -n y=v; $y
y=$v; z=$y; echo $((z))
y=("$v"); echo $((y))
y=("$v"); echo $((y[0]))
y=("$v"); "${y[@]}"
y=(1 $v); echo $((${y[1]}))
echo $v | { read z; echo $((z)); }
z=$(echo $v); echo $((z))
read z <<< $v; echo $((z))
echo $v > o; . ./o
echo $v > o; read z < o; echo $((z))
echo "$v" > o; source o
export v; env printenv v
env $v
env -S "$v"
find . -maxdepth 0 -exec $v \;
find . -maxdepth 0 $v
echo $v | xargs
declare -A a; a[$v]=1; echo ${a[$v]}
declare -A a; a[$v]=1; ((a[$v]++))
declare -A a; echo $((a[$v]))
declare -A a; unset "a[$v]"
declare -A a; test -v "a[$v]"
declare -A a; [[ -v a[$v] ]]
declare -A a; printf -v "a[$v]" x
declare -A a; read "a[$v]" <<< x
declare -A a=([$v]=1)
declare -A a; k=$v; ((a[k]=1))
declare -A a; let "a[$v]=1"
a[$((v))]=1
enable -f $v x
enable $v
bind -x $v
command -v $v
hash $v
history -s $v
fc -s $v
printf '%(%s)T' $v
printf '%*d' $v 1
echo ${a[@]@P} ${v@K}
(( v = 1 ))
((v++))
let v++
let v=1
for v in 1; do echo $((v)); done
read v <<< 1; echo $((v))
disown $v
wait "$v"
suspend $v
break $v
continue $v
logout $v
declare -x "$v"
declare -f "$v"
declare +x $v
local $v
cd $v
cd "$v"
select z in $v; do echo $((z)); break; done <<< 1
[ -e $v ]
[ ! $v ]
[ $v -a x ]
[ "$v" ]
[ -z "$v" ]
[ -f "$v" -o -d "$v" ]
[ "$v" = "$v" ]
[[ $v ]]
[[ -f $v && -n $v ]]
[[ $v > 1 ]]
[[ $v =~ ^[0-9]+$ ]] && echo $((v))
case $v in *[!0-9]*) ;; *) echo $((v));; esac
trap 'echo $((v))' EXIT
trap 'eval "$v"' EXIT
trap '$v' EXIT
trap 'test -v $v' EXIT
trap -- "$v" 0
command eval "$v"
builtin eval "$v"
command . "$v"
exec > >(eval "$v")
coproc eval "$v"
eval eval "$v"
eval 'echo $((v))'
eval "echo \$((v))"
eval "y=\$v"; echo $((y))
eval y=$v
eval "y=$v"
eval "y='$v'"
eval "y=\"$v\""
eval "$(printf 'y=%q' "$v")"; echo $((y))
eval y=${v@Q}; echo $((y))
source <(echo $v)
source <(echo "echo \$((v))")
. /dev/stdin <<< $v
. <(cat f)
alias q='echo $((v))'
'''.strip("\n").split("\n")

# In which order, and where; QSET and QUSE stand within single quotes.
FRAMES = r'''
SET; USE
g() { USE; }; SET; g
g() { SET; }; g; USE
for i in 1 2; do USE; SET; done
i=0; while [ $i -lt 2 ]; do USE; SET; i=$((i+1)); done
SET; (USE)
(SET; USE)
if true; then SET; fi; USE
if SET; then USE; fi
SET; true && USE
SET; { USE; } > o
SET; USE | cat
echo | { SET; USE; }
eval 'QSET; QUSE'
trap 'QUSE' EXIT; SET
g() { SET; USE; }; g
g() { SET; h; }; h() { USE; }; g
v=1; SET; USE
v=1; h() { SET; }; USE; h; USE
until USE; SET; [ x$i = x11 ]; do i=1$i; done
SET; case x in x) USE;; esac
SET; x=$(USE)
SET; cat <(USE)
SET; coproc { USE; }; wait
select i in 1; do SET; USE; break; done <<< 1
shopt -s lastpipe; true | { SET; }; USE
f() { SET; }; f; f() { USE; }; f
unset v; SET; USE
SET\nUSE
set +x; SET; set -f; USE
SET; set -f; USE
USE; SET; USE
'''.strip("\n").split("\n")


def made(chance):
    value = chance.choice(VALUES)
    way = chance.choice(WAYS).replace("TEXT", f"'{value}'").replace("RAW", value)
    use = chance.choice(USES)
    if chance.random() < 0.15:
        use = f"{chance.choice(USES)}; {use}"
    quoted = {"QSET": way.replace("'", "'\\''"), "QUSE": use.replace("'", "'\\''")}
    text = chance.choice(FRAMES)
    for word, part in (*quoted.items(), ("SET", way), ("USE", use)):
        text = text.replace(word, part)
    return value, text.replace("\\n", "\n")


class Made(harness.Case):
    def setUp(self):
        super().setUp()
        self.listed = self.profile({"name": "p", "extends": "default", "commands": {"allow": ALLOW, "ask": []}}, "listed.json")
        self.open = self.profile({"name": "o", "extends": "default", "commands": {"ask": []}}, "open.json")

    def is_allowed(self, text):
        done = subprocess.run([harness.SBX_RUN, "check", "--profile", self.listed, "-c", text], cwd=self.work, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return done.returncode == 0

    def runs_it(self, value, text):
        with tempfile.TemporaryDirectory(dir=self.base) as work:
            name = value.replace("/", "_")
            os.makedirs(f"{work}/g")
            os.mkdir(f"{work}/d{name}")
            for path, content in ((f"g/{name}", ""), ("f", value + "\n"), ("x", "#!/bin/sh\n: > ran\necho 1\n"),
                                  ("s", "#!/bin/sh\n./x\n")):
                with open(f"{work}/{path}", "w", encoding="utf-8") as file:
                    file.write(content)
            for program in ("x", "s"):
                os.chmod(f"{work}/{program}", 0o755)
            subprocess.run([harness.SBX_RUN, "--profile", self.open, "--timeout", "3", "--pids", "64", "-c", text], cwd=work,
                           check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           env={**os.environ, "zz": value})
            return os.path.exists(f"{work}/ran")

    @unittest.skipUnless(shutil.which("bash"), "no bash: the texts are for it")
    def test_nothing_that_is_not_on_the_list_runs(self):
        chance = random.Random(20261201)
        texts = [made(chance) for _ in range(TEXTS)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            allowed = list(pool.map(lambda each: self.is_allowed(each[1]), texts))
            through = [each for each, is_allowed in zip(texts, allowed) if is_allowed]
            refused = [each for each, is_allowed in zip(texts, allowed) if not is_allowed][:RUN_REFUSED]
            ran = list(pool.map(lambda each: self.runs_it(*each), through))
            would_run = list(pool.map(lambda each: self.runs_it(*each), refused))
        self.assertEqual([text for (_, text), it_ran in zip(through, ran) if it_ran], [])
        self.assertGreater(len(through), TEXTS // 10)
        self.assertGreater(sum(would_run), LEAST_THAT_RUN)


if __name__ == "__main__":
    unittest.main()
