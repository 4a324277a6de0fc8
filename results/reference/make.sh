#!/bin/sh
# Make the reference results: every sweep, then the packs. Each step resumes: give the same command
# again after whatever stopped it.
#
#   results/reference/make.sh OUT [PACK...]
#
# PACK is untuned, restarts, tuned, paper, bounds or pays; all of them by default. PHASE=plan only
# says how long each sweep takes. More options for all sweeps come from MORE, such as
# MORE="--epochs 2" for a trial run.
set -eu
here=$(dirname "$0")
out=${1:?where to write: $0 OUT [PACK...]}
shift
[ $# -gt 0 ] || set -- untuned restarts tuned paper bounds pays
dglbench=${DGLBENCH:-dglbench}

# Plan or run one sweep: its folder, then its options.
sweep() {
    folder=$out/$1
    shift
    if [ "${PHASE:-run}" = plan ]; then
        echo "$folder: $($dglbench sweep "$@" --out "$folder" --plan ${MORE:-} | grep ' to make')"
    else
        # A sweep that ends with some failed runs says so with exit code 1: go on with the others.
        $dglbench sweep "$@" --out "$folder" ${MORE:-} || [ $? -eq 1 ]
    fi
}

# Pack the folders of some sweeps.
pack() {
    name=$1
    shift
    [ "${PHASE:-run}" = plan ] || (cd "$out" && $dglbench pack "$@" --out "$name.dglpack" --zip --thin --force)
}

# Run some pieces and pack them under a name.
from_pieces() {
    name=$1
    shift
    for piece; do sweep "$piece" --config "$here/pieces/$piece.toml"; done
    pack "$name" "$@"
}

make_pack() {
    case $1 in
        untuned) from_pieces "$1" front front-mlp batched transport general scheduling cora terrain ;;
        paper) from_pieces "$1" paper paper-qptl ;;
        restarts | bounds | pays) from_pieces "$1" "$1" ;;
        tuned)
            sweep tuning --config "$here/pieces/tuned.toml" --search random --trials 16 \
                --tune-seeds 0-2 --seeds 10,25,95,101,102 --repeats 8
            [ "${PHASE:-run}" = plan ] || sweep tuned --config "$(ls "$out"/tuning/chosen-*.toml)"
            pack tuned tuned
            ;;
        *)
            echo "there is no pack $1: untuned, restarts, tuned, paper, bounds, pays" >&2
            exit 2
            ;;
    esac
}

for name; do PHASE=plan make_pack "$name"; done
[ "${PHASE:-run}" = plan ] || for name; do make_pack "$name"; done
