#!/bin/sh
# SPDX-License-Identifier: MIT
#
# $TCBTUNE, but for its command space, which crashes: what drives commands at random must notice.
[ "$1" != space ] || kill -SEGV $$
exec "$TCBTUNE" "$@"
