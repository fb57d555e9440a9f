#!/bin/sh
# SPDX-License-Identifier: MIT
#
#     test_code_signature.sh COMPILER SOURCE_DIR SIGN_CODE
#
# What a CPU's variant is signed with (cmake/sign_code.c): its machine code and what that reaches, and nothing else.
# First functions of a few lines, then the scalar rmsnorm and reduce2d: a comment, a function of a shared header and a
# kernel are edited, and exactly those variants have another signature whose code it changes.
set -eu
compiler=$1 root=$2 sign_code=$3
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
fail() {
	echo "FAILED: $1"
	exit 1
}
# compile OBJECT SOURCE_DIR SOURCE FLAG...: as a release does
compile() {
	object=$1 dir=$2 source=$3
	shift 3
	"$compiler" -std=gnu17 -D_GNU_SOURCE -DNDEBUG -O2 -ffp-contract=off -fno-strict-aliasing -fPIC -fvisibility=hidden \
		-fno-tree-vectorize -ffunction-sections -fdata-sections "-I$dir" "$@" \
		-c "$source" -o "$object"
}
# sign OBJECT...: lines of variant and signature
sign() {
	printf '%s\n' "$@" >"$work/list"
	"$sign_code" "$work/table.c" "$work/list" || return 1
	sed -n 's/^\t{ "\(.*\)", "\(.*\)" },$/\1 \2/p' "$work/table.c"
}

# --- a few lines ---

cat >"$work/entry.c" <<'END'
#include "kernels/op.h"
float helper(float x), outside(float x);
static const float table[3] = { 1, 2, TABLE };
static __attribute__((noinline)) float again(float x, int depth)
{
	return depth > 3 ? x : again(x * table[depth % 3], depth + 1) + CONSTANT;
}
static float entry(float x, int depth)
{
	const char *text = depth ? TEXT : "b";
	return helper(again(x, depth)) + outside(text[depth]);
}
static float other(float x) { return x * OTHER; }
const struct tcb_variant toy[] = {
	{ .name = "entry", .signed_in = tcb_signed_variants, .entry = (void (*)(void))entry },
	{ .name = "other", .signed_in = tcb_signed_variants, .entry = (void (*)(void))other },
	{ .name = NULL },
};
END
cat >"$work/helper.c" <<'END'
float helper(float x);
static float twice(float x) { return x + x; }
float (*const way[])(float) = { twice, HELPED };
float helper(float x) { return way[x > 0](x) * 0x1.8p3f; }
END
sed 's/helper/other_name/g' "$work/helper.c" >"$work/unused.c"
echo 'float prepare(float x); float prepare(float x) { return x * PREPARED; }' >"$work/prepare.c"
flags="-DTABLE=3 -DCONSTANT=1.5f -DTEXT=\"abcdef\" -DOTHER=2.5f -DHELPED=twice -DPREPARED=3.5f"
# toy FLAG...: the signatures with these, which come after the usual ones
toy() {
	for file in entry_scalar helper prepare_scalar; do
		# shellcheck disable=SC2086
		compile "$work/$file.c.o" "$root/src" "$work/${file%_scalar}.c" $flags -Wno-builtin-macro-redefined "$@"
	done
	sign "$work/entry_scalar.c.o" "$work/helper.c.o" "$work/prepare_scalar.c.o"
}
first=$(toy)
[ "$(echo "$first" | wc -l)" = 2 ] || fail "two variants, not: $first"
[ "$(toy -g3)" = "$first" ] || fail "debug information counts"
[ "$(sign "$work/prepare_scalar.c.o" "$work/helper.c.o" "$work/entry_scalar.c.o")" = "$first" ] || fail "the order of the objects counts"
mkdir "$work/elsewhere"
for unused in unused.c.o unused_avx2.c.o elsewhere/unused_scalar.c.o; do
	compile "$work/$unused" "$root/src" "$work/unused.c" -DHELPED=twice
	[ "$(sign "$work/$unused" "$work/entry_scalar.c.o" "$work/helper.c.o" "$work/prepare_scalar.c.o")" = "$first" ] ||
		fail "$unused counts, which nothing calls"
done
entry=${first%%
*}
other=${first##*
}
[ "$(toy -UPREPARED -DPREPARED=3 | grep -cxF "$first")" = 0 ] || fail "what the variants run with is not seen"
for change in TABLE=4 CONSTANT=1.25f 'TEXT="abcdxf"' HELPED=0 helper=outside; do
	changed=$(toy "-U${change%%=*}" "-D$change")
	[ "${changed%%
*}" != "$entry" ] || fail "$change is not seen"
	[ "${changed##*
}" = "$other" ] || fail "$change changes a variant that does not reach it"
done
changed=$(toy -UOTHER -DOTHER=2.25f)
[ "${changed%%
*}" = "$entry" ] && [ "${changed##*
}" != "$other" ] || fail "a constant of one variant: $changed"
echo 'int nothing;' >"$work/nothing.c"
compile "$work/nothing.o" "$root/src" "$work/nothing.c"
if sign "$work/nothing.o" 2>"$work/message"; then fail "objects without a variant are signed"; fi
grep -q 'has a variant' "$work/message" || fail "no word on it: $(cat "$work/message")"
echo 'no object' >"$work/nothing.o"
if sign "$work/nothing.o" 2>"$work/message"; then fail "what is not an object is signed"; fi
grep -q 'not a relocatable ELF object' "$work/message" || fail "no word on it: $(cat "$work/message")"

# --- kernels, edited ---

cp -r "$root/src" "$work/src"
# kernels SOURCE_DIR NAME...: compiles these; all signatures
kernels() {
	dir=$1
	shift
	for name; do
		compile "$work/$name.o" "$dir" "$dir/kernels/$name/${name}_kernels.c"
	done
	sign "$work/rmsnorm.o" "$work/reduce2d.o"
}
# changed BEFORE AFTER: the variants whose signatures differ
changed() {
	echo "$1" >"$work/before"
	echo "$2" >"$work/after"
	diff "$work/before" "$work/after" | sed -n 's/^> \([^ ]*\) .*/\1/p'
}
# edit FILE SCRIPT
edit() {
	sed -i "$2" "$work/src/kernels/$1"
	if cmp -s "$work/src/kernels/$1" "$root/src/kernels/$1"; then fail "$1 was not edited"; fi
}
first=$(kernels "$root/src" rmsnorm reduce2d)
echo "$first" | grep -q '^rmsnorm_f32_scalar_1x8 ' || fail "no rmsnorm: $first"
edit simd/simd_scalar.h '1i /* A remark. */\n'
edit rows/rows_micro.h '1i /* Another. */\n\n'
after=$(kernels "$work/src" rmsnorm reduce2d)
[ "$after" = "$first" ] || fail "a comment, in another folder, changes: $(changed "$first" "$after")"
edit simd/simd_scalar.h '/v_maximum(/,/^}/s/return .*/return a < b ? b : a + 0.5f;/'
after=$(kernels "$work/src" rmsnorm reduce2d)
changed "$first" "$after" >"$work/changed"
[ -s "$work/changed" ] || fail "the largest of two is another, and no variant is"
if grep -v '^reduce2d_max_' "$work/changed"; then fail "v_maximum changes these, which do not call it"; fi
before=$after
edit rmsnorm/rmsnorm_kernels.c 's/v_mul(v_mul(value\[u\], factor), weight)/v_mul(v_mul(value[u], weight), factor)/'
after=$(kernels "$work/src" rmsnorm)
changed "$before" "$after" >"$work/changed"
[ "$(cat "$work/changed")" = "$(echo "$before" | sed -n 's/^\(rmsnorm_[^ ]*\) .*/\1/p')" ] ||
	fail "rmsnorm was edited, and these changed: $(cat "$work/changed")"
echo "signatures follow the machine code"
