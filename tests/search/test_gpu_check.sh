#!/bin/sh
# SPDX-License-Identifier: MIT
#
# scripts/gpu-check.sh on a machine without a GPU:
#   test_gpu_check.sh SCRIPT BUNDLE MAKE_GPU_DATABASE FAKE_DRIVER_FOLDER
# says what is missing; and on the fake driver, with a stand-in for
# compute-sanitizer that knows memory faults but no races, runs to its end,
# reports both as they are, and leaves what it promises.
set -u
script=$1
bundle=$2
make_database=$3
driver=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

expect() {
	if ! grep -qE "$2" "$1"; then
		echo "no line like '$2' in:"
		cat "$1"
		failed=1
	fi
}

"$script" "$work" "$work/out" 2>"$work/none.txt" && failed=1
expect "$work/none.txt" 'no programs in .*gpu_check'
"$script" "$bundle" "$work/out" nonsense 2>"$work/usage.txt" && failed=1
expect "$work/usage.txt" '^usage: '
FAKE_CUDA=none LD_LIBRARY_PATH=$driver "$script" "$bundle" "$work/out" tests 2>"$work/gpu.txt" && failed=1
expect "$work/gpu.txt" 'no GPU called cuda:0 here: '

mkdir "$work/bin"
cat >"$work/bin/compute-sanitizer" <<'END'
#!/bin/sh
tool=$2
shift 4
"$@" && found=0 || found=1
case $tool in
racecheck) echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)" ;;
*) echo "========= ERROR SUMMARY: $found errors" ;;
esac
exit $found
END
chmod +x "$work/bin/compute-sanitizer"
"$make_database" "$work/gpu.db" || failed=1
PATH=$work/bin:$PATH LD_LIBRARY_PATH=$driver TCBTUNE_ASSEMBLER=none GPU_CHECK_DB=$work/gpu.db GPU_CHECK_FINALISTS=2 \
	CUDA_HOME="$work/none" \
	GPU_CHECK_SANITIZED="q8:1x256x1024 f32:1x256x1024" GPU_CHECK_COVERED=softmax/f32:8x512 \
	"$script" "$bundle" "$work/out" examples counters sanitize=100 >"$work/all.txt" 2>/dev/null
[ $? -eq 1 ] || failed=1 # the race that was not found
expect "$work/all.txt" '^examples +execute_gpu +skipped .*(no C compiler|no cuda.h)'
expect "$work/all.txt" '^examples +with_torch +(ok|skipped) '
expect "$work/all.txt" '^counters +check_counters +ok .*they agree'
expect "$work/all.txt" '^sanitize +q8:1x256x1024 +ok .*packed 2 candidates'
expect "$work/all.txt" '^sanitize +softmax/f32:8x512, each value +ok .*packed [1-9]'
expect "$work/all.txt" '^sanitize +memcheck, planted +ok .*found: 1'
expect "$work/all.txt" '^sanitize +racecheck, planted +FAIL .*was not found'
expect "$work/all.txt" '^sanitize +memcheck +ok .*clean: [1-9][0-9]* candidates'
expect "$work/all.txt" '^1 failed, 0 missed their aim, of '
if grep -F -e "$bundle" -e "$work/out" "$work/out/check_counters.txt" "$work/out/summary.txt"; then
	echo "names folders of this machine"
	failed=1
fi
for file in summary.txt tuning.db.gz report.txt report.json report.md logs.tar.gz check_counters.txt; do
	if [ ! -s "$work/out/$file" ]; then
		echo "no $file"
		failed=1
	fi
done
exit $failed
