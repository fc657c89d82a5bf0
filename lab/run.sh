#!/usr/bin/env bash
# Runs each benchmark once in its shortest form: that it works, not what it measures. Needs target/release/nagare and the functions
# (`cargo build --release --bins --locked`). Benchmarks that need PostgreSQL (reading.py) or data from elsewhere
# (flights.py, capacity.py) are not run.
set -euo pipefail
cd "$(dirname "$0")"

cargo build --release --locked
bench=$PWD/../target/release/nagare-bench

run() {
    local begun=$SECONDS
    printf '%s' "${*/#$bench/nagare-bench}"
    timeout 600 "$@" >../target/lab.log 2>&1 || { echo; cat ../target/lab.log; exit 1; }
    echo ": $((SECONDS - begun)) s"
}

run "$bench" read --follows 30 --pages 10 --activities 10000
run "$bench" likes --likes 200 --m3-likes 20
run "$bench" arena --votes 200 --hits 200 --players 10
run "$bench" room --messages 200 --authors 10
run "$bench" edits --edits 100 --activities 10
run "$bench" events --events 500 --customers 10
run ../target/release/scale

run python3 bench/fanout.py --only cpu --followers 2000 --cpu-pairs 1
run python3 bench/function.py --followers 2000 --runs 1
run python3 bench/start.py --runs 1
run python3 bench/latency.py --pages 5 --turns 1 --activities 1000
run python3 bench/intake.py --rate 200 --seconds 1
run python3 bench/pacing.py --only 1 --followers 2000 --pairs 1
run python3 bench/fairness.py --followers 2000
run python3 bench/quiet_tenants.py --rate 50 --seconds 2 --turns 1 --backlog 100
run python3 bench/pollers.py --pollers 10 --seconds 1
run python3 bench/routes.py --pages 1 --slow 0
run python3 bench/one_person.py follow-0 --times 100
run python3 bench/event_prices.py --events 1000000
run python3 bench/trials.py --part 0.01
