#!/bin/sh
# count/KEY: counts down, a step a second, and sleeps at 0.  ergon actor call count/eggs add 240
exec ergon worker --actor count --method add --method step -- jq -c '
    if .method == "add" then (.state + .params[0]) | {state: ., result: ., wake: true}
    elif .state > 1 then {state: (.state - 1), sleep: "1s"}
    else {state: 0, sleep: true} end'
