#!/usr/bin/env bash
# Runs what tools/gpu_folder.sh has put beside it, on a machine with an NVIDIA GPU; a line a check. LIMIT:
# seconds a run.
cd "$(dirname "$0")" || exit 1
export LD_LIBRARY_PATH="$PWD/lib:$LD_LIBRARY_PATH"
LIMIT=${LIMIT:-40}
wrong=0
gomp() { timeout "$LIMIT" env "$@"; }
promp() { timeout "$LIMIT" env LD_PRELOAD="$PWD/lib/libpromp.so" "$@"; }
say() { printf '%-44s %s\n' "$1" "$2"; }
check() { # NAME EXPECTED FOUND
    if [ "$2" = "$3" ]; then
        say "$1" right
    else
        say "$1" "WRONG: expected $2, found $3"
        wrong=$((wrong + 1))
    fi
}
seconds() { sed -n 's/^seconds //p' "$1"; }
found_in() { tr -d '\n ' <"$1" | grep -o "\"$2\":[^,}]*" | head -1; } # REPORT KEY
stop() { echo "run.sh: $1" >&2; exit 69; }
for part in lib/libpromp.so lib/libgomp.so.1 bin/swim bin/sums; do
    [ -e $part ] || stop "$part is not beside it: make the folder anew with tools/gpu_folder.sh"
done
# promp says itself what is missing, the plugin, the driver or a device.
why=$(promp PROMP_DEVICES=nvptx bin/swim 15 1 2>&1 >/dev/null | grep '^promp: ' | head -1)
case $why in
*"target regions run on the host"* | *"cannot be used"*) stop "nothing to check here: ${why#promp: }" ;;
esac
command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version --format=csv,noheader

for p in maps mapsf; do
    g=$(gomp bin/$p 2>&1 | tail -1)
    m=$(promp bin/$p 2>&1 | tail -3)
    say "$p under libgomp" "$g"
    check "$p under promp" "all right" "$(echo "$m" | tail -1)"
    [ "$(echo "$m" | tail -1)" = "all right" ] || echo "$m"
done
check "declare target link" "all right" "$(promp bin/linked 2>&1 | tail -1)"
check "memory routines" "$(gomp bin/routines 2>&1)" "$(promp bin/routines 2>&1)"
say "openacc under libgomp" "$(gomp bin/openacc 2>&1 | tail -1)"
check "openacc under promp" "device: all right" "$(promp bin/openacc 2>&1 | tail -1)"
say "... with PROMP_SDC=lazy" "$(promp PROMP_SDC=lazy bin/openacc 2>&1 | tail -3)"
echo "--- empty region, maps of 1, 16, 256 variables, update: microseconds each"
say libgomp "$(gomp bin/many 2>&1 | tail -1)"
say promp "$(promp bin/many 2>&1 | tail -1)"
say libgomp "$(gomp bin/many 2>&1 | tail -1)"
say promp "$(promp bin/many 2>&1 | tail -1)"

N=${N:-1023} STEPS=${STEPS:-50}
want=$(gomp bin/swim $N $STEPS 2>/tmp/t.$$)
say "swim $N $STEPS libgomp" "$(seconds /tmp/t.$$) s"
got=$(promp bin/swim $N $STEPS 2>/tmp/t.$$)
say "swim $N $STEPS promp, PROMP_SDC=off" "$(seconds /tmp/t.$$) s"
check "... its sums" "$want" "$got"
swim() { # MODE KEEP
    mode=$1
    got=$(promp PROMP_SDC="$mode" PROMP_SDC_KEEP="$2" PROMP_SDC_LATENCY=60s PROMP_REPORT=/tmp/r.$$ \
        bin/swim $N $STEPS 2>/tmp/t.$$)
    say "swim $mode $2" "$(seconds /tmp/t.$$) s"
    [ "$got" = "$want" ] || { check "... its sums" "$want" "$got"; cat /tmp/t.$$; }
    grep -v "^seconds" /tmp/t.$$ | head -3
    [ "$mode" = off ] || tr -d '\n ' </tmp/r.$$ | grep -o '"sdc":{[^}]*}'
    if [ "$mode" != off ] && [ "$2" = signatures ]; then
        # Signatures have to be the device's: the host's are right, too, but slow.
        check "... signed" '"signatures":true' "$(found_in /tmp/r.$$ signatures)"
        check "... by the device" 0 "$(grep -c 'cannot sign' /tmp/t.$$)"
    fi
}
for mode in eager lazy:1 lazy:7 lazy:35 lazy:70 lazy:140 lazy:350 lazy:100000 lazy:auto off; do
    swim $mode signatures
done
for mode in eager lazy:7 lazy:140 lazy:auto; do swim $mode copies; done
got=$(promp PROMP_SDC=lazy PROMP_FAULT='sdc@kernel=33,count=20,nth=15,pattern=warp' PROMP_REPORT=/tmp/r.$$ \
    bin/swim $N $STEPS 2>/tmp/t.$$)
check "swim with 20 errors" "$want" "$got"
grep -c "silent error" /tmp/t.$$
tr -d '\n ' </tmp/r.$$ | grep -o '"sdc":{[^}]*}'
say "swim in Fortran, libgomp" "$(gomp bin/swimf 255 20 2>&1 | tail -1)"
say "swim in Fortran, lazy" "$(promp PROMP_SDC=lazy bin/swimf 255 20 2>&1 | tail -1)"
for keep in signatures copies; do
    got=$(promp PROMP_SDC=lazy:2 PROMP_SDC_KEEP=$keep PROMP_FAULT='sdc@count=100,nth=2' \
        PROMP_REPORT=/tmp/r.$$ bin/sums 65536 200 2>/tmp/t.$$)
    check "sums with 100 errors, $keep" "0 wrong" "$got"
    tr -d '\n ' </tmp/r.$$ | grep -o '"sdc":{[^}]*}'
    check "... found" '"found":100' "$(found_in /tmp/r.$$ found)"
    check "... repaired" '"repaired":100' "$(found_in /tmp/r.$$ repaired)"
    [ $keep = copies ] || check "... signed by the device" 0 "$(grep -c 'cannot sign' /tmp/t.$$)"
done
# An error in B itself: with signatures it is noticed, and nothing is repaired by what is wrong.
promp PROMP_SDC=lazy:2 PROMP_SDC_KEEP=signatures PROMP_FAULT='sdc@kernel=3,block=copy' \
    bin/sums 65536 20 >/dev/null 2>/tmp/t.$$
check "sums, the copy of the beginning changed" 70 $?
got=$(promp PROMP_SDC=lazy:2 PROMP_REPORT=/tmp/r.$$ bin/sums 65536 500 2>/tmp/t.$$)
check "sums, 500 sections without an error" "0 wrong" "$got"
tr -d '\n ' </tmp/r.$$ | grep -o '"sdc":{[^}]*}'
say "kinds, libgomp" "$(gomp bin/kinds 2>&1 | tail -1)"
say "kinds, lazy" "$(promp PROMP_SDC=lazy PROMP_REPORT=/tmp/r.$$ bin/kinds 2>&1 | tail -1)"
sed -n '/"unverified"/,/\]/p' /tmp/r.$$
rm -f /tmp/t.$$ /tmp/r.$$
echo "$wrong wrong"
[ $wrong = 0 ]
