// SPDX-License-Identifier: MIT
//
// Kernels that tcbtune has written as files, run in this browser's WebGPU.  In: names of JSON files, ?kernels=A,B; each
// has a module beside it, and the operands and right values of a call (--case).  Out: a row for each; with ?report=URL
// the same as JSON, sent there.
const asked = new URLSearchParams(location.search);
const names = (asked.get("kernels") ?? "kernels/q4k_matvec.json,kernels/softmax.json").split(",");
const ENOUGH_MS = 200; // of calls that are timed

async function load(name) {
	const answer = await fetch(name);
	if (!answer.ok)
		throw new Error(`${name} is not there (${answer.status}): write it with 'tcbtune wgsl --out kernels --case'`);
	return answer;
}

async function read(name) {
	const folder = name.slice(0, name.lastIndexOf("/") + 1);
	const kernel = await (await load(name)).json();
	if (!kernel.case)
		throw new Error(`${name} has no case: write it with 'tcbtune wgsl --out kernels --case'`);
	kernel.code = await (await load(folder + kernel.file)).text();
	for (const operand of kernel.case)
		for (const what of ["data", "right", "allowed"])
			if (operand[what])
				operand[what] = await (await load(folder + operand[what])).arrayBuffer();
	return kernel;
}

// With all that the kernels need, and the adapter's limits of buffers.
async function open(kernels) {
	const adapter = await navigator.gpu?.requestAdapter();
	if (!adapter)
		throw new Error("this browser has no adapter for WebGPU");
	const limits = ["maxBufferSize", "maxStorageBufferBindingSize", "maxComputeInvocationsPerWorkgroup",
		"maxComputeWorkgroupSizeX", "maxComputeWorkgroupStorageSize", "maxStorageBuffersPerShaderStage"];
	const device = await adapter.requestDevice({
		requiredFeatures: [...new Set(kernels.flatMap((kernel) => kernel.features))],
		requiredLimits: Object.fromEntries(limits.map((name) => [name, adapter.limits[name]])) });
	document.querySelector("#device").textContent =
		[adapter.info.vendor, adapter.info.architecture, adapter.info.device, adapter.info.description].filter(Boolean).join(", ");
	return device;
}

// One for each name that is bound; new ones hold zeros, as the workspace must.
function makeBuffers(device, kernel) {
	const buffers = {};
	for (const { name, bytes } of kernel.launches.flatMap((launch) => launch.bindings)) {
		const size = name === "workspace" ? kernel.workspace_bytes : bytes;
		buffers[name] ??= device.createBuffer({ size, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC |
			GPUBufferUsage.COPY_DST });
	}
	for (const operand of kernel.case)
		if (operand.data && buffers[operand.name])
			device.queue.writeBuffer(buffers[operand.name], 0, operand.data);
	return buffers;
}

function makeLaunches(device, kernel, buffers) {
	const module = device.createShaderModule({ code: kernel.code });
	return kernel.launches.map((launch) => {
		const pipeline = device.createComputePipeline({
			layout: "auto", compute: { module, entryPoint: launch.entry, constants: launch.constants } });
		const entries = launch.bindings.map(({ binding, name, bytes, workspace_offset }) => ({
			binding, resource: { buffer: buffers[name], offset: workspace_offset, size: bytes } }));
		const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
		return { pipeline, group, dispatch: launch.dispatch };
	});
}

function call(device, launches, count) {
	const encoder = device.createCommandEncoder(), pass = encoder.beginComputePass();
	for (let i = 0; i < count; i++)
		for (const { pipeline, group, dispatch } of launches) {
			pass.setPipeline(pipeline);
			pass.setBindGroup(0, group);
			pass.dispatchWorkgroups(...dispatch);
		}
	pass.end();
	device.queue.submit([encoder.finish()]);
	return device.queue.onSubmittedWorkDone();
}

// Milliseconds.
async function time(device, launches, count) {
	const start = performance.now();
	await call(device, launches, count);
	return performance.now() - start;
}

async function readBack(device, buffer) {
	const staging = device.createBuffer({ size: buffer.size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
	const encoder = device.createCommandEncoder();
	encoder.copyBufferToBuffer(buffer, 0, staging, 0, buffer.size);
	device.queue.submit([encoder.finish()]);
	await staging.mapAsync(GPUMapMode.READ);
	const copy = staging.getMappedRange().slice(0);
	staging.destroy();
	return copy;
}

// The largest error over what is allowed; above 1 it is wrong.
function worst(got, right, allowed) {
	let ratio = 0;
	for (let i = 0; i < right.length; i++) {
		const error = Math.abs(got[i] - right[i]);
		if (!(error <= allowed[i] * ratio))
			ratio = error === 0 ? ratio : allowed[i] > 0 && error < Infinity ? error / allowed[i] : Infinity;
	}
	return ratio;
}

async function run(device, kernel) {
	device.pushErrorScope("validation");
	const buffers = makeBuffers(device, kernel), launches = makeLaunches(device, kernel, buffers);
	await call(device, launches, 1);
	const error = await device.popErrorScope();
	if (error)
		throw new Error(`${kernel.op}: ${error.message}`);
	let ratio = 0;
	for (const { name, right, allowed } of kernel.case.filter((operand) => operand.right)) {
		const type = kernel.launches.flatMap((launch) => launch.bindings).find((b) => b.name === name).type;
		const elements = { f32: globalThis.Float32Array, f16: globalThis.Float16Array }[type];
		if (!elements)
			throw new Error(`${kernel.op}: this page cannot read results in ${type}`);
		const got = new elements(await readBack(device, buffers[name]));
		ratio = Math.max(ratio, worst(got, new Float32Array(right), new Float32Array(allowed)));
	}
	const once = await time(device, launches, 1), calls = Math.ceil(Math.min(100, ENOUGH_MS / once));
	const us = await time(device, launches, calls) * 1000 / calls;
	Object.values(buffers).forEach((buffer) => buffer.destroy());
	return { op: kernel.op, shape: kernel.shape.text, geometry: kernel.geometry, us, ratio, right: ratio <= 1 };
}

function show(result) {
	const row = document.querySelector("#results").insertRow();
	row.className = result.right ? "right" : "wrong";
	for (const text of [result.op, result.shape, result.geometry.replaceAll(",", " "), `${result.us.toFixed(1)} \u00b5s`,
		`${result.ratio.toPrecision(2)} of what is allowed`])
		row.insertCell().textContent = text;
}

const report = { results: [], failure: null };
try {
	const kernels = await Promise.all(names.map(read));
	const device = await open(kernels);
	for (const kernel of kernels) {
		report.results.push(await run(device, kernel));
		show(report.results.at(-1));
	}
} catch (failure) {
	report.failure = failure.message;
	document.querySelector("#device").textContent = failure.message;
	document.querySelector("#device").className = "wrong";
}
if (asked.has("report"))
	await fetch(asked.get("report"), { method: "POST", body: JSON.stringify(report) });
