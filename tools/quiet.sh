#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# quiet.sh COMMAND... - runs it and shows what it printed only if it failed.
log=$(mktemp)
"$@" >"$log" 2>&1
rc=$?
[ $rc -eq 0 ] || cat "$log" >&2
rm -f "$log"
exit $rc
