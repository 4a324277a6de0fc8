#!/bin/sh
# Tune on data seed 0, side by side, then time the choices alone on seeds 1 to 3.
# Both resume: give the same command again after whatever stopped it.
#
#   results/reference/field/make.sh OUT [PIECE...]
#
# PIECE is a TOML file beside this one, without its ending; all of them by default. More options
# for both sweeps come from TUNE and TIME, such as TUNE="--trials 2 --epochs 2" for a trial run.
set -eu
here=$(dirname "$0")
out=${1:?where to write: $0 OUT [PIECE...]}
shift
[ $# -gt 0 ] || set -- batched ortools families qptl scheduling
dglbench=${DGLBENCH:-dglbench}
for piece; do
    # A search that ends with some failed configurations still chooses: go on if it did.
    $dglbench sweep --config "$here/$piece.toml" --seeds 0 --search optuna --trials 12 \
        --jobs 2 --out "$out/tuning/$piece" ${TUNE:-} || [ $? -eq 1 ]
    chosen=$(ls -t "$out/tuning/$piece"/chosen-*.toml | head -n 1)
    cp "$chosen" "$out/tuning/$piece.toml"
    $dglbench sweep --config "$out/tuning/$piece.toml" --seeds "${SEEDS:-1-3}" --out "$out/timed/$piece" \
        ${TIME:-} || [ $? -eq 1 ]
done
