#!/bin/sh
# Tune on data seed 0, side by side, time the choices alone on seeds that tuning never saw, and draw
# the tables and figures. All resume: give the same command again after whatever stopped it. The
# pieces same-data* are tuned on the seeds they are timed on, which their files name.
#
#   results/reference/field/make.sh OUT [PIECE...]
#
# PIECE is a TOML file beside this one, without its ending; all of them by default. PHASE=tune,
# PHASE=time or PHASE=draw does one part. More options for both sweeps come from TUNE and TIME, such
# as TUNE="--trials 2 --epochs 2" for a trial run.
set -eu
here=$(dirname "$0")
out=${1:?where to write: $0 OUT [PIECE...]}
shift
[ $# -gt 0 ] || set -- matching-50 paper-tasks forms-plain forms-adjusted \
    forms-reactive batched pyepo-pg capacities general scheduling families same-data-50 same-data
dglbench=${DGLBENCH:-dglbench}
python=${PYTHON:-python3}

# Every method of a piece gets as many configurations; fewer where one run is dear.
trials() {
    case $1 in
        matching-50 | paper-tasks | pyepo-pg) echo 24 ;;
        forms-* | batched | general | same-data*) echo 16 ;;
        *) echo 8 ;;
    esac
}

# The data seeds of a phase: what a file names itself is not given again.
seeds() {
    case $1 in same-data*) ;; *) echo "--seeds $2" ;; esac
}

# A sweep that ends with some failed runs says so with exit code 1: go on with the others.
if [ "${PHASE:-tune}" = tune ]; then
    for piece; do
        $dglbench sweep --config "$here/$piece.toml" $(seeds "$piece" 0) --search optuna \
            --trials "$(trials "$piece")" --jobs 2 --out "$out/tuning/$piece" ${TUNE:-} || [ $? -eq 1 ]
        cp "$(ls -t "$out/tuning/$piece"/chosen-*.toml | head -n 1)" "$out/tuning/$piece.toml"
    done
fi
# Whatever answers another question than "which method?" has a folder of its own.
group() {
    case $1 in
        forms-*) echo forms ;;
        families | same-data) echo "$1" ;;
        same-data-50) echo same-data ;;
        *) echo field ;;
    esac
}

if [ "${PHASE:-time}" = time ]; then
    for piece; do
        timed=$out/timed/$(group "$piece")
        $dglbench sweep --config "$out/tuning/$piece.toml" $(seeds "$piece" "${SEEDS:-10,25,95}") \
            --out "$timed" ${TIME:-} || [ $? -eq 1 ]
        case $piece in matching-50 | paper-tasks | same-data-50) ;; *) continue ;; esac
        # The same method through cvxpylayers, with the same options: it is too slow to tune.
        $python "$here/as_qptl.py" "$out/tuning/$piece.toml" > "$out/tuning/qptl-$piece.toml"
        $dglbench sweep --config "$out/tuning/qptl-$piece.toml" \
            $(seeds "$piece" "${SEEDS:-10,25,95}") --out "$timed" ${TIME:-} || [ $? -eq 1 ]
        case $piece in same-data-50) ;; *) continue ;; esac
        # What the paper advises: a short phase of DGL first.
        $dglbench sweep --config "$out/tuning/qptl-$piece.toml" --lead-in dgl-none:5 \
            --out "$timed" ${TIME:-} || [ $? -eq 1 ]
    done
fi
if [ "${PHASE:-draw}" = draw ]; then
    tables=""
    for name in summary leaderboard ranks equivalence profile anytime seeds selected budget; do
        tables="$tables --table $name"
    done
    field=$out/timed/field
    $dglbench report "$field" $tables --format md --out "$out/tables"
    $dglbench report "$field" --claims > "$out/tables/claims.txt"
    for figure in time-vs-regret ranks profile anytime time-split; do
        $dglbench report "$field" --figure $figure --out "$out/figures"
    done
    # The README's picture: a setting of each kind in which methods differ, a method of each kind.
    $dglbench report "$field" --figure time-vs-regret --out "$out/figures/front" \
        --tasks matching-50,knapsack-24,multi-knapsack-16,offers-20,shortest-path-5,transport-30 \
        --methods two-stage,spo,qptl,qptl-dual,dgl-auto,rdgl-newton
    $dglbench report "$out/timed/forms" --figure forms --out "$out/figures"
    for group in families same-data; do
        $dglbench report "$out/timed/$group" --table leaderboard --format md --out "$out/tables/$group"
    done
    $dglbench report "$out/timed/same-data" --table summary --format md --out "$out/tables/same-data"
    $dglbench report "$out/timed/same-data" --claims > "$out/tables/same-data/claims.txt"
fi
